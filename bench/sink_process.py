"""A job that lands records, as a process: what it says of its batches, and what its Java costs meanwhile."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.measure import Child, peak_mb

LOOK = 0.02
COLD = 0.4  # the share of a run's batches in which Java still compiles what it runs
MAIN, LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"
PAUSE = re.compile(r"Pause.* (\d+)M->(\d+)M\((\d+)M\)")


@dataclass(frozen=True, slots=True)
class Batch:
    """`at` and `cpu_seconds`: the monotonic clock, and what Java had used, when the batch was told."""

    rows: int
    seconds: float
    at: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Landing:
    """Of warm batches. Memory is that of Java: resident at most; of the heap, at most before and after a collection."""

    rows_per_second: float
    cpu_us: float
    memory_mb: float
    heap_mb: float
    live_mb: float


class Job:
    """Runs from its making on. `command` must say a line of JSON for each batch, as `spark-sink run` does."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._collections = directory / "gc.log"
        self._log = directory / "output.log"
        options = f"JAVA_TOOL_OPTIONS=-Xlog:gc:file={self._collections}"
        self.child = Child(["env", options, *command], self._log)
        self._told = 0  # bytes of the log that were read
        self._java: psutil.Process | None = None
        self._used = 0.0  # seconds of CPU, of Java
        self.peak_mb = 0.0

    def batches(self) -> list[Batch]:
        """Those that were told since the last call. Raises RuntimeError when the job has failed."""
        self.child.check()
        if (java := self.java()) is not None:
            self.peak_mb = max(self.peak_mb, peak_mb(java.pid))
            self._used = sum(java.cpu_times()[:2])
        with self._log.open("rb") as log:
            log.seek(self._told)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._told += len(whole)
        return batches_of(whole.decode(errors="replace"), time.monotonic(), self._used)

    def java(self) -> psutil.Process | None:
        """None before it has started, and when it has ended."""
        try:
            if self._java is None:
                children = psutil.Process(self.child.pid).children(recursive=True)
                self._java = next((each for each in children if _is_spark(each.cmdline())), None)
            return self._java if self._java is not None and self._java.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    def ended(self) -> bool:
        self.child.check()
        return psutil.Process(self.child.pid).status() == psutil.STATUS_ZOMBIE

    def heap_mb(self) -> tuple[float, float]:
        """The largest before a collection, and after one."""
        return heap_of(self._collections.read_text())


@contextmanager
def running(command: Sequence[str], directory: Path) -> Iterator[Job]:
    """Ended in order when that is left."""
    job = Job(command, directory)
    try:
        yield job
    finally:
        job.child.end()


def measure(command: Sequence[str], directory: Path, timeout: float = 1800.0) -> Landing:
    """A job that ends by itself. Raises RuntimeError with its own words when it fails."""
    deadline = time.monotonic() + timeout
    found: list[Batch] = []
    with running(command, directory) as job:
        while not job.ended():
            found += job.batches()
            if time.monotonic() > deadline:
                raise RuntimeError(f"not at its end after {timeout:.0f} s: {command}")
            time.sleep(LOOK)
        found += job.batches()
    rate, cpu_us = warm(found)
    return Landing(rate, cpu_us, job.peak_mb, *job.heap_mb())


def _is_spark(command: list[str]) -> bool:
    """Another Java comes first, whose work is to say how this one is to be started."""
    return MAIN in command and LAUNCHER not in command


def batches_of(log: str, at: float, cpu_seconds: float) -> list[Batch]:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [
        Batch(line["rows_in"], line["seconds"], at, cpu_seconds)
        for line in lines
        if line["message"] == "batch" and line["rows_in"]
    ]


def warm(batches: Sequence[Batch]) -> tuple[float, float]:
    """Rows a second, and CPU microseconds a row, without the first batches and the small last one.

    Raises RuntimeError when there are too few.
    """
    largest = max((batch.rows for batch in batches), default=0)
    whole = [batch for batch in batches if batch.rows > largest / 2]
    cold = max(1, round(len(whole) * COLD))
    counted = whole[cold:]
    if not counted:
        raise RuntimeError(f"{len(whole)} batches: too few to leave out those in which Java compiles")
    rows = sum(batch.rows for batch in counted)
    used = counted[-1].cpu_seconds - whole[cold - 1].cpu_seconds
    return rows / sum(batch.seconds for batch in counted), used / rows * 1e6


def heap_of(collections: str) -> tuple[float, float]:
    """Of a log of Java's (-Xlog:gc): the largest use before a collection, and after one; zeros when there was none."""
    found = [(int(before), int(after)) for before, after, _ in PAUSE.findall(collections)]
    return max((each[0] for each in found), default=0), max((each[1] for each in found), default=0)
