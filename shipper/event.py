"""What travels through the pipeline: runs of messages, and the batches that are made of them.

Everything is handed over in batches, and a batch keeps its messages as parallel columns instead of one object a
message: in Python the object is the cost (see ARCHITECTURE.md, "Speed").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

MULTILINE = "multiline"
TRUNCATED = "truncated"

# Members of one event's record beside those in columns: what parsers and processors found, by top-level name. It
# shadows the constants of its file; a member that is DELETED is left out. What is in it belongs to the event alone, so
# it may be changed in place. Three names have places of their own. `message`: in `texts` while it is a text that is not
# empty, else here. `@timestamp`: here only if it is another than the batch's, as text (RFC 3339). `log`: here what is
# beside its offset, length and flags, which are columns.
Doc = dict[str, Any]
DELETED: Any = type("Deleted", (), {"__repr__": lambda self: "DELETED"})()


@dataclass(slots=True)
class Messages:
    """A run of consecutive messages of one file, covering its raw bytes from `start` up to `end`.

    `texts[i]` is the decoded message without its terminator; it began at byte `offsets[i]` and took `lengths[i]` raw
    bytes, terminators and cut-off text included. Raw bytes of the run that belong to no message were dropped on
    purpose. `flags` has an entry only for messages that carry one. `cut`: a message must end where the run
    ends, because an earlier reading of the file ended one there.

    `interleaved` are stretches of raw bytes, from and to, in which messages are mixed: a reading may begin before or
    behind one, and not within.

    `docs[i]` holds the members that message i has beside those (see `Doc`); None while no message of the run has any,
    which costs nothing.
    """

    start: int
    end: int
    texts: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    flags: dict[int, tuple[str, ...]] = field(default_factory=dict)
    cut: bool = False
    docs: list[Doc] | None = None
    interleaved: tuple[tuple[int, int], ...] = ()

    def append(self, text: str, offset: int, length: int, flags: tuple[str, ...] = ()) -> None:
        if flags:
            self.flags[len(self.texts)] = flags
        if self.docs is not None:
            self.docs.append({})
        self.texts.append(text)
        self.offsets.append(offset)
        self.lengths.append(length)

    def select(self, keep: list[int]) -> None:
        """Keep the messages with these indices, which ascend; the raw bytes of the others stay counted in the run."""
        self.flags = {new: self.flags[old] for new, old in enumerate(keep) if old in self.flags} if self.flags else {}
        self.texts = [self.texts[i] for i in keep]
        self.offsets = [self.offsets[i] for i in keep]
        self.lengths = [self.lengths[i] for i in keep]
        if self.docs is not None:
            self.docs = [self.docs[i] for i in keep]

    def pieces(self, places: Sequence[int]) -> Iterator[Messages]:
        """The same in several runs, which end at these places, ascending, and at the end. No message or interleaved
        stretch may lie across one."""
        begin, start = 0, self.start
        for place in [*(place for place in places if place < self.end), self.end]:
            end = bisect_left(self.offsets, place, begin)
            piece = Messages(start, place, self.texts[begin:end], self.offsets[begin:end], self.lengths[begin:end])
            if self.flags:
                piece.flags = {i - begin: self.flags[i] for i in range(begin, end) if i in self.flags}
            if self.docs is not None:
                piece.docs = self.docs[begin:end]
            piece.interleaved = self.interleaved[
                bisect_left(self.interleaved, (start,)) : bisect_left(self.interleaved, (place,))
            ]
            piece.cut = self.cut and place == self.end
            yield piece
            begin, start = end, place

    def flag_last(self, flag: str) -> None:
        if self.texts:
            last = len(self.texts) - 1
            self.flags[last] = add_flag(self.flags.get(last, ()), flag)

    def documents(self) -> list[Doc]:
        """`docs`, made now where there are none yet."""
        if self.docs is None:
            self.docs = [{} for _ in self.texts]
        return self.docs


def add_flag(flags: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """In one order, whichever was found first: a second reading must give the same record."""
    return flags if flag in flags else tuple(sorted((*flags, flag)))


class Constants:
    """The members that all records of a file share, as a document that is never changed once it is here.

    `derived` caches for the processors what one that concerns only constants has made of these, by the processor, so
    that it works once for a file and not once for an event; `flags` are what it adds to each event's. Whatever else
    follows from these is cached where it is made, by weak reference (the encoder's pieces).
    """

    __slots__ = ("__weakref__", "derived", "flags", "members")

    def __init__(self, members: Doc) -> None:
        self.members = members
        self.derived: dict[object, Constants] = {}
        self.flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where the messages of a batch come from.

    `constants` are the members that the records of the file share. `process` lets the input's processors work on a
    batch; None where there are none.
    """

    file_id: str
    path: str
    inode: int
    device: int
    input_id: str
    input_type: str
    constants: Constants
    process: Process | None = None


@dataclass(slots=True, eq=False)
class Batch:
    """A run of consecutive events of one file: the unit of queueing, publishing and acknowledging.

    `time` is the wall clock when it was read, in seconds. `resolve` is called once all of its events are delivered,
    dropped on purpose, or in the dead letter; calling it again does nothing. `grown`: how many bytes of memory its
    events take beyond the raw ones, where processors may have made much more of them. `constants` are the source's, or
    what processors have made of them.
    """

    source: Source
    messages: Messages
    time: float
    resolve: Callable[[], None]
    grown: int = 0
    constants: Constants = field(init=False)

    def __post_init__(self) -> None:
        self.constants = self.source.constants

    @property
    def events(self) -> int:
        return len(self.messages.texts)

    def part(self, indices: list[int]) -> Batch:
        """The same batch with only the events of these indices, which ascend."""
        messages = replace(self.messages)
        messages.select(indices)
        part = replace(self, messages=messages)
        part.constants = self.constants
        return part

    @property
    def size(self) -> int:
        """Raw bytes that the batch covers."""
        return self.messages.end - self.messages.start


class Part(Protocol):
    """A batch, or some events of one, that processors have not finished, because a result is missing. The parts of a
    batch have all of its bytes among them, and resolve it together."""

    @property
    def batch(self) -> Batch:
        """Its events, to be sent once it is done."""

    @property
    def done(self) -> bool: ...

    @property
    def keeps_order(self) -> bool:
        """True if later batches of the file wait behind it."""

    @property
    def due(self) -> float:
        """Monotonic time at which `resume` does something even without a result."""

    def resume(self) -> Sequence[Part]:
        """Let processors continue, if the results have come or it is too late for them. Return what was split off,
        which continues by itself."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much larger processors may make an event: to `factor` times its raw bytes, and by `most` bytes, whichever is
    less. That of those which add little is not counted."""

    factor: int = 1
    most: int = 0

    def then(self, other: Growth) -> Growth:
        return Growth(self.factor * other.factor, self.most + other.most)

    def of(self, raw: int, events: int) -> int:
        """What so many events, of so many raw bytes, may become in bytes."""
        return min(raw * self.factor, raw + events * self.most)


class Process(Protocol):
    """The processors of an input, as the pipeline sees them."""

    @property
    def growth(self) -> Growth: ...

    def __call__(self, batch: Batch, /) -> Sequence[Part] | None:
        """Let them work on a batch. None if they are done with all of it."""


def together(resolve: Callable[[], None], count: int) -> list[Callable[[], None]]:
    """So many closures that resolve when all of them were called; calling one again does nothing."""
    missing = set(range(count))

    def settle(which: int) -> None:
        if which in missing:
            missing.remove(which)
            if not missing:
                resolve()

    return [partial(settle, which) for which in range(count)]


@dataclass(frozen=True, slots=True)
class Rejection:
    """An event of a batch that the output will never be able to deliver: `index` in the batch, and why."""

    index: int
    reason: str
