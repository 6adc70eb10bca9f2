"""The parser `container`: unwraps the lines of a container runtime, and joins lines that it split.

Parts of stdout and stderr are interleaved, so each stream has its own pending message. While one is pending, all
messages that began after it wait: messages leave in the order in which they began, and only when none is pending.
Otherwise the position could be that of a line whose message was sent with parts still to come, and a second reading
would take these parts for a message. The waiting data is bounded.

A message covers the bytes up to the start of the next one, so that runs are contiguous; bytes of a later part count for
the message that began before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import TRUNCATED, Doc, Messages, add_flag
from log_shipper.shipper.formats.text import cut_text
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.reader.base import ParserConfig, ParserContext, Reader
from log_shipper.shipper.reader.container_line import ContainerFormat, ContainerLine, ContainerLineError, parsers

ContainerStream = Literal["all", "stdout", "stderr"]
# Runtimes split long output into lines of 16 KiB, which JSON can enlarge six times. Such a line must be parsed before
# it is cut.
MAX_LINE_BYTES = 1024 * 1024
FRAME = 1024  # more than a runtime writes before the text
# The bytes of lines that may wait behind the first pending message, before all pending ones are ended. Each line has a
# cost beyond its bytes, because short ones take memory too.
WAITING_BYTES = 4 * 1024 * 1024
LINE_COST = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig(ParserConfig):
    """Unwraps the lines of a container runtime."""

    since: ClassVar = "0.3"
    name: ClassVar = "container"
    example: ClassVar = "container: {format: cri} -> ['2026-11-21T09:30:00Z stdout F up'] -> [up]"
    format: ContainerFormat = field(
        default="auto",
        metadata={"doc": "The format of the lines: JSON (docker, json-file) or text (cri); auto detects it per line."},
    )
    stream: ContainerStream = field(default="all", metadata={"doc": "The stream to ship."})

    def remarks(self) -> Iterator[Finding]:
        yield from dropped_stream(self.stream)

    @property
    def ends_after(self) -> float:
        """Return the seconds after which a partial line is shipped without the rest. Runtimes write the parts at once;
        a part left by a killed container must not wait forever."""
        return 5.0

    def max_line_bytes(self, max_bytes: int) -> int:
        return max(max_bytes, MAX_LINE_BYTES) + FRAME

    def build(self, reader: Reader, context: ParserContext) -> Reader:
        return ContainerReader(reader, self, context.max_bytes, context.clock, context.metrics)


def dropped_stream(stream: ContainerStream) -> Iterator[Finding]:
    """Yield a remark if one stream is dropped: other agents are often configured with one input per stream of the same
    files."""
    if stream != "all":
        other = "stderr" if stream == "stdout" else "stdout"
        yield "stream", f"lines of {other} are dropped; a file belongs to one input, so no other input can ship them"


class ContainerReader:
    """`max_bytes`: the maximum bytes kept of a message that came in parts. `metrics` counts lines of the other stream.

    A line that is not in a runtime's format becomes a message unchanged, with the reason in `error.message`.
    """

    def __init__(
        self,
        reader: Reader,
        config: ContainerConfig,
        max_bytes: int,
        clock: Clock,
        metrics: Metrics,
        waiting_bytes: int = WAITING_BYTES,
    ) -> None:
        self._reader = reader
        self._stream = config.stream
        self._max_bytes = max_bytes
        self._clock = clock
        self._metrics = metrics
        self._waiting_bytes = waiting_bytes
        self._parse, self._parse_all = parsers(config.format)
        self._queue: list[_Message] = []  # the first pending message, and those that began after it
        self._pending: dict[str, _Message] = {}  # by stream
        self._waiting = 0  # the cost of the lines that do not belong to the first one
        self._end = 0
        self._last_part: float | None = None  # when it came, while something is pending

    @property
    def pending_since(self) -> float | None:
        inner, own = self._reader.pending_since, self._last_part
        return own if inner is None else inner if own is None else max(inner, own)

    def next(self) -> Messages | None:
        lines = self._reader.next()
        if lines is None:
            return None
        run = self._join(lines, ends=lines.cut)
        run.cut = lines.cut
        return run

    def finish(self) -> Messages | None:
        remaining = self._reader.finish()
        if remaining is None:
            if not self._queue:
                return None
            remaining = Messages(self._end, self._end)
        return self._join(remaining, ends=True)

    def _join(self, lines: Messages, *, ends: bool) -> Messages:
        """Return the messages that `lines` completes, and with `ends` all pending ones."""
        self._end = lines.end
        run = self._plain(lines)
        if run is None:
            run = Messages(self._queue[0].start if self._queue else lines.start, lines.end, docs=[])
            for index in range(len(lines.texts)):
                self._add_line(lines, index, run)
            if ends:
                self._pending.clear()
                self._release(run)
            run.end = self._queue[0].start if self._queue else lines.end
        return run

    def _plain(self, lines: Messages) -> Messages | None:
        """Return the same run if each line is a message and none is pending, the usual case; else None."""
        if self._queue or not lines.texts:
            return None
        columns = self._parse_all(lines.texts)
        if columns is None:
            return None
        docs, wanted = columns.docs, self._stream
        if "" in columns.texts:
            docs = [doc if text else {} for text, doc in zip(columns.texts, docs, strict=True)]
        if lines.docs is not None:
            docs = [before | doc for before, doc in zip(lines.docs, docs, strict=True)]
        lines.texts, lines.docs = columns.texts, docs
        if wanted != "all":
            kept = [index for index, stream in enumerate(columns.streams) if stream == wanted]
            self._metrics.events_filtered += len(lines.texts) - len(kept)
            lines.select(kept)
        return lines

    def _add_line(self, lines: Messages, index: int, run: Messages) -> None:
        start, length = lines.offsets[index], lines.lengths[index]
        message = None
        try:
            line = self._parse(lines.texts[index])
        except ContainerLineError as error:
            line = _as_it_is(lines.texts[index], error)
        else:
            if self._stream not in ("all", line.stream):
                self._metrics.events_filtered += 1
                return
            message = self._pending.get(line.stream)
        if message is None:
            message = _Message(start, line, lines.docs[index] if lines.docs is not None else {})
            self._queue.append(message)
        message.add(line, lines.flags.get(index, ()), self._max_bytes)
        self._queue[-1].end = start + length
        if not line.whole:
            self._pending[line.stream] = message
            self._last_part = self._clock.monotonic()
        elif message.parts > 1:
            del self._pending[line.stream]
        if message is not self._queue[0]:
            self._waiting += length + LINE_COST
            if self._waiting > self._waiting_bytes:
                self._give_up()
        if not self._pending:
            self._release(run)

    def _give_up(self) -> None:
        """End the pending messages: too much waits for them, and their writers may never end them."""
        for message in self._pending.values():
            message.flags = add_flag(message.flags, TRUNCATED)
        self._pending.clear()

    def _release(self, run: Messages) -> None:
        if len(self._queue) > 1:
            run.interleaved += ((self._queue[0].start, self._queue[-1].end),)
        for message in self._queue:
            text = message.text(self._max_bytes)
            run.append(text, message.start, message.end - message.start, message.flags)
            run.documents()[-1] = message.before | message.doc if text else message.before
        self._queue.clear()
        self._waiting = 0
        self._last_part = None


def _as_it_is(text: str, error: ContainerLineError) -> ContainerLine:
    doc: Doc = {"error": {"message": f"Not a line of a container log: {error}", "type": "container"}}
    return ContainerLine(text, "", doc, whole=True)


class _Message:
    """A message of a stream. `end`: the start of the next one; `texts`: the kept parts; `before`: the document of an
    earlier parser."""

    __slots__ = ("before", "doc", "end", "flags", "kept", "parts", "start", "texts")

    def __init__(self, start: int, line: ContainerLine, before: Doc) -> None:
        self.start = start
        self.end = start
        self.doc = line.doc
        self.before = before
        self.parts = 0
        self.texts: list[str] = []
        self.kept = 0
        self.flags: tuple[str, ...] = ()

    def add(self, line: ContainerLine, flags: tuple[str, ...], max_bytes: int) -> None:
        self.parts += 1
        for flag in flags:
            self.flags = add_flag(self.flags, flag)
        if not line.text:
            return
        if self.kept < max_bytes:
            self.texts.append(line.text)
            self.kept += len(line.text)
        else:
            self.flags = add_flag(self.flags, TRUNCATED)

    def text(self, max_bytes: int) -> str:
        """Return the text, cut if it came in parts. A message of one part is left to the limit at the end of the
        chain."""
        text = "".join(self.texts)
        if self.parts == 1:
            return text
        cut = cut_text(text, max_bytes)
        if cut is not text:
            self.flags = add_flag(self.flags, TRUNCATED)
        return cut
