"""How often a file gets new data: decides whether polling the file costs less than watching it.

Measured as the running mean of seconds between two reads with data: one long pause among many short ones (the machine
was busy) does not make a file quiet, because switching between polling and watching costs most.
"""

from log_shipper.shipper.clock import Clock

FIRST_GAP = 0.2  # seconds: a file is quiet until it has shown that it is not
GAP_WEIGHT = 0.1
LONGEST_GAP = 4  # a pause that is longer than so many mean gaps counts as this


class Activity:
    """`read_at`: monotonic time of the last read with data, at first that of the opening. `gap`: the mean so far."""

    __slots__ = ("_clock", "gap", "read_at")

    def __init__(self, clock: Clock) -> None:
        self.read_at = clock.monotonic()
        self.gap = FIRST_GAP
        self._clock = clock

    def data_came(self) -> None:
        now = self._clock.monotonic()
        self.gap += (min(now - self.read_at, LONGEST_GAP * self.gap) - self.gap) * GAP_WEIGHT
        self.read_at = now
