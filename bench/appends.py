"""Single lines, appended to files at an even rate by a separate process: their delay, and the cost.

python -m bench.appends RATE COUNT PATH...      appends lines to the files in turn
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle
from math import ceil
from pathlib import Path
from typing import Self

from bench.contenders import ShippingJob
from bench.measure import Child
from bench.topics import follow

STAMP = re.compile(rb"written=(\d+\.\d+)")
MIN_SLEEP = 0.0005
GIVE_UP = 60.0


@dataclass(frozen=True, slots=True)
class Delays:
    """In seconds."""

    p50: float
    p99: float
    maximum: float

    @classmethod
    def of(cls, delays: Sequence[float]) -> Self:
        """Return the figures of the delays. Raises ValueError if there are none."""
        if not delays:
            raise ValueError("no line arrived")
        ordered = sorted(delays)
        return cls(ordered[len(ordered) // 2], ordered[ceil(len(ordered) * 0.99) - 1], ordered[-1])


@dataclass(frozen=True, slots=True)
class Appended:
    """`delays`: from the write of a line to its arrival; `last`: from the last write to the last arrival, in seconds.
    `core`: share of one core from the first write to the last arrival; `cpu_us`: CPU microseconds per line;
    `memory_mb`: resident memory at the end."""

    delays: Delays
    last: float
    core: float
    cpu_us: float
    memory_mb: float

    @classmethod
    def of(cls, lines: Sequence[tuple[float, float]], cpu: float, memory_mb: float) -> Self:
        """Return the figures of lines by their times of writing and arrival; `cpu`: CPU seconds of the agent."""
        written, arrived = zip(*lines, strict=True)
        delays = Delays.of([after - before for before, after in lines])
        end = max(arrived)
        return cls(delays, end - max(written), cpu / (end - min(written)), cpu / len(lines) * 1e6, memory_mb)


def stamped_line() -> bytes:
    return f"written={time.time():.6f} {'x' * 100}\n".encode()


def append(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(stamped_line())


def stamp_of(value: bytes) -> float | None:
    """Return the time at which a record's line was written, or None if it has no stamp."""
    match = STAMP.search(value)
    return float(match[1]) if match else None


def at_rate(rate: float) -> Iterator[None]:
    """Yield `rate` times per second, in small bursts if the interval is too short to sleep."""
    started, number = time.monotonic(), 0
    while True:
        wait = started + number / rate - time.monotonic()
        if wait > MIN_SLEEP:
            time.sleep(wait)
        yield
        number += 1


def write_lines(paths: Sequence[Path], rate: float, count: int) -> None:
    """Append to the files in turn, with one write per line, as programs log."""
    with ExitStack() as stack:
        files = cycle([stack.enter_context(path.open("ab", buffering=0)) for path in paths])
        for _, _, file in zip(range(count), at_rate(rate), files, strict=False):
            file.write(stamped_line())


def appended(child: Child, job: ShippingJob, paths: Sequence[Path], rate: float, count: int) -> Appended:
    """Append `count` lines to `paths` in turn. Raises RuntimeError if lines are missing."""
    lines: list[tuple[float, float]] = []
    arriving = follow(job.bootstrap, job.topic)
    next(arriving)
    cpu = child.cpu_seconds()
    with subprocess.Popen([sys.executable, "-m", "bench.appends", str(rate), str(count), *map(str, paths)]):
        deadline = time.monotonic() + count / rate + GIVE_UP
        for value, arrived in arriving:
            written = stamp_of(value)
            if written is not None:
                lines.append((written, arrived))
            if len(lines) == count:
                return Appended.of(lines, child.cpu_seconds() - cpu, child.memory_mb())
            if time.monotonic() > deadline:
                break
    child.check()
    raise RuntimeError(f"only {len(lines)} of {count} appended lines arrived")


if __name__ == "__main__":
    write_lines([Path(path) for path in sys.argv[3:]], float(sys.argv[1]), int(sys.argv[2]))
