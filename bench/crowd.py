"""Many small files: time until all are shipped, cost while idle, delay of lines."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.appends import Delays, appended
from bench.contenders import Contender, ShippingJob
from bench.data import line
from bench.measure import Child
from bench.runs import Runs
from bench.topics import wait_for

FILES_A_DIRECTORY = 100
APPENDS = 100
PAUSE = 0.05  # seconds between appends
CALM = 15.0  # seconds for a scan, a flush of the registry and timers of the client
STILL_OPEN = 40  # descriptors of a shipper without log files
CLOSING = 120.0  # seconds after `inactive` to close all files


@dataclass(frozen=True, slots=True)
class IdleCost:
    """The cost without new data: share of one core, resident memory, threads."""

    core: float
    memory_mb: float
    threads: int


@dataclass(frozen=True, slots=True)
class StartCost:
    """The cost from process start until the last line is readable."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Crowd:
    start: StartCost
    idle: IdleCost
    delays: Delays


def write_files(directory: Path, count: int, lines: int) -> list[Path]:
    """Write `count` files of `lines` lines, a hundred per directory; `pattern` matches all of them."""
    paths = []
    for number in range(count):
        path = directory / f"{number // FILES_A_DIRECTORY:04d}" / f"{number:06d}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line(number * lines + index)}\n" for index in range(lines)))
        paths.append(path)
    return paths


def pattern(directory: Path) -> Path:
    return directory / "*" / "*.log"


def open_files(contender: Contender, runs: Runs, count: int, lines: int, seconds: float) -> tuple[ShippingJob, Crowd]:
    """Measure new files, then idle ones, then appends. The job can be passed to `closed_files`."""
    directory = runs.fresh("crowd")
    paths = write_files(directory, count, lines)
    job = runs.job(pattern(directory), count * lines)
    started = time.monotonic()
    with shipped(contender, job) as child:
        start = StartCost(time.monotonic() - started, child.cpu_seconds())
        return job, Crowd(start, idle(child, seconds), _delays(job, child, paths))


@contextmanager
def shipped(contender: Contender, job: ShippingJob) -> Iterator[Child]:
    """Start a contender, and wait until all lines of the job are readable."""
    child = Child(contender.command(job), job.directory / "output.log")
    try:
        wait_for(job.bootstrap, job.topic, job.count, child.check)
        yield child
    finally:
        child.end()


def closed_files(contender: Contender, job: ShippingJob, inactive: float, seconds: float) -> Crowd:
    """Measure a start with shipped files, until they are closed for inactivity."""
    paths = sorted(job.log.parent.parent.glob("*/*.log"))
    # Files without new data are not opened. The arrival of this line shows that all were scanned.
    with paths[0].open("a") as file:
        file.write("started again\n")
    started = time.monotonic()
    with shipped(contender, replace(job, inactive=inactive, count=job.count + APPENDS + 1)) as child:
        start = StartCost(time.monotonic() - started, child.cpu_seconds())
        _await(lambda: child.open_files() < STILL_OPEN, child, inactive + CLOSING)
        return Crowd(start, idle(child, seconds), _delays(job, child, paths))


def idle(child: Child, seconds: float) -> IdleCost:
    """Measure for `seconds`, after the start has settled."""
    time.sleep(CALM)
    child.check()
    cpu, started = child.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    core = (child.cpu_seconds() - cpu) / (time.monotonic() - started)
    return IdleCost(core, child.memory_mb(), child.threads())


def _delays(job: ShippingJob, child: Child, paths: list[Path]) -> Delays:
    """Append lines to random files, the same ones for each contender."""
    pick = random.Random(len(paths))
    chosen = [*pick.sample(paths, min(len(paths), APPENDS))]
    chosen += pick.choices(paths, k=APPENDS - len(chosen))
    return appended(child, job, chosen, 1 / PAUSE, len(chosen)).delays


def _await(met: Callable[[], bool], child: Child, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not met():
        child.check()
        if time.monotonic() > deadline:
            raise RuntimeError(f"{child.open_files()} descriptors are open after {timeout:.0f} s")
        time.sleep(0.1)
