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
    """Seconds of processor time, user and system, and the largest resident memory in MB."""

    cpu_seconds: float
    memory_mb: float


def resident_mb(pid: int | None = None) -> float:
    """Return the resident memory of a process, or of this one, in MB."""
    return _memory_mb("VmRSS", pid)


def peak_mb(pid: int | None = None) -> float:
    """Return the peak resident memory in MB. The kernel's ru_maxrss counts the parent's memory at the fork."""
    return _memory_mb("VmHWM", pid)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far, its threads and children included, those that ended, too. Raises OSError
    if it has ended itself."""
    clock = ~pid << 3 | 2  # as clock_getcpuclockid(3) has it: of all threads, in ns, where /proc/PID/stat counts 10 ms
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended = sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(clock) + ended + sum(map(_cpu_seconds_of_child, _children(pid)))


def _cpu_seconds_of_child(pid: int) -> float:
    with suppress(OSError):  # it has just ended
        return cpu_seconds(pid)
    return 0.0


def _children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # the thread has just ended
            yield from map(int, (task / "children").read_text().split())


def _memory_mb(name: str, pid: int | None) -> float:
    """Return a figure of a process, 0 if it has ended and was not waited for."""
    status = Path(f"/proc/{pid or 'self'}/status").read_text()
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:")) / 1024


class Child:
    """A measured process, its output in a file; `end` waits for it, after a SIGTERM unless it ends by itself: then its
    memory is that at the last `check`."""

    def __init__(self, command: list[str], log: Path, *, exits: bool = False) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        self._log = log
        self._exits = exits
        self._peak_mb = 0.0

    def check(self) -> None:
        """Raise RuntimeError with the end of its output if it has failed."""
        self._peak_mb = max(self._peak_mb, peak_mb(self.pid))
        done = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if done is not None and done.si_status != 0:
            raise RuntimeError(f"{self._process.args!r} failed:\n{self._log.read_text(errors='replace')[-2000:]}")

    def cpu_seconds(self) -> float:
        """Return the CPU time of it and its children so far."""
        return cpu_seconds(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def memory_mb(self) -> float:
        """Return the resident memory now."""
        return resident_mb(self._process.pid)

    def threads(self) -> int:
        """Return how many threads it has now."""
        return len(os.listdir(f"/proc/{self._process.pid}/task"))

    def open_files(self) -> int:
        """Return how many descriptors of any kind it has open."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def kill(self) -> None:
        """End it after a failure. Does nothing once `end` was called."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def end(self, how: int = signal.SIGTERM) -> Cost:
        self._peak_mb = max(self._peak_mb, peak_mb(self.pid))
        if not self._exits:
            os.kill(self._process.pid, how)
        _, _, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = 0  # wait4 took it: subprocess must not wait again
        return Cost(usage.ru_utime + usage.ru_stime, self._peak_mb)
