"""Access the operating system for this input: child processes, and journal files."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from log_shipper.shipper.inputs.feed import LoopWake
from log_shipper.shipper.inputs.journald.child import Child
from log_shipper.shipper.inputs.journald.options import SYSTEM_JOURNAL, JournaldConfig

HEADER_BYTES = 168
_MACHINE = re.compile(r"[0-9a-f]{32}")  # a directory with the journals of a machine
_PERSISTENT, _VOLATILE = "/var/log/journal", "/run/log/journal"


class Process(Protocol):
    """A process (see `child.Child`). `output` and `errors` are the watched descriptors."""

    output: int
    errors: int

    @property
    def pid(self) -> int: ...

    def read(self) -> bytes | None: ...

    def words(self) -> str | None: ...

    def end(self) -> int | None: ...

    def exit_code(self) -> int | None: ...


class Host(Protocol):
    """The operating system. `wake` watches the output of processes. Called by the reading thread only; a call may take
    as long as a local file system."""

    wake: LoopWake

    def start(self, command: Sequence[str], chroot: str) -> Process:
        """Start a process. Raises OSError, subprocess.SubprocessError."""

    def files(self, config: JournaldConfig, path: str) -> Iterator[str]:
        """Yield the files that journalctl reads for this path of an input, as it sees them, below `chroot`."""

    def header(self, path: str) -> tuple[int, int, bytes]:
        """Return the inode and size of a journal file, and its first bytes. Raises OSError."""

    def inode(self, path: str) -> int:
        """Return the inode of a file. Raises OSError."""


class ThisHost:
    def __init__(self, wake: LoopWake) -> None:
        self.wake = wake

    def start(self, command: Sequence[str], chroot: str) -> Process:
        return Child(command, chroot)

    def files(self, config: JournaldConfig, path: str) -> Iterator[str]:
        root = config.chroot
        for name in _files(root, path, merge=config.merge):
            yield name.removeprefix(root)

    def header(self, path: str) -> tuple[int, int, bytes]:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            header = os.pread(fd, HEADER_BYTES, 0)
            status = os.fstat(fd)  # afterwards: a file grows before its header says so
            return status.st_ino, status.st_size, header
        finally:
            os.close(fd)

    def inode(self, path: str) -> int:
        return os.stat(path).st_ino


def _files(root: str, path: str, *, merge: bool) -> Iterator[str]:
    """Yield the files that journalctl reads: those of a directory, and of its machine directories; of the host's own
    journal those of this machine, and with `merge` of all machines and remote hosts."""
    if path != SYSTEM_JOURNAL:
        if os.path.isdir(root + path):
            yield from _files_in(root + path, _MACHINE)
        else:
            yield from glob.iglob(root + path)
        return
    machine = _machine_id(root)
    of_others = re.compile(rf"{_MACHINE.pattern}|remote") if merge else _MACHINE
    of_machine = of_others if merge else re.compile(re.escape(machine))
    if machine or merge:
        yield from _files_in(root + _PERSISTENT, of_machine)
        yield from _files_in(root + _VOLATILE, of_others)


def _files_in(directory: str, below: re.Pattern[str] | None) -> Iterator[str]:
    """Yield the journal files, or the directory if it cannot be listed."""
    try:
        entries = list(os.scandir(directory))
    except PermissionError:
        yield directory
        return
    except OSError:  # it is missing, or not a directory
        return
    for entry in entries:
        if entry.name.endswith((".journal", ".journal~")):
            yield entry.path
        elif below is not None and below.fullmatch(entry.name):
            yield from _files_in(entry.path, None)


def _machine_id(root: str) -> str:
    try:
        return Path(f"{root}/etc/machine-id").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
