"""What travels through the pipeline: runs of messages, and the batches that are made of them.

Everything is handed over in batches, and a batch keeps its messages as parallel columns instead of one object a
message: in Python the object is the cost (see ARCHITECTURE.md, "Speed").
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

MULTILINE = "multiline"
TRUNCATED = "truncated"


@dataclass(slots=True)
class Messages:
    """A run of consecutive messages of one file, covering its raw bytes from `start` up to `end`.

    `texts[i]` is the decoded message without its terminator; it began at byte `offsets[i]` and took `lengths[i]` raw
    bytes, terminators and cut-off text included. Raw bytes of the run that belong to no message were dropped on
    purpose. `flags` has an entry only for messages that carry one. `cut` says that a message must end where the run
    ends, because an earlier reading of the file ended one there.
    """

    start: int
    end: int
    texts: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    flags: dict[int, tuple[str, ...]] = field(default_factory=dict)
    cut: bool = False

    def append(self, text: str, offset: int, length: int, flags: tuple[str, ...] = ()) -> None:
        if flags:
            self.flags[len(self.texts)] = flags
        self.texts.append(text)
        self.offsets.append(offset)
        self.lengths.append(length)

    def select(self, keep: list[int]) -> None:
        """Keep the messages with these indices, which ascend; the raw bytes of the others stay counted in the run."""
        self.flags = {new: self.flags[old] for new, old in enumerate(keep) if old in self.flags} if self.flags else {}
        self.texts = [self.texts[i] for i in keep]
        self.offsets = [self.offsets[i] for i in keep]
        self.lengths = [self.lengths[i] for i in keep]


def add_flag(flags: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """In one order, whichever was found first: a second reading must give the same record."""
    return flags if flag in flags else tuple(sorted((*flags, flag)))


@dataclass(frozen=True, slots=True)
class Source:
    """Where the messages of a batch come from: all that is constant in the records of one file.

    `static_json` holds the input's tags and fields, already encoded as JSON members.
    """

    file_id: str
    path: str
    inode: int
    device: int
    input_id: str
    input_type: str
    topic: str = ""
    static_json: str = ""


@dataclass(slots=True, eq=False)
class Batch:
    """A run of consecutive events of one file: the unit of queueing, publishing and acknowledging.

    `time` is the wall clock when it was read, in seconds. `resolve` is called once all of its events are delivered,
    dropped on purpose, or in the dead letter; calling it again does nothing.
    """

    source: Source
    messages: Messages
    time: float
    resolve: Callable[[], None]

    @property
    def events(self) -> int:
        return len(self.messages.texts)

    def part(self, indices: list[int]) -> "Batch":
        """The same batch with only the events of these indices, which ascend."""
        messages = replace(self.messages)
        messages.select(indices)
        return replace(self, messages=messages)

    @property
    def size(self) -> int:
        """Raw bytes that the batch covers."""
        return self.messages.end - self.messages.start


@dataclass(frozen=True, slots=True)
class Rejection:
    """An event of a batch that the output will never be able to deliver: `index` in the batch, and why."""

    index: int
    reason: str
