"""Repeated lines after the shipper is killed (`kill -9`) and restarted: lines in flight, and acknowledged lines whose
position was not saved."""

import signal

from bench.appends import at_rate
from bench.contenders import Contender, ShippingJob
from bench.data import line, write_lines
from bench.measure import Child
from bench.runs import Runs, report
from bench.table import show, spread
from bench.topics import settled, wait_for

SHARES = (0.3, 0.5, 0.7)  # of readable lines at the kill, in turn
SLOW = 1000  # lines per second
SECONDS = 6


def table(runs: Runs, shipper: Contender, rounds: int, lines: int) -> str:
    """Return the table. Raises RuntimeError if lines are missing."""
    log = runs.fresh("kills.log")
    write_lines(log, lines)
    full, slow = [], []
    for number in range(rounds):
        share = SHARES[number % len(SHARES)]
        full.append(_at_full_speed(shipper, runs.job(log, lines), share))
        slow.append(_at_slow_rate(shipper, runs.job(runs.fresh("slow.log"), SLOW * SECONDS), share))
        report(f"kill {number + 1}: {full[-1]} lines repeated at full speed, {slow[-1]} at {SLOW} lines/s")
    rows = [("full speed", spread(full, ",.0f")), (f"{SLOW} lines/s", spread(slow, ",.0f"))]
    return show(("repeated lines per kill -9", "shipper"), rows)


def _at_full_speed(shipper: Contender, job: ShippingJob, share: float) -> int:
    _kill_at(shipper, job, round(job.count * share))
    return _repeats(_start(shipper, job, "second.log"), job)


def _at_slow_rate(shipper: Contender, job: ShippingJob, share: float) -> int:
    job.log.write_text("")
    killed_at = round(job.count * share)
    child = _start(shipper, job, "first.log")
    with job.log.open("a", buffering=1) as file:
        for number, _ in zip(range(job.count), at_rate(SLOW), strict=False):
            file.write(f"{line(number)}\n")
            if number == killed_at:
                _kill(child)
                child = _start(shipper, job, "second.log")
    return _repeats(child, job)


def _start(shipper: Contender, job: ShippingJob, log: str) -> Child:
    return Child(shipper.command(job), job.directory / log)


def _kill_at(shipper: Contender, job: ShippingJob, count: int) -> None:
    child = _start(shipper, job, "first.log")
    wait_for(job.bootstrap, job.topic, count, child.check)
    _kill(child)


def _kill(child: Child) -> None:
    child.end(signal.SIGKILL)


def _repeats(child: Child, job: ShippingJob) -> int:
    """Wait for all records, and return the number of repeats."""
    try:
        wait_for(job.bootstrap, job.topic, job.count, child.check)
        return settled(job.bootstrap, job.topic) - job.count
    finally:
        child.end()
