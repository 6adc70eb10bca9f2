"""Record when an open file is read next, and how often it gets new data, which decides whether it is polled or watched.

The measure is the running mean of seconds between two reads with data: one long pause among many short ones (the host
was busy) does not make a file quiet, because switching between polling and watching costs most.
"""

from enum import IntEnum, auto

from log_shipper.registry.pending import SaveTicket
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch

NEVER = float("inf")
FIRST_GAP = 0.2  # seconds: a file counts as quiet until it shows otherwise
GAP_WEIGHT = 0.1
MAX_GAP = 4  # a pause longer than this many mean gaps counts as this


class Turn(IntEnum):  # an Enum computes its hash in Python, and each step needs several
    IDLE = auto()  # nothing to read until the watcher gives a hint
    UNWATCHED = auto()  # the same, but only a scan shows new data: there is no watch for it
    READY = auto()  # read once in its turn, so that a big file cannot starve others
    POLLED = auto()  # written to again and again: it is read at intervals, without waiting for events
    PAUSED = auto()  # too much of its data waits in the pipeline
    SAVING = auto()  # something must be on disk first: a new id, or a message end decided by time


AWAKE = (Turn.READY, Turn.POLLED, Turn.SAVING)  # it is read without a further hint


class Schedule:
    """The scheduler's data of a file. `read_at`: monotonic time of the last read with data, initially of the opening;
    `gap`: the mean so far. `awaits`: the save that the file waits for, and the batch that is queued then; `timed`: the
    recorded deadline of its message."""

    __slots__ = ("_clock", "awaits", "gap", "read_at", "timed", "turn")

    def __init__(self, clock: Clock) -> None:
        self.read_at = clock.monotonic()
        self.gap = FIRST_GAP
        self.turn = Turn.IDLE
        self.awaits: tuple[SaveTicket, Batch | None] | None = None
        self.timed = NEVER
        self._clock = clock

    @property
    def has_batch(self) -> bool:
        """Return True if a batch of the file awaits a save."""
        return self.awaits is not None and self.awaits[1] is not None

    @property
    def is_awake(self) -> bool:
        return self.turn in AWAKE

    def data_came(self) -> None:
        now = self._clock.monotonic()
        self.gap += (min(now - self.read_at, MAX_GAP * self.gap) - self.gap) * GAP_WEIGHT
        self.read_at = now
