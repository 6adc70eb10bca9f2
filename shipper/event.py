"""The data of the pipeline: runs of messages, and the batches made of them.

Everything is passed on in batches, and a batch keeps its messages as parallel columns instead of objects: in Python the
object is the cost (see ARCHITECTURE.md, "Speed").
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

# The memory of an event besides its bytes: the constant fields of its record, and the client's bookkeeping.
EVENT_OVERHEAD = 600
# The memory of a batch besides its events: its columns, its place in the ledger and in the lane of its file.
BATCH_OVERHEAD = 2400

# Members of one event's record that are not in columns: what parsers and processors added, by top-level name. They
# shadow the constants of the file; a member that is DELETED is left out. They belong to the event alone, so they may be
# changed in place. Three names are special. `message` is in `texts` if it is a non-empty text, else here. `@timestamp`
# is here only if it differs from the batch's, as text (RFC 3339). `log` is here without its offset, length and flags,
# which are columns.
Doc = dict[str, Any]
DELETED: Any = type("Deleted", (), {"__repr__": lambda self: "DELETED"})()


@dataclass(slots=True)
class Messages:
    """A run of consecutive messages of one file, covering its raw bytes from `start` up to `end`.

    `texts[i]` is the decoded message without its terminator; it began at byte `offsets[i]` and took `lengths[i]` raw
    bytes, including terminators and cut-off text. Raw bytes of the run that belong to no message were dropped on
    purpose. `flags` has an entry only for messages with flags. `cut`: a message must end where the run ends, because an
    earlier reading of the file ended one there.

    `interleaved`: stretches of raw bytes, from and to, in which messages are mixed. A reading may begin before or after
    one, not within it.

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
        """Keep the messages with these ascending indices; the raw bytes of the others still count in the run."""
        self.flags = {new: self.flags[old] for new, old in enumerate(keep) if old in self.flags} if self.flags else {}
        self.texts = [self.texts[i] for i in keep]
        self.offsets = [self.offsets[i] for i in keep]
        self.lengths = [self.lengths[i] for i in keep]
        if self.docs is not None:
            self.docs = [self.docs[i] for i in keep]

    def move(self, offset: int) -> None:
        """Move the run, which begins at byte 0, to this offset."""
        self.offsets = [offset + place for place in self.offsets]
        self.start, self.end = self.start + offset, self.end + offset

    def split_at(self, offsets: Sequence[int]) -> Iterator[Messages]:
        """Yield the run in pieces that end at these ascending offsets, and at the end. No message or interleaved
        stretch may lie across an offset."""
        first, start = 0, self.start
        for place in [*(offset for offset in offsets if offset < self.end), self.end]:
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
        """Return `docs`, creating them if there are none yet."""
        if self.docs is None:
            self.docs = [{} for _ in self.texts]
        return self.docs


def add_flag(flags: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """Return the flags with one more, in a fixed order: a second reading must give the same record."""
    return flags if flag in flags else tuple(sorted((*flags, flag)))


class Constants:
    """The members that all records of a file share, as an immutable document.

    `derived` caches, by processor, the result of a processor that concerns only constants, so that it runs once per
    file, not per event; `flags` are those it adds to each event. Other caches refer to constants weakly (the encoder's
    fragments).
    """

    __slots__ = ("__weakref__", "derived", "flags", "members")

    def __init__(self, members: Doc) -> None:
        self.members = members
        self.derived: dict[object, Constants] = {}
        self.flags: tuple[str, ...] = ()


@dataclass(slots=True)
class InputCounts:
    """Events and bytes of an input since the start; written by the reading thread only."""

    events_read: int = 0
    bytes_read: int = 0


def always_false() -> bool:
    return False


def no_op() -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The origin of a batch.

    `constants` are the members that the records of the file share. `process` runs the input's processors on a batch;
    None if there are none. `counts` are those of the input. `repeatable`: the data can be read again, so it need not be
    kept until it is delivered. `is_lost`: True once the data belongs to another reader, which begins at the last
    committed position: a transaction must not include any of it. `staged` is called when some of the data, perhaps a
    part of a batch, is in a transaction whose positions are being made. `letter`: the id of the dead letter that is
    resent.
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
    is_lost: Callable[[], bool] = always_false
    staged: Callable[[], object] = no_op
    letter: str = ""


@dataclass(slots=True, eq=False)
class Batch:
    """A run of consecutive events of one file: the unit of queueing, publishing and acknowledging.

    `time` is the wall clock at reading, in seconds. `resolve` is called once all events are delivered, dropped on
    purpose, or in the dead letter; calling it again does nothing. `grown`: bytes of memory that the events take beyond
    the raw ones, if processors may enlarge them much. `published`: monotonic time at which it was handed to the output.
    `raw`: the bytes it covers, if offsets do not count bytes. `constants` are the source's, or derived from them by
    processors.
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
        """Return the batch with only the events of these ascending indices, and their share of `raw`."""
        messages, raw = replace(self.messages), self.raw
        messages.select(indices)
        if raw is not None and self.events:
            raw = raw * len(indices) // self.events
        part = replace(self, messages=messages, raw=raw)
        part.constants = self.constants
        return part

    @property
    def size(self) -> int:
        """Return the raw bytes that the batch covers."""
        return self.messages.end - self.messages.start if self.raw is None else self.raw

    @property
    def cost(self) -> int:
        """Return the approximate memory of the batch, in bytes."""
        return self.size + self.grown + self.events * EVENT_OVERHEAD + BATCH_OVERHEAD


class Part(Protocol):
    """A batch, or some events of one, whose processing waits for a result.

    The parts of a batch divide its bytes among them and resolve it together.
    """

    @property
    def batch(self) -> Batch:
        """Return the events, to be sent once the part is done."""

    @property
    def done(self) -> bool: ...

    @property
    def keeps_order(self) -> bool:
        """Return True if later batches of the file wait for it."""

    @property
    def due(self) -> float:
        """Return the monotonic time at which `resume` proceeds even without a result."""

    def resume(self) -> Sequence[Part]:
        """Continue processing if the results are there or overdue. Return the parts that were split off, which continue
        by themselves."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much processors may enlarge an event: to `factor` times its raw bytes, and by `max_bytes`, whichever is less.

    Processors that add little are not counted.
    """

    factor: int = 1
    max_bytes: int = 0

    def then(self, other: Growth) -> Growth:
        return Growth(self.factor * other.factor, self.max_bytes + other.max_bytes)

    def max_size(self, raw: int, events: int) -> int:
        """Return the maximum size of this many events with this many raw bytes."""
        return min(raw * self.factor, raw + events * self.max_bytes)


class Process(Protocol):
    """The processors of an input, as seen by the pipeline."""

    @property
    def growth(self) -> Growth: ...

    def __call__(self, batch: Batch, /) -> Sequence[Part] | None:
        """Run the processors on a batch. Return its unfinished parts, or None if it is done."""


def resolve_after_all(resolve: Callable[[], None], count: int) -> list[Callable[[], None]]:
    """Return this many closures that resolve once all of them were called; calling one again does nothing."""
    missing = set(range(count))

    def settle(which: int) -> None:
        if which in missing:
            missing.remove(which)
            if not missing:
                resolve()

    return [partial(settle, which) for which in range(count)]


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of the events of a batch: `shared` for all of them, or `of_each`, None where `refused` has the
    reason."""

    shared: str | None
    of_each: Sequence[str | None] = ()
    refused: Mapping[int, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        return frozenset([self.shared] if self.shared is not None else filter(None, self.of_each))

    def topic_of(self, index: int) -> str:
        """Return the topic of an event; empty if it has none."""
        return self.shared if self.shared is not None else self.of_each[index] or ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """An event that the output can never deliver: its `index` in the batch, the reason, and its topic, if any."""

    index: int
    reason: str
    topic: str = ""
