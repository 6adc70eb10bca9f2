"""CPU and memory of the sink's processes on this machine: itself, Java, and Spark's Python processes.

proc(5): a parent's times include those of its ended children.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """`memory`: resident bytes; shared pages count in each process."""

    cpu_seconds: float
    memory: int


def usage(process: int | None = None) -> Usage:
    """Return the usage of a process and its descendants; by default, of this process."""
    cpu, memory = 0, 0
    for pid in _tree(process or os.getpid()):
        with suppress(OSError):  # it has just ended
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            cpu += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
            memory += int(fields[21]) * _PAGE
    return Usage(cpu / _TICKS, memory)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))
