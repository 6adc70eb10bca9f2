"""Previews lines for `shipper test pipeline`: shows the event of each line, or why it has none.

Lines are read as `--once` reads a file, by the same readers and processors. To find the stage that drops a line, the
first stage is run alone, then the first two, and so on: no stage needs extra code.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import orjson

from log_shipper.config.text.globs import matches, parse
from log_shipper.registry.state import FileState
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.agent.static_fields import static_fields
from log_shipper.shipper.cli.explain import name_of
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Messages
from log_shipper.shipper.inputs.files.identity.content import Plain
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.options.model import InputConfig, ShipperConfig
from log_shipper.shipper.options.processors import AnyProcessor, Branch
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.outputs.codecs import UNLIMITED
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.processor import chain
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.reader import line
from log_shipper.shipper.reader.log_file import LogFile

# Equal in all events of the file, so it shows nothing about the line.
SAME_FOR_ALL = ("host", "agent", "ecs", "input")
TAB = "\t"


@dataclass(frozen=True, slots=True)
class _Event:
    """An event: `record` is as sent; it covers `length` bytes from `offset` on."""

    offset: int
    length: int
    record: str


@dataclass(frozen=True, slots=True)
class _Stage:
    """The input up to one of its readers or processors; `words` are the reason if that one drops a line."""

    words: str
    config: InputConfig
    processors: Sequence[AnyProcessor]


class Preview:
    """How lines are previewed: `path` becomes log.file.path; `whole` also shows members that are equal in all
    events."""

    def __init__(
        self, root: ShipperConfig, config: InputConfig, context: ProcessorContext, path: str, *, whole: bool = False
    ) -> None:
        self._root = root
        self._config = config
        self._context = context
        self._path = path
        self._whole = whole

    def render(self, content: bytes) -> Iterator[str]:
        """Yield the lines to print. Raises StartError for processors that do not work in a preview."""
        stages = list(self._stages())
        results = {len(stages) - 1: self._run(stages[-1], content)}
        lines = self._lines(content)
        events = {event.offset: event for event in results[len(stages) - 1]}
        index = 0
        while index < len(lines.texts):
            event = events.get(lines.offsets[index])
            end = index + 1
            if event:
                end = max(bisect_left(lines.offsets, event.offset + event.length), end)
            yield from (f"{number + 1:>6} | {visible(lines.texts[number], keep=TAB)}" for number in range(index, end))
            shown = self._shown(event.record) if event else self._reason(stages, results, content, lines.offsets[index])
            yield f"       {visible(shown)}"
            index = end

    def _stages(self) -> Iterator[_Stage]:
        whole = self._config
        bare = replace(whole, parsers=(), include_lines=(), exclude_lines=())
        yield _Stage("an empty line", bare, ())
        for count, parser in enumerate(whole.parsers, start=1):
            words = f"parser {count}, {name_of(parser)}, dropped it"
            yield _Stage(words, replace(bare, parsers=whole.parsers[:count]), ())
        with_parsers = replace(bare, parsers=whole.parsers)
        yield _Stage(
            "no pattern of include_lines matches", replace(with_parsers, include_lines=whole.include_lines), ()
        )
        yield _Stage("a pattern of exclude_lines matches", whole, ())
        processors = (*whole.steps, *self._root.processors)
        for count, processor in enumerate(processors, start=1):
            name = "if" if isinstance(processor, Branch) else processor.name
            yield _Stage(f"processor {count}, {name}, dropped it", whole, processors[:count])

    def _run(self, stage: _Stage, content: bytes) -> list[_Event]:
        context = self._context
        source = Input(
            stage.config,
            context.agent,
            static_fields(stage.config, self._root),
            self._root.output.chosen.message_limit(stage.config.message_max_bytes),
            context.clock,
            lambda state: None,
            chain.build(stage.processors, context),
        )
        queue = MemoryQueue(UNLIMITED, UNLIMITED)
        processing = Processing(queue)
        with _file(content) as fd:
            for batch in _read(source, fd, self._path, len(content)):
                processing.put(batch)
        while not processing.empty:
            time.sleep(0.005)  # a result arrives over the network
            processing.step()
        events = (event for batch in iter(queue.get, None) for event in _events(batch))
        return sorted(events, key=lambda event: event.offset)

    def _lines(self, content: bytes) -> Messages:
        """Return all lines, including empty ones."""
        lines = Messages(0, 0)
        with _file(content) as fd:
            file = LogFile(fd, 0, (len(content),))
            reader = line.build(self._config.encoding, self._config.line_terminator, file, UNLIMITED)
            while (run := reader.next()) is not None:
                lines.texts += run.texts
                lines.offsets += run.offsets
        return lines

    def _reason(self, stages: Sequence[_Stage], results: dict[int, list[_Event]], content: bytes, offset: int) -> str:
        """Return why the line at `offset` has no event. `results` holds the events of the stages run so far, by number;
        others run on demand.
        """
        for number, stage in enumerate(stages):
            if number not in results:
                with _quietly():  # the readers have already logged their warnings
                    results[number] = self._run(stage, content)
            events = results[number]
            nearest = bisect_right(events, offset, key=lambda event: event.offset) - 1
            if nearest < 0 or offset >= events[nearest].offset + events[nearest].length:
                return f"-- no event: {stage.words}"
        return "-- no separate event: part of the previous message"

    def _shown(self, record: str) -> str:
        if self._whole:
            return f"-> {record}"
        document = orjson.loads(record)
        for name in SAME_FOR_ALL:
            document.pop(name, None)
        document["log"].pop("file", None)
        return f"-> {orjson.dumps(document).decode()}"


@contextmanager
def _quietly() -> Iterator[None]:
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _file(content: bytes) -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.fileno()


def _read(source: Input, fd: int, path: str, size: int) -> Iterator[Batch]:
    status = os.fstat(fd)
    state = FileState("preview", path, status.st_dev, status.st_ino, size_seen=size, cuts=(size,))
    harvester = source.open(Plain(fd, unit=0), state, once=True)
    while not harvester.finished:
        batch = harvester.read()
        if batch is None:
            return
        yield batch


def _events(batch: Batch) -> Iterator[_Event]:
    messages = batch.messages
    for offset, length, record in zip(
        messages.offsets, messages.lengths, Encoder(UNLIMITED).encode(batch), strict=True
    ):
        yield _Event(offset, length, record)


def chosen(config: ShipperConfig, wanted: str | None, path: str) -> tuple[InputConfig, str]:
    """Return the input that reads the lines, and a reason if the user might expect another. Raises StartError if there
    is none.
    """
    of_files = config.file_inputs
    named = [candidate for candidate in of_files if candidate.id == wanted]
    enabled = [candidate for candidate in of_files if candidate.enabled]
    if wanted is None and of_files and not enabled:
        raise StartError(
            f"no file input is enabled; choose one with --input ID: {', '.join(candidate.id for candidate in of_files)}"
        )
    if wanted is not None or not enabled:
        if named:
            return named[0], ""
        for other in config.inputs:
            if wanted in (None, other.id):
                raise StartError(f"input {other.id!r} is of type {other.type}; only file inputs can be previewed")
        known = ", ".join(candidate.id for candidate in of_files)
        raise StartError(f"no input has the id {wanted!r}; ids are: {known}" if known else "no inputs")
    if len(enabled) == 1:
        return enabled[0], ""
    for candidate in enabled if path != "-" else ():
        if any(
            matches(parse(pattern, recursive=candidate.prospector.scanner.recursive_glob), path)
            for pattern in candidate.paths
        ):
            return candidate, f"input {candidate.id}, whose paths match {path}"
    return enabled[0], (
        f"input {enabled[0].id}, the first of {len(enabled)}; choose another with --input ID or --path PATH"
    )
