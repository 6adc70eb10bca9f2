"""`shipper tap`: shows a sample of the events that the running agent sends."""

import argparse
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import IncompleteRead
from typing import Any, BinaryIO, TextIO
from urllib.parse import urlencode

from log_shipper.config.text.units import parse_duration
from log_shipper.runtime.http import Place
from log_shipper.runtime.logs.visible import visible
from log_shipper.runtime.monitor.client import MAX_BYTES, NotHttp, Refused, get, opened
from log_shipper.shipper.cli.options import add_shared, argument, data_path_alone
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.running_agent import errors_in_words, socket_of

MAX_RATE = 100.0
SILENCE = 10.0  # seconds without a line after which the agent counts as hanging; it writes one each second
NO_MATCH = 5.0  # seconds after which a note explains why nothing is shown
PATIENCE = 2.0  # seconds for an explanation
NOTE_INTERVAL = 5.0  # minimum seconds between notes about dropped events


def add_tap_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Shows a sample of the running agent's events as they are sent, without affecting the agent: events that "
        "this reader is too slow for are dropped and counted. Ends when the agent ends or restarts."
    )
    parser.add_argument(
        "targets",
        metavar="INPUT|PATH",
        nargs="*",
        help="show only events of these input ids, file paths or globs (quoted)",
    )
    parser.add_argument(
        "--rate", type=_rate, default=10.0, metavar="N", help="maximum events per second (default 10, at most 100)"
    )
    parser.add_argument("--count", type=_count, default=None, metavar="N", help="stop after this number of events")
    parser.add_argument(
        "--seconds",
        type=argument(parse_duration),
        default=math.inf,
        metavar="TIME",
        help="stop after this time, such as 30",
    )
    parser.add_argument("--json", action="store_true", help="show complete events on a terminal, too")
    parser.add_argument("--pretty", action="store_true", help="indent JSON over several lines")
    parser.add_argument("--keys", action="store_true", help="show topic, key and headers before each event")
    add_shared(parser, tap)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= MAX_RATE:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0, at most {MAX_RATE:g}")
    return rate


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0")
    return int(text)


@dataclass(frozen=True, slots=True)
class Format:
    """Formats events. `brief`: time, path and message. Control characters are escaped on a terminal; otherwise, bytes
    are unchanged.
    """

    pretty: bool = False
    keys: bool = False
    terminal: bool = False
    brief: bool = False
    colours: bool = False

    def lines(self, event: Mapping[str, Any]) -> str:
        value: str = event["value"]
        lines = [self._beside(event)] if self.keys else []
        if self.brief:
            return "\n".join([*map(visible, lines), self._brief(event)]) + "\n"
        if self.pretty:
            lines += _indented(value)
        else:
            lines.append(value)
        return "\n".join(visible(line) if self.terminal else line for line in lines) + "\n"

    def _brief(self, event: Mapping[str, Any]) -> str:
        try:
            document = json.loads(event["value"])
            time, message = str(document["@timestamp"]), str(document["message"])
        except (ValueError, KeyError, TypeError):  # a string, from codec.format, or an event without a message
            return visible(event["value"])
        parts = (visible(time), visible(event["path"]))
        if self.colours:
            parts = (f"\x1b[2m{parts[0]}\x1b[0m", f"\x1b[36m{parts[1]}\x1b[0m")
        # Continuation lines of a message are indented, so that none looks like an event.
        return " ".join(filter(None, (*parts, visible(message, keep="\n").replace("\n", "\n  "))))

    def _beside(self, event: Mapping[str, Any]) -> str:
        headers = "".join(f" {name}={text}" for name, text in event["headers"])
        return f"# topic={event['topic'] or '-'} key={event['key'] or '-'}{headers}"


def _indented(value: str) -> list[str]:
    try:
        # Split only at JSON's own line ends; those inside strings are escaped.
        return json.dumps(json.loads(value), indent=2, ensure_ascii=False).split("\n")
    except ValueError:  # a string, from codec.format
        return [value]


@dataclass(slots=True)
class Viewer:
    """Writes events to `out` and notes to `notes`, until the count or the time is reached."""

    format: Format
    out: BinaryIO
    notes: TextIO
    count: int | None = None
    seconds: float = math.inf
    now: Callable[[], float] = time.monotonic
    explain: Callable[[], str] = str  # requested inputs and files that do not exist, if any
    shown: int = 0
    _dropped_before: int = 0  # in earlier streams
    _counts: Mapping[str, int] = field(default_factory=dict)
    _noted: int = 0
    _note_due: float = 0.0
    _is_connected: bool = False
    _explained: bool = False
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    @property
    def finished(self) -> bool:
        return self.shown == self.count or self.now() - self._began >= self.seconds

    @property
    def dropped(self) -> int:
        return self._dropped_before + self._counts.get("dropped", 0)

    def show(self, lines: Iterable[bytes]) -> None:
        """Show a stream until it ends or enough events were shown."""
        for line in lines:
            message = json.loads(line)
            if "counts" in message:
                self._count(message["counts"])
                self._report()
            else:
                # Surrogates stand for bytes of file names that are not UTF-8.
                self.out.write(self.format.lines(message).encode("utf-8", "surrogateescape"))
                self.out.flush()
                self.shown += 1
            if self.finished:
                return

    def _count(self, counts: Mapping[str, int]) -> None:
        if counts["dropped"] < self._counts.get("dropped", 0):  # events of others
            self._dropped_before = self.dropped
        self._counts = counts

    def note_gap(self) -> None:
        self._print("the agent disconnected this reader after a long pause; events since then are not shown")

    def _report(self) -> None:
        now = self.now()
        if not self._is_connected:
            self._is_connected = True
            self._print("connected; press Ctrl-C to stop")
            if explanation := self.explain():
                self._print(explanation)
        if self.dropped > self._noted and now >= self._note_due:
            self._print(f"{self.dropped - self._noted:,} events were dropped here: this reader is too slow")
            self._noted, self._note_due = self.dropped, now + NOTE_INTERVAL
        if now - self._began >= NO_MATCH:
            self._explain_silence()

    def _explain_silence(self) -> None:
        if self._is_connected and not self.shown and not self._explained:
            self._explained = True
            self._print(self._silence())

    def _silence(self) -> str:
        others = self._counts.get("others", 0)
        if others:
            return f"no events of these inputs and files were sent, but {others:,} of others; see `shipper top`"
        return "no events are sent: there are none, or the output is blocked; see `shipper top`"

    def summarize(self) -> None:
        self._explain_silence()
        dropped = f"; {self.dropped:,} were dropped: this reader was too slow" if self.dropped else ""
        self._print(f"{self.shown:,} event{'s'[: self.shown != 1]} shown{dropped}")

    def _print(self, text: str) -> None:
        print(f"tap: {text}", file=self.notes, flush=True)


def tap(options: argparse.Namespace) -> int:
    place = socket_of(data_path_alone(options))
    terminal = sys.stdout.isatty()
    viewer = Viewer(
        Format(
            pretty=options.pretty,
            keys=options.keys,
            terminal=terminal,
            brief=terminal and not (options.json or options.pretty),
            colours=not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        ),
        sys.stdout.buffer,
        sys.stderr,
        options.count,
        options.seconds,
        explain=lambda: missing_sources(place, options.targets),
    )
    query = urlencode({"rate": options.rate, "targets": json.dumps(list(_targets(options.targets)))})
    try:
        viewer.show(stream(place, f"/tap?{query}", viewer.note_gap))
    except KeyboardInterrupt:
        pass
    except StartError:
        if viewer.shown:
            viewer.summarize()
        raise
    viewer.summarize()
    return 0


def _targets(words: Iterable[str]) -> Iterator[str]:
    """Yield input ids unchanged, and paths in the agent's form."""
    for word in words:
        yield word
        if os.path.abspath(word) != word:
            yield os.path.abspath(word)


def missing_sources(place: Place, words: Sequence[str]) -> str:
    """Return the inputs and files that do not exist, and the existing ones; "" if all exist or the agent does not
    respond.
    """
    if not words:
        return ""
    query = urlencode({"targets": json.dumps(list(_targets(words)))})
    try:
        answer = json.loads(get(place, f"/tap/sources?{query}", PATIENCE))
    except (OSError, Refused, ValueError):
        return ""
    unknown = [word for word in words if set(_targets([word])) <= set(answer["unknown"])]
    if not unknown:
        return ""
    return (
        f"no input or open file matches {_listed(unknown)}; events are shown once one does. Inputs: "
        f"{_some(answer['inputs'])}. Open files: {_some(answer['files'])}"
    )


def _some(those: Mapping[str, Any]) -> str:
    some, count = those["some"], those["count"]
    more = f" and {count - len(some):,} more" if count > len(some) else ""
    return f"{_listed(some)}{more}" if some else "none"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(visible, names))


def stream(place: Place, path: str, note_gap: Callable[[], None]) -> Iterator[bytes]:
    """Yield the lines that the agent streams. After an interruption, which is noted, it continues with a new stream,
    because the agent drops slow readers. Raises StartError, also when the agent ends.
    """
    ended = StartError(
        f"{place}: the shipper ended or is restarting, which ends tap; run it again when the shipper is up"
    )
    for number in itertools.count():
        received = False
        with errors_in_words(place):
            try:
                with opened(place, path, SILENCE) as connection, suppress(IncompleteRead):
                    for line in connection.lines(MAX_BYTES, SILENCE):
                        if number and not received:
                            note_gap()
                        received = True
                        yield line
            except (ConnectionError, FileNotFoundError, NotHttp) as error:
                if number and not received:
                    raise ended from error
                if not received:
                    raise
        if not received:
            raise ended
