"""Which files are not read because they are old: ignore_older, ignore_inactive, tail_files."""

from shipper.clock import Clock
from shipper.source.discovery.scanner import ScannedFile
from shipper.source.discovery.spec import InputSpec

TICK = 0.02  # file systems keep time in ticks of up to 10 ms: what is written just after the start can look older


class Ignoring:
    """Times of change are compared in unix seconds. `first_start`: when the agent ran for the first time."""

    def __init__(self, clock: Clock, first_start: float) -> None:
        self._clock = clock
        self._since = {"since_first_start": first_start, "since_last_start": clock.time()}

    def skips(self, spec: InputSpec, found: ScannedFile) -> bool:
        """True if what the file holds now is not to be read; what is added to it later is."""
        config = spec.config
        if 0 < config.ignore_older < self._clock.time() - found.modified:
            return True
        return config.ignore_inactive != "" and found.modified + TICK < self._since[config.ignore_inactive]
