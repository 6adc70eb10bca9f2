"""Count the saves of the registry and the time that the disk took: written by the registrar's thread, read by any."""

from dataclasses import dataclass, field

from log_shipper.runtime.monitor.histogram import Histogram

# From a disk with its own cache to one in trouble.
FSYNC_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(slots=True)
class Saves:
    ok: int = 0
    failed: int = 0
    is_failing: bool = False  # the last one failed
    fsync: Histogram = field(default_factory=lambda: Histogram(FSYNC_SECONDS))
