"""One big file: from the start of the process until its last record is readable."""

import time
from dataclasses import dataclass

from bench.contenders import Contender, ShippingJob
from bench.measure import Child
from bench.topics import wait_for


@dataclass(frozen=True, slots=True)
class Throughput:
    """`cpu_us`: microseconds of processor time an event, process start included."""

    events_per_second: float
    cpu_us: float
    memory_mb: float


def measure(contender: Contender, job: ShippingJob) -> Throughput:
    """Measure one run. Raises RuntimeError with the end of the contender's output when it fails."""
    started = time.monotonic()
    child = Child(contender.command(job), job.directory / "output.log", exits=contender.exits)
    try:
        done = wait_for(job.bootstrap, job.topic, job.count, child.check)
    finally:
        cost = child.end()
    return Throughput(job.count / (done - started), cost.cpu_seconds / job.count * 1e6, cost.memory_mb)
