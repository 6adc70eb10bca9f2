"""The CPU time and the memory of a process."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, user and system, and the maximum resident memory in MB."""

    cpu_seconds: float
    memory_mb: float


def resident_mb(pid: int | None = None) -> float:
    """Return the resident memory of a process, or of this one, in MB."""
    return _memory_mb("VmRSS", pid)


def peak_mb(pid: int | None = None) -> float:
    """Return the peak resident memory in MB. The kernel's ru_maxrss counts the parent's memory at the fork."""
    return _memory_mb("VmHWM", pid)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far, including threads, children and ended children. Raises OSError if the
    process has exited."""
    clock = ~pid << 3 | 2  # as clock_getcpuclockid(3): of all threads, in ns; /proc/PID/stat has steps of 10 ms
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended = sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(clock) + ended + sum(map(_cpu_seconds_of_child, _children(pid)))


def _cpu_seconds_of_child(pid: int) -> float:
    with suppress(OSError):  # just exited
        return cpu_seconds(pid)
    return 0.0


def _children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # the thread just ended
            yield from map(int, (task / "children").read_text().split())


def _memory_mb(name: str, pid: int | None) -> float:
    """Return a memory figure of a process, 0 if it is a zombie."""
    status = Path(f"/proc/{pid or 'self'}/status").read_text()
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:")) / 1024


class Child:
    """A measured process with its output in a file. `end` stops it, or with `exits` waits for it: then its memory is
    that of the last `check`."""

    def __init__(self, command: list[str], log: Path, *, exits: bool = False) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        self._log = log
        self._exits = exits
        self._peak_mb = 0.0

    def check(self) -> None:
        """Raise RuntimeError with the end of its output if it failed."""
        self._peak_mb = max(self._peak_mb, peak_mb(self.pid))
        done = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if done is not None and done.si_status != 0:
            raise RuntimeError(f"{self._process.args!r} failed:\n{self._log.read_text(errors='replace')[-2000:]}")

    def cpu_seconds(self) -> float:
        """Return the CPU time so far, including children."""
        return cpu_seconds(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def memory_mb(self) -> float:
        """Return the current resident memory."""
        return resident_mb(self._process.pid)

    def threads(self) -> int:
        """Return the current number of threads."""
        return len(os.listdir(f"/proc/{self._process.pid}/task"))

    def open_files(self) -> int:
        """Return the number of open descriptors."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def kill(self) -> None:
        """Kill the process after a failure; do nothing after `end`."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def end(self, how: int = signal.SIGTERM) -> Cost:
        self._peak_mb = max(self._peak_mb, peak_mb(self.pid))
        if not self._exits:
            os.kill(self._process.pid, how)
        _, _, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = 0  # wait4 has reaped it: subprocess must not wait again
        return Cost(usage.ru_utime + usage.ru_stime, self._peak_mb)
