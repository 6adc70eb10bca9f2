"""How long to wait before the next try."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubles from `init` to at most `max`, both in seconds."""

    init: float
    max: float

    def delay(self, attempts: int) -> float:
        """Seconds to wait after that many failed tries in a row, the first one counted."""
        return min(self.max, self.init * 2.0 ** min(max(attempts - 1, 0), 30))
