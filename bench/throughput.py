"""One big file: from the start of the process until its last record is readable."""

import time
from collections import defaultdict
from dataclasses import dataclass

from bench.contenders import Contender, ShippingJob
from bench.data import write_lines
from bench.measure import Child
from bench.runs import Runs, report
from bench.table import show, spread
from bench.topics import wait_for


@dataclass(frozen=True, slots=True)
class Throughput:
    """`cpu_us`: CPU microseconds per event, including process start."""

    events_per_second: float
    cpu_us: float
    memory_mb: float


def table(runs: Runs, contenders: list[Contender], rounds: int, lines: int) -> str:
    log = runs.directory / "big.log"
    write_lines(log, lines)
    results = defaultdict(list)
    for number in range(rounds):
        for contender in contenders:
            result = measure(contender, runs.job(log, lines))
            results[contender.name].append(result)
            rate = result.events_per_second / 1000
            report(f"round {number + 1}, {contender.name}: {rate:.0f} k events/s, {result.cpu_us:.1f} µs")
    rows = [
        (
            name,
            spread([run.events_per_second for run in measured], ".0f", 1e-3),
            spread([run.cpu_us for run in measured], ".2f"),
            spread([run.memory_mb for run in measured], ".0f"),
        )
        for name, measured in results.items()
    ]
    return show((f"{lines} lines", "k events/s", "CPU µs per event", "memory MB"), rows)


def measure(contender: Contender, job: ShippingJob) -> Throughput:
    """Measure one run. Raises RuntimeError with the end of the contender's output if it fails."""
    started = time.monotonic()
    child = Child(contender.command(job), job.directory / "output.log", exits=contender.exits)
    try:
        done = wait_for(job.bootstrap, job.topic, job.count, child.check)
    finally:
        cost = child.end()
    return Throughput(job.count / (done - started), cost.cpu_seconds / job.count * 1e6, cost.memory_mb)


def warm_up(runs: Runs, floor: Contender, lines: int) -> None:
    """Ship lines before the measurements: the JVM compiles the broker at work, and no contender should pay for that."""
    report("warming up the broker")
    for _ in range(2):
        measure(floor, runs.job(runs.directory, lines))
