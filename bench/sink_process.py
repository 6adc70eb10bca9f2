"""A job that lands records: the batches that it logs, and the CPU and memory of its processes, Java's and Python's."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.measure import Child

LOOK = 0.02
LOOK_AT_MEMORY = 0.5  # the kernel walks all pages of a process to count them
COLD = 0.4  # the share of a run's batches in which Java still compiles what it runs
MAIN, LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"
PAUSE = re.compile(r"Pause.* (\d+)M->(\d+)M\((\d+)M\)")


@dataclass(frozen=True, slots=True)
class TimedBatch:
    """`logged`: the monotonic time at which the batch was seen in the log; `cpu_seconds`: used by all processes until
    then."""

    rows: int
    seconds: float
    logged: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Landing:
    """The figures of warm batches. Memory is that of all processes together: the largest sum of their proportional set
    sizes, in which pages that several share count once; and the largest use of Java's heap before and after a garbage
    collection."""

    rows_per_second: float
    cpu_us: float
    memory_mb: float
    heap_mb: float
    live_mb: float


class MeasuredJob:
    """A job that runs from its construction on. `command` logs a line of JSON for each batch, as `spark-sink run`."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._collections = directory / "gc.log"
        self._log = directory / "output.log"
        options = f"JAVA_TOOL_OPTIONS=-Xlog:gc:file={self._collections}"
        self.child = Child(["env", options, *command], self._log)
        self._log_position = 0  # bytes of the log that were read
        self._java: psutil.Process | None = None
        self._used: dict[int, float] = {}  # seconds of CPU, by process
        self._memory_at = 0.0
        self.peak_mb = 0.0

    def batches(self) -> list[TimedBatch]:
        """Return the batches that were logged since the last call. Raises RuntimeError when the job has failed."""
        self.child.check()
        self._look()
        with self._log.open("rb") as log:
            log.seek(self._log_position)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._log_position += len(whole)
        return batches_of(whole.decode(errors="replace"), time.monotonic(), sum(self._used.values()))

    def _look(self) -> None:
        """Note CPU and, each LOOK_AT_MEMORY seconds, memory of the job's processes now."""
        processes = self._processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                self._used[process.pid] = sum(process.cpu_times()[:2])
        if time.monotonic() >= self._memory_at:
            self._memory_at = time.monotonic() + LOOK_AT_MEMORY
            self.peak_mb = max(self.peak_mb, sum(map(proportional, processes)) / 1e6)

    def _processes(self) -> list[psutil.Process]:
        try:
            job = psutil.Process(self.child.pid)
            return [job, *job.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def java(self) -> psutil.Process | None:
        """Return the process of Java; None before it has started, and when it has ended."""
        try:
            if self._java is None:
                children = psutil.Process(self.child.pid).children(recursive=True)
                self._java = next((child for child in children if _is_spark(child.cmdline())), None)
            return self._java if self._java is not None and self._java.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    def ended(self) -> bool:
        self.child.check()
        return psutil.Process(self.child.pid).status() == psutil.STATUS_ZOMBIE

    def heap_mb(self) -> tuple[float, float]:
        """Return the largest use of the heap before a collection, and after one; zeros of a job without Java."""
        return heap_of(self._collections.read_text()) if self._collections.exists() else (0, 0)


@contextmanager
def running(command: Sequence[str], directory: Path) -> Iterator[MeasuredJob]:
    """Run a job; SIGTERM ends it when the context is left."""
    job = MeasuredJob(command, directory)
    try:
        yield job
    finally:
        job.child.end()


def measure(command: Sequence[str], directory: Path, timeout: float = 1800.0) -> Landing:
    """Measure a job that ends by itself. Raises RuntimeError with the end of its output when it fails."""
    deadline = time.monotonic() + timeout
    batches: list[TimedBatch] = []
    with running(command, directory) as job:
        while not job.ended():
            batches += job.batches()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the job did not end within {timeout:.0f} s: {command}")
            time.sleep(LOOK)
        batches += job.batches()
    rate, cpu_us = warm(batches)
    return Landing(rate, cpu_us, job.peak_mb, *job.heap_mb())


def proportional(process: psutil.Process) -> int:
    """Return the process's memory in bytes, a page that n processes share as a page / n; 0 if it has ended."""
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return int(process.memory_full_info().pss)
    return 0


def _is_spark(command: list[str]) -> bool:
    """Return True for Spark's JVM; a launcher comes first, another JVM, which prints how this one is to be started."""
    return MAIN in command and LAUNCHER not in command


def batches_of(log: str, logged: float, cpu_seconds: float) -> list[TimedBatch]:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [
        TimedBatch(line["rows_in"], line["seconds"], logged, cpu_seconds)
        for line in lines
        if line["message"] == "batch" and line["rows_in"]
    ]


def warm(batches: Sequence[TimedBatch]) -> tuple[float, float]:
    """Return rows a second, and CPU microseconds a row, without the first batches and the small last one.

    Raises RuntimeError when there are too few batches.
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
    """Return the largest use before a collection, and after one, from a log of -Xlog:gc; zeros when there was none."""
    pauses = [(int(before), int(after)) for before, after, _ in PAUSE.findall(collections)]
    return max((before for before, _ in pauses), default=0), max((after for _, after in pauses), default=0)
