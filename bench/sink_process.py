"""A job that lands records: its logged batches, and CPU and memory of its Java and Python processes."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.measure import Child

POLL_INTERVAL = 0.02
MEMORY_INTERVAL = 0.5  # longer: the kernel walks all pages of a process to count them
COLD = 0.4  # share of a run's batches in which Java still compiles
MAIN, LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"
PAUSE = re.compile(r"Pause.* (\d+)M->(\d+)M\((\d+)M\)")


@dataclass(frozen=True, slots=True)
class TimedBatch:
    """`logged`: the monotonic time of reading its log line; `cpu_seconds`: of all processes until then."""

    rows: int
    seconds: float
    logged: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Landing:
    """The figures of warm batches. `memory_mb`: maximum sum of the proportional set sizes of all processes, in which
    shared pages count once; `heap_mb`, `live_mb`: maximum use of Java's heap before and after a garbage collection."""

    rows_per_second: float
    cpu_us: float
    memory_mb: float
    heap_mb: float
    live_mb: float


class MeasuredJob:
    """A running job. `command` logs a line of JSON for each batch, as `spark-sink run` does."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._collections = directory / "gc.log"
        self._log = directory / "output.log"
        options = f"JAVA_TOOL_OPTIONS=-Xlog:gc:file={self._collections}"
        self.child = Child(["env", options, *command], self._log)
        self._log_position = 0  # bytes of the log read so far
        self._java: psutil.Process | None = None
        self._used: dict[int, float] = {}  # CPU seconds by process
        self._memory_at = 0.0
        self.peak_mb = 0.0

    def batches(self) -> list[TimedBatch]:
        """Return the batches logged since the last call. Raises RuntimeError if the job failed."""
        self.child.check()
        self._sample()
        with self._log.open("rb") as log:
            log.seek(self._log_position)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._log_position += len(whole)
        return batches_of(whole.decode(errors="replace"), time.monotonic(), sum(self._used.values()))

    def _sample(self) -> None:
        """Record CPU and, every MEMORY_INTERVAL seconds, memory of the job's processes."""
        processes = self._processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                self._used[process.pid] = sum(process.cpu_times()[:2])
        if time.monotonic() >= self._memory_at:
            self._memory_at = time.monotonic() + MEMORY_INTERVAL
            self.peak_mb = max(self.peak_mb, sum(map(proportional, processes)) / 1e6)

    def _processes(self) -> list[psutil.Process]:
        try:
            job = psutil.Process(self.child.pid)
            return [job, *job.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def java(self) -> psutil.Process | None:
        """Return the Java process; None before its start and after its end."""
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
        """Return the maximum use of the heap before and after a collection; zeros without Java."""
        return heap_of(self._collections.read_text()) if self._collections.exists() else (0, 0)


@contextmanager
def running(command: Sequence[str], directory: Path) -> Iterator[MeasuredJob]:
    """Run a job, and stop it with SIGTERM on exit of the context."""
    job = MeasuredJob(command, directory)
    try:
        yield job
    finally:
        job.child.end()


def measure(command: Sequence[str], directory: Path, timeout: float = 1800.0) -> Landing:
    """Measure a job until it exits. Raises RuntimeError with the end of its output if it fails."""
    deadline = time.monotonic() + timeout
    batches: list[TimedBatch] = []
    with running(command, directory) as job:
        while not job.ended():
            batches += job.batches()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the job still runs after {timeout:.0f} s: {command}")
            time.sleep(POLL_INTERVAL)
        batches += job.batches()
    rate, cpu_us = warm(batches)
    return Landing(rate, cpu_us, job.peak_mb, *job.heap_mb())


def proportional(process: psutil.Process) -> int:
    """Return the proportional set size of a process in bytes; 0 if it has exited."""
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return int(process.memory_full_info().pss)
    return 0


def _is_spark(command: list[str]) -> bool:
    """Return True for Spark's JVM, but not for the launcher, a JVM that only prints the command of the former."""
    return MAIN in command and LAUNCHER not in command


def batches_of(log: str, logged: float, cpu_seconds: float) -> list[TimedBatch]:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [
        TimedBatch(line["rows_in"], line["seconds"], logged, cpu_seconds)
        for line in lines
        if line["message"] == "batch" and line["rows_in"]
    ]


def warm(batches: Sequence[TimedBatch]) -> tuple[float, float]:
    """Return rows per second and CPU microseconds per row, without the first batches and the small last one.

    Raises RuntimeError if there are too few batches.
    """
    largest = max((batch.rows for batch in batches), default=0)
    whole = [batch for batch in batches if batch.rows > largest / 2]
    cold = max(1, round(len(whole) * COLD))
    counted = whole[cold:]
    if not counted:
        raise RuntimeError(f"{len(whole)} batches are too few: the first ones are excluded, in which Java compiles")
    rows = sum(batch.rows for batch in counted)
    used = counted[-1].cpu_seconds - whole[cold - 1].cpu_seconds
    return rows / sum(batch.seconds for batch in counted), used / rows * 1e6


def heap_of(collections: str) -> tuple[float, float]:
    """Return the maximum use before and after a collection from a log of -Xlog:gc; zeros without collections."""
    pauses = [(int(before), int(after)) for before, after, _ in PAUSE.findall(collections)]
    return max((before for before, _ in pauses), default=0), max((after for _, after in pauses), default=0)
