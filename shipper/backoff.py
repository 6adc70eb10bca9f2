"""How long to wait before the next attempt at what failed."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """The wait before the next attempt: doubles from `init` to at most `max`, both in seconds."""

    init: float
    max: float

    def delay(self, attempts: int) -> float:
        """Return the seconds to wait after so many failed attempts in a row."""
        return min(self.max, self.init * 2.0 ** min(max(attempts - 1, 0), 30))

    def jittered(self, attempts: int) -> float:
        """Return the same less up to half of it, by chance: the agents of all hosts lose a server in one moment, and
        are not to come back in one."""
        return self.delay(attempts) * random.uniform(0.5, 1.0)
