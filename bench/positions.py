"""A registry of many entries: the cost of loading it, and of changing one entry.

python -m bench.positions load|change DIRECTORY       prints the figures as JSON, for the parent process
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from bench.measure import peak_mb, resident_mb
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store

CHANGES = 300
GROUP = 1000  # entries per write


@dataclass(frozen=True, slots=True)
class Loading:
    """CPU seconds of `Store.open` and of `registry.read`; resident memory of the opened store, in MB."""

    open_seconds: float
    read_seconds: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Changing:
    """One changed entry: median and maximum seconds until it is on disk, and its CPU seconds. `peak_mb`: maximum
    memory, including loading."""

    seconds: float
    cpu_seconds: float
    maximum: float
    peak_mb: float


def entry(number: int) -> FileState:
    """Return the entry of a container's log file."""
    return FileState(
        id=f"{number:032x}",
        path=f"/var/log/pods/shop_web-{number:08d}/web/0.log",
        device=65024,
        inode=number + 1,
        fingerprint=(1024, f"{number:024x}"),
        tail_hash=f"{number:024x}",
        position=123_456_789,
        size_seen=123_456_789,
        updated=1_763_000_000.123456,
        input="bench",
    )


def write_registry(directory: Path, count: int) -> None:
    store = Store.open(directory, DiskFiles())
    for start in range(0, count, GROUP):
        store.write([entry(number) for number in range(start, min(start + GROUP, count))])
    store.close()


def load(directory: Path) -> Loading:
    """Measure loading in a separate process. Raises CalledProcessError."""
    return Loading(**_run("load", directory))


def change(directory: Path) -> Changing:
    """Measure changing in a separate process. Raises CalledProcessError."""
    return Changing(**_run("change", directory))


def _run(action: str, directory: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.positions", action, str(directory)]
    figures: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return figures


def _measure_loading(directory: Path) -> Loading:
    before, cpu = resident_mb(), time.process_time()
    store = Store.open(directory, DiskFiles())
    opened = time.process_time() - cpu
    memory = resident_mb() - before
    store.close()
    cpu = time.process_time()
    read(directory)
    return Loading(opened, time.process_time() - cpu, memory)


def _measure_changing(directory: Path) -> Changing:
    store = Store.open(directory, DiskFiles())
    walls, processor = [], []
    for number in range(CHANGES):
        state = replace(entry(number % 10), position=number)
        wall, cpu = time.perf_counter(), time.thread_time()
        store.write([state])
        walls.append(time.perf_counter() - wall)
        processor.append(time.thread_time() - cpu)
    store.close()
    return Changing(median(walls), median(processor), max(walls), peak_mb())


if __name__ == "__main__":
    directory = Path(sys.argv[2])
    figures = _measure_loading(directory) if sys.argv[1] == "load" else _measure_changing(directory)
    print(json.dumps(asdict(figures)))  # noqa: T201
