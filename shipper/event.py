"""What travels through the pipeline: runs of messages, and the batches that are made of them.

Everything is passed on in batches, and a batch keeps its messages as parallel columns instead of one object for each
message: in Python the object is the cost (see ARCHITECTURE.md, "Speed").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

MULTILINE = "multiline"
TRUNCATED = "truncated"
SPLIT = "split"

# The memory that an event takes beside its bytes: the constant fields of its record, and the client's book-keeping.
EVENT_OVERHEAD = 600
# And a batch, however few events it has: its columns, its place in the ledger and in the lane of its file.
BATCH_OVERHEAD = 2400

# Members of one event's record beside those in columns: what parsers and processors added, by top-level name. They
# shadow the constants of the file; a member that is DELETED is left out. They belong to the event alone, so they may be
# changed in place. Three names are special. `message`: in `texts` while it is a text that is not empty, else here.
# `@timestamp`: here only if it differs from the batch's, as text (RFC 3339). `log`: here without its offset, length and
# flags, which are columns.
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
    after one, and not within it.

    `docs[i]` has the other members of message i (see `Doc`); None while no message of the run has any, which costs
    nothing.
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

    def move(self, offset: int) -> None:
        """Let what begins at the byte 0 begin at this one."""
        self.offsets = [offset + place for place in self.offsets]
        self.start, self.end = self.start + offset, self.end + offset

    def pieces(self, places: Sequence[int]) -> Iterator[Messages]:
        """Yield the same in several runs, which end at these places, ascending, and at the end. No message or
        interleaved stretch may lie across a place."""
        first, start = 0, self.start
        for place in [*(place for place in places if place < self.end), self.end]:
            last = bisect_left(self.offsets, place, first)
            piece = Messages(start, place, self.texts[first:last], self.offsets[first:last], self.lengths[first:last])
            if self.flags:
                piece.flags = {i - first: self.flags[i] for i in range(first, last) if i in self.flags}
            if self.docs is not None:
                piece.docs = self.docs[first:last]
            piece.interleaved = self.interleaved[
                bisect_left(self.interleaved, (start,)) : bisect_left(self.interleaved, (place,))
            ]
            piece.cut = self.cut and place == self.end
            yield piece
            first, start = last, place

    def flag_last(self, flag: str) -> None:
        if self.texts:
            last = len(self.texts) - 1
            self.flags[last] = add_flag(self.flags.get(last, ()), flag)

    def documents(self) -> list[Doc]:
        """Return `docs`; they are created if there are none yet."""
        if self.docs is None:
            self.docs = [{} for _ in self.texts]
        return self.docs


def add_flag(flags: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """Return the flags with one more, in a fixed order: a second reading must give the same record."""
    return flags if flag in flags else tuple(sorted((*flags, flag)))


class Constants:
    """The members that all records of a file share, as a document that is never changed.

    `derived` caches the result of a processor that concerns only constants, by the processor, so that it runs once for
    a file and not once for an event; `flags` are those that it adds to each event. Other caches refer to constants by
    weak reference (the encoder's pieces).
    """

    __slots__ = ("__weakref__", "derived", "flags", "members")

    def __init__(self, members: Doc) -> None:
        self.members = members
        self.derived: dict[object, Constants] = {}
        self.flags: tuple[str, ...] = ()


@dataclass(slots=True)
class InputCounts:
    """What an input has given since the start; written by the reading thread only."""

    events_read: int = 0
    bytes_read: int = 0


def never() -> bool:
    return False


def nothing() -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where the messages of a batch come from.

    `constants` are the members that the records of the file share. `process` runs the input's processors on a batch;
    None if there are none. `counts` are those of the input. `repeatable`: what was read of it can be read again, so
    it need not be kept until it is delivered. `is_lost`: True once what was read of it belongs to another reader, which
    begins at the last position that was committed: a transaction must have nothing of it. `staged` is called where
    some of it, though it may not be all of a batch, is in a transaction for which the positions are made. `letter`: the
    id of the dead letter that is sent again.
    """

    file_id: str
    path: str
    inode: int
    device: int
    input_id: str
    input_type: str
    constants: Constants
    process: Process | None = None
    counts: InputCounts = field(default_factory=InputCounts)
    repeatable: bool = True
    is_lost: Callable[[], bool] = never
    staged: Callable[[], object] = nothing
    letter: str = ""


@dataclass(slots=True, eq=False)
class Batch:
    """A run of consecutive events of one file: the unit of queueing, publishing and acknowledging.

    `time` is the wall clock when it was read, in seconds. `resolve` is called once all of its events are delivered,
    dropped on purpose, or in the dead letter; calling it again does nothing. `grown`: how many bytes of memory its
    events take beyond the raw ones, if processors may enlarge them much. `published`: monotonic time when it was
    handed to the output. `raw`: how many bytes it covers, where offsets count something else. `constants` are the
    source's, or those that processors derived from them.
    """

    source: Source
    messages: Messages
    time: float
    resolve: Callable[[], None]
    grown: int = 0
    published: float = 0.0
    raw: int | None = None
    constants: Constants = field(init=False)

    def __post_init__(self) -> None:
        self.constants = self.source.constants

    @property
    def events(self) -> int:
        return len(self.messages.texts)

    def part(self, indices: list[int]) -> Batch:
        """Return the same batch with only the events of these indices, which ascend, and their share of `raw`."""
        messages, raw = replace(self.messages), self.raw
        messages.select(indices)
        if raw is not None and self.events:
            raw = raw * len(indices) // self.events
        part = replace(self, messages=messages, raw=raw)
        part.constants = self.constants
        return part

    @property
    def size(self) -> int:
        """Return how many raw bytes the batch covers."""
        return self.messages.end - self.messages.start if self.raw is None else self.raw

    @property
    def cost(self) -> int:
        """Return about how many bytes of memory the batch takes."""
        return self.size + self.grown + self.events * EVENT_OVERHEAD + BATCH_OVERHEAD


class Part(Protocol):
    """A batch, or some events of one, that processors have not finished because a result is missing. The parts of a
    batch divide its bytes among them, and resolve it together."""

    @property
    def batch(self) -> Batch:
        """Return its events, to be sent once it is done."""

    @property
    def done(self) -> bool: ...

    @property
    def keeps_order(self) -> bool:
        """True if later batches of the file wait for it."""

    @property
    def due(self) -> float:
        """Return the monotonic time at which `resume` does something even without a result."""

    def resume(self) -> Sequence[Part]:
        """Continue processing if the results have come, or it is too late for them. Return the parts that were split
        off, which continue by themselves."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much larger processors may make an event: to `factor` times its raw bytes, and by `most` bytes, whichever is
    less. Processors that add little are not counted."""

    factor: int = 1
    most: int = 0

    def then(self, other: Growth) -> Growth:
        return Growth(self.factor * other.factor, self.most + other.most)

    def of(self, raw: int, events: int) -> int:
        """Return the most bytes that so many events, of so many raw bytes, may grow to."""
        return min(raw * self.factor, raw + events * self.most)


class Process(Protocol):
    """The processors of an input, as the pipeline sees them."""

    @property
    def growth(self) -> Growth: ...

    def __call__(self, batch: Batch, /) -> Sequence[Part] | None:
        """Run the processors on a batch. Return the parts of it, or None if all of it is done."""


def together(resolve: Callable[[], None], count: int) -> list[Callable[[], None]]:
    """Return so many closures that resolve once all of them were called; calling one again does nothing."""
    missing = set(range(count))

    def settle(which: int) -> None:
        if which in missing:
            missing.remove(which)
            if not missing:
                resolve()

    return [partial(settle, which) for which in range(count)]


@dataclass(frozen=True, slots=True)
class Topics:
    """Where the events of a batch are sent: `shared` is the topic of all of them; else `of_each` has the topic of each,
    None where `refused` says why there is none."""

    shared: str | None
    of_each: Sequence[str | None] = ()
    refused: Mapping[int, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        return frozenset([self.shared] if self.shared is not None else filter(None, self.of_each))

    def of(self, index: int) -> str:
        """Return the topic of an event; empty if it has none."""
        return self.shared if self.shared is not None else self.of_each[index] or ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """An event of a batch that the output can never deliver: its `index` in the batch, the reason, and the topic that
    it was for, if any."""

    index: int
    reason: str
    topic: str = ""
