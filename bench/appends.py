"""The delay of single lines that are appended to files, from the write to the consumer."""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Self

from bench.contenders import ShippingJob
from bench.topics import follow

STAMP = re.compile(rb"written=(\d+\.\d+)")
GIVE_UP = 60.0


@dataclass(frozen=True, slots=True)
class Delays:
    """In seconds."""

    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, delays: Sequence[float]) -> Self:
        """Return the figures of the delays. Raises ValueError when there are none."""
        if not delays:
            raise ValueError("no line came")
        ordered = sorted(delays)
        return cls(ordered[len(ordered) // 2], ordered[ceil(len(ordered) * 0.99) - 1], ordered[-1])


def stamped_line() -> bytes:
    return f"written={time.time():.6f} {'x' * 100}\n".encode()


def append(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(stamped_line())


def stamp_of(value: bytes) -> float | None:
    """Return when a record's line was written, or None if it is not a stamped one."""
    match = STAMP.search(value)
    return float(match[1]) if match else None


def appended(job: ShippingJob, check: Callable[[], None], paths: Sequence[Path], pause: float) -> Delays:
    """Append a line to each of `paths`, `pause` seconds apart. Raises RuntimeError when some do not arrive."""
    ready = threading.Event()
    writer = threading.Thread(target=_write, args=(ready, paths, pause), daemon=True)
    writer.start()
    deadline = time.monotonic() + len(paths) * pause + GIVE_UP
    delays: list[float] = []
    for value, arrived in follow(job.bootstrap, job.topic, ready.set):
        written = stamp_of(value)
        if written is not None:
            delays.append(arrived - written)
        if len(delays) == len(paths):
            break
        if time.monotonic() > deadline:
            check()
            raise RuntimeError(f"only {len(delays)} of {len(paths)} appended lines came")
    writer.join()
    return Delays.of(delays)


def _write(ready: threading.Event, paths: Sequence[Path], pause: float) -> None:
    ready.wait()
    time.sleep(0.5)  # the consumer's first fetch is in flight
    for path in paths:
        append(path)
        time.sleep(pause)
