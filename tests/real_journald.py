"""A real journald with a journal of its own: in a mount namespace, in which /run is empty. It needs root, and systemd's
programs."""

import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

JOURNALD = next(
    (
        path
        for path in map(Path, ("/lib/systemd/systemd-journald", "/usr/lib/systemd/systemd-journald"))
        if path.exists()
    ),
    None,
)
# Messages of the kernel are left out: /dev/kmsg would have those of this machine.
IN_NAMESPACE = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal && mount --bind /dev/null /dev/kmsg
exec "$0"
"""
PATIENCE = 30.0


class RealJournal:
    """Has the methods of `fake_journalctl.Journal`."""

    def __init__(self) -> None:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_NAMESPACE, str(JOURNALD)]
        self._journald = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run = Path("/proc") / str(self._journald.pid) / "root" / "run"
        self._socket = run / "systemd" / "journal" / "socket"
        self._journals = run / "log" / "journal"
        deadline = time.monotonic() + PATIENCE
        while not self._is_up():
            if self._journald.poll() is not None or time.monotonic() > deadline:
                self.close()
                pytest.skip("no journald can be started in a namespace here")
            time.sleep(0.01)
        self.program = shutil.which("journalctl")
        self.pid = self._journald.pid
        (self.directory,) = self._journals.iterdir()

    def _is_up(self) -> bool:
        try:
            return self._socket.exists() and any(self._journals.iterdir())
        except OSError:
            return False

    def log(self, *messages: Any, **fields: Any) -> None:
        """Log entries. A field that is a list is given several times."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.connect(str(self._socket))
            for message in messages:
                client.send(b"".join(_field(name, value) for name, value in {"MESSAGE": message, **fields}.items()))

    def rotate(self) -> None:
        before = len(list(self.directory.iterdir()))
        self._journald.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + PATIENCE
        while len(list(self.directory.iterdir())) == before and time.monotonic() < deadline:
            time.sleep(0.01)

    def vacuum(self) -> None:
        """Delete all files that were rotated."""
        for path in self.directory.glob("*@*.journal"):
            path.unlink()

    def close(self) -> None:
        self._journald.kill()
        self._journald.wait()


def journalctls(directory: Path) -> list[int]:
    """Return the processes that read the journal in a directory."""
    pids = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and str(directory).encode() in (process / "cmdline").read_bytes():
                pids.append(int(process.name))
        except OSError:
            continue
    return pids


def _field(name: str, value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join(_field(name, item) for item in value)
    raw = value if isinstance(value, bytes) else str(value).encode()
    if b"\n" in raw:
        return name.encode() + b"\n" + struct.pack("<Q", len(raw)) + raw + b"\n"
    return name.encode() + b"=" + raw + b"\n"
