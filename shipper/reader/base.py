"""The protocols of a reader, which wraps another and returns runs of messages, and of the file below all of them; and
what the parsers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from log_shipper.shipper.event import Doc, Messages

if TYPE_CHECKING:  # the options know parsers, and need neither
    from log_shipper.shipper.clock import Clock
    from log_shipper.shipper.metrics import Metrics


class RawFile(Protocol):
    """The bytes of one file from an offset on. Called by the one reading thread."""

    offset: int
    busy: bool  # the last `next` came back early, and is to be called again soon

    @property
    def start(self) -> int:
        """The offset at which the file that is being read begins: 0, except where a file is continued in another."""

    @property
    def complete(self) -> bool:
        """True if all was read, and the file cannot grow."""

    def require_complete(self) -> None:
        """Check a file that will not grow any more. Raises CompressionError if its end is missing."""

    def next(self) -> bytes:
        """Return the next bytes; empty when there are none for now. Raises Truncated, CompressionError, OSError."""

    def at_end(self) -> bool:
        """True if it is known that the last `next` returned all that there is for now, so that another one would return
        nothing. Raises OSError."""

    def head(self, length: int) -> bytes:
        """Return the first bytes of the file, fewer where it is shorter. Raises OSError."""

    def take_cut(self) -> bool:
        """True if a message must end where the bytes read so far end; true once for each such place."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """The places known from the start at which a message must end, and that were not reached yet."""

    def cut_here(self) -> None:
        """Make a message end where the bytes read so far end; `take_cut` reports it with the next bytes, if any."""


class Reader(Protocol):
    """Called by the one reading thread; never blocks beyond a read of a local file; raises OSError from that read."""

    def next(self) -> Messages | None:
        """Return the next run, or None when the file has nothing more for now.

        Runs are contiguous: each starts where the one before ended, and covers every raw byte, dropped and cut ones
        included.
        A run may be without messages: then all its bytes were dropped or belong to a message that is still pending, in
        which case `end` stays before that message.
        """

    def finish(self) -> Messages | None:
        """End the pending message although its end was not read, because that took too long. None if none is pending.
        A line without terminator is not a message yet, and stays pending."""

    @property
    def pending_since(self) -> float | None:
        """Monotonic time of the last line of a pending message that a timeout may end; None without one."""


class EachRun:
    """Passes on the runs of a reader, those with messages as `change` returns them."""

    def __init__(self, reader: Reader, change: Callable[[Messages], Messages]) -> None:
        self._reader = reader
        self._change = change

    @property
    def pending_since(self) -> float | None:
        return self._reader.pending_since

    def next(self) -> Messages | None:
        messages = self._reader.next()
        return messages if messages is None or not messages.texts else self._change(messages)

    def finish(self) -> Messages | None:
        messages = self._reader.finish()
        return messages if messages is None or not messages.texts else self._change(messages)


@dataclass(frozen=True, slots=True)
class ParserContext:
    """What a parser may need beside its options. `max_bytes`: the longest message that is kept whole; `shared`: the
    members that all records of the file have; `metrics` counts what is dropped on purpose, and what is wrong;
    `of_first_line`: the members that a joined message has of its first line alone, where of others the last one counts;
    with `keep_null` members that are null stay."""

    max_bytes: int
    clock: Clock
    shared: Doc
    metrics: Metrics
    of_first_line: tuple[str, ...]
    keep_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserConfig(ABC):
    """The options of a parser. `name` is its key in YAML; `example`: an item of `parsers`, lines, and the messages that
    it makes of them, all in YAML, with ` -> ` between them."""

    name: ClassVar[str]
    example: ClassVar[str]

    @abstractmethod
    def build(self, reader: Reader, context: ParserContext) -> Reader:
        """Return the parser on a reader of lines, or of messages."""

    @property
    def ends_after(self) -> float | None:
        """Return the seconds after which a message that it joins is ended; None if it joins none."""
        return None

    def longest_line(self, max_bytes: int) -> int:
        """Return how many bytes of a line it needs, where it is the first, for a message of `max_bytes`."""
        return max_bytes

    def may_set(self, root: str) -> bool:
        """True if it may set a field below this name."""
        return False
