"""The interfaces of readers, each of which wraps another one and returns runs of messages, and of the file below; and
the base of parsers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from log_shipper.shipper.event import Doc, Messages

if TYPE_CHECKING:  # the options import parsers, and need neither
    from log_shipper.shipper.clock import Clock
    from log_shipper.shipper.metrics import Metrics


class RawFile(Protocol):
    """The bytes of one file from an offset on. Called by the one reading thread."""

    offset: int
    busy: bool  # the last `next` returned early; call it again soon

    @property
    def start(self) -> int:
        """Return the offset at which the file being read begins: 0, unless a file continues another one."""

    @property
    def complete(self) -> bool:
        """Return True if all was read, and the file cannot grow."""

    def require_complete(self) -> None:
        """Check a file that will not grow any more. Raises CompressionError if its end is missing."""

    def next(self) -> bytes:
        """Return the next bytes; empty if there are none for now. Raises Truncated, CompressionError, OSError."""

    def at_end(self) -> bool:
        """Return True if another `next` would certainly return nothing for now. Raises OSError."""

    def head(self, length: int) -> bytes:
        """Return the first bytes of the file, fewer if it is shorter. Raises OSError."""

    def pop_cut(self) -> bool:
        """Return True, once per place, if a message must end where the bytes read so far end."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """Return the remaining places, known from the start, at which a message must end."""

    def cut_here(self) -> None:
        """End a message where the bytes read so far end; `pop_cut` reports it with the next bytes, if any."""


class Reader(Protocol):
    """Called by the one reading thread; blocks only to read a local file, and raises OSError from that."""

    def next(self) -> Messages | None:
        """Return the next run, or None if the file has nothing more for now.

        Runs are contiguous: each starts where the previous one ended, and covers every raw byte, including dropped and
        cut ones. A run without messages means that its bytes were dropped, or belong to a pending message; then `end`
        stays before that message.
        """

    def finish(self) -> Messages | None:
        """End the pending message because its end is overdue. Return None if none is pending. A line without terminator
        is not a message yet, and stays pending."""

    @property
    def pending_since(self) -> float | None:
        """Return the monotonic time of the last line of a pending message that a timeout may end; None without one."""


class MappedReader:
    """Passes on the runs of a reader, after `change` for those with messages."""

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
    """What a parser needs besides its options. `max_bytes`: the maximum message size; `shared`: the members that all
    records of the file have; `metrics` counts dropped and faulty messages; `of_first_line`: members that a joined
    message takes from its first line, unlike others, which it takes from the last; `keep_null`: null members are
    kept."""

    max_bytes: int
    clock: Clock
    shared: Doc
    metrics: Metrics
    of_first_line: tuple[str, ...]
    keep_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserConfig(ABC):
    """The options of a parser. `name`: its key in YAML; `example`: an item of `parsers`, lines, and the resulting
    messages, all in YAML, separated by ` -> `."""

    name: ClassVar[str]
    example: ClassVar[str]

    @abstractmethod
    def build(self, reader: Reader, context: ParserContext) -> Reader:
        """Return the parser on a reader of lines or messages."""

    @property
    def ends_after(self) -> float | None:
        """Return the seconds after which a joined message ends; None if it joins none."""
        return None

    def max_line_bytes(self, max_bytes: int) -> int:
        """Return the bytes of a line that it needs, as the first parser, for a message of `max_bytes`."""
        return max_bytes

    def may_set(self, root: str) -> bool:
        """Return True if it may set a field below this name."""
        return False
