"""The delay before the next attempt after a failure."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """A delay that doubles from `init` to at most `max`, both in seconds."""

    init: float
    max: float

    def delay(self, attempts: int) -> float:
        """Return the delay in seconds after this many failed attempts in a row."""
        return min(self.max, self.init * 2.0 ** min(max(attempts - 1, 0), 30))

    def jittered(self, attempts: int) -> float:
        """Return the delay reduced by a random part of up to half: agents of all hosts lose a server at the same
        moment, and should not return at the same moment."""
        return self.delay(attempts) * random.uniform(0.5, 1.0)
