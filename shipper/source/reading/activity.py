"""How often a file gets new data: decides whether polling the file costs less than watching it.

Measured as the running mean of seconds between two reads with data: one long pause among many short ones (the machine
was busy) does not make a file quiet, because switching between polling and watching costs most.
"""

from shipper.clock import Clock

BUSY_GAP = 0.005  # a file becomes busy below this,
QUIET_GAP = 0.008  # and quiet above this
LONGEST_GAP = 0.03  # a longer pause counts as this
GAP_WEIGHT = 0.1
QUIET_AFTER = 0.05  # quiet also when no data came for this long


class Activity:
    """`read_at`: monotonic time of the last read with data, at first that of the opening."""

    __slots__ = ("_busy", "_clock", "_gap", "read_at")

    def __init__(self, clock: Clock) -> None:
        self.read_at = clock.monotonic()
        self._clock = clock
        self._busy = False
        self._gap = LONGEST_GAP

    def data_came(self) -> None:
        now = self._clock.monotonic()
        self._gap += (min(now - self.read_at, LONGEST_GAP) - self._gap) * GAP_WEIGHT
        self._busy = self._gap < (QUIET_GAP if self._busy else BUSY_GAP)
        self.read_at = now

    @property
    def is_busy(self) -> bool:
        return self._busy and self._clock.monotonic() - self.read_at < QUIET_AFTER
