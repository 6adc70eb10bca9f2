"""One file, written line by line while it is followed: what following costs, and how late each line is readable."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from bench.appends import stamp_of
from bench.contenders import Contender, ShippingJob
from bench.measure import Child
from bench.topics import follow

SETTLE = 3.0  # seconds for a follower to start and to find the file
GIVE_UP = 30.0


@dataclass(frozen=True, slots=True)
class Followed:
    """`core`: share of one core while the file grew. Delays in seconds, from the write to the consumer; `last` is that
    of the last line."""

    core: float
    p50: float
    p99: float
    last: float


def measure(contender: Contender, job: ShippingJob, rate: float, seconds: float) -> Followed:
    """Write `rate` lines a second for `seconds`. Raises RuntimeError when lines are missing in the end."""
    job.log.write_text("")
    child = Child(contender.command(job), job.directory / "output.log")
    try:
        time.sleep(SETTLE)
        child.check()
        delays, core, last = _run(child, job, rate, seconds)
    finally:
        child.end()
    delays.sort()
    return Followed(core, delays[len(delays) // 2], delays[int(len(delays) * 0.99)], last)


def _run(child: Child, job: ShippingJob, rate: float, seconds: float) -> tuple[list[float], float, float]:
    count = int(rate * seconds)
    ready = threading.Event()
    writer = _LineWriter(job.log, rate, count)
    consumed = follow(job.bootstrap, job.topic, ready.set)
    delays: list[float] = []
    cpu = child.cpu_seconds()
    started = time.monotonic()
    for value, arrived in consumed:
        if ready.is_set() and not writer.is_alive() and not writer.ended:
            writer.start()
        written = stamp_of(value)
        if written is not None:
            delays.append(arrived - written)
        if len(delays) >= count:
            break
        if writer.ended and time.time() - writer.ended > GIVE_UP:
            raise RuntimeError(f"only {len(delays)} of {count} lines came")
    core = (child.cpu_seconds() - cpu) / (time.monotonic() - started)
    return delays, core, arrived - writer.ended


class _LineWriter(threading.Thread):
    """One write for each line, as programs log; in small bursts where the rate is too high to sleep in between."""

    def __init__(self, path: Path, rate: float, count: int) -> None:
        super().__init__(daemon=True)
        self.ended = 0.0
        self._path = path
        self._rate = rate
        self._count = count

    def run(self) -> None:
        padding = "x" * 100
        started = time.monotonic()
        with self._path.open("ab", buffering=0) as file:
            for number in range(self._count):
                wait = started + number / self._rate - time.monotonic()
                if wait > 0.0005:
                    time.sleep(wait)
                file.write(f"written={time.time():.6f} line={number:08d} {padding}\n".encode())
        self.ended = time.time()
