"""A service manager as the program sees it: the socket that it reports to."""

import secrets
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

MAX_SECONDS = 60.0  # seconds that a process may take to report, on a machine that is busy


class ServiceManager:
    """Receives reports at an abstract address, or at a path. `environment`: what it gives to the service."""

    def __init__(self, path: Path | None = None, watchdog: float | None = None) -> None:
        address = str(path) if path else f"@shipper-test-{secrets.token_hex(8)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address if path else f"\0{address[1:]}")
        self.environment = {"NOTIFY_SOCKET": address}
        if watchdog is not None:
            self.environment["WATCHDOG_USEC"] = str(round(watchdog * 1_000_000))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    @property
    def command(self) -> tuple[str, ...]:
        """What stands before the command of a service."""
        return ("env", *(f"{name}={value}" for name, value in self.environment.items()))

    def reports(self) -> list[list[str]]:
        """Return what has come since the last call: the lines of each report."""
        self._socket.setblocking(False)
        received = []
        while True:
            try:
                received.append(self._socket.recv(65536).decode().split("\n"))
            except BlockingIOError:
                return received

    def await_report(self, start: str, timeout: float = MAX_SECONDS) -> list[str]:
        """Return the next report with a line that begins so; those before it are dropped. Raises TimeoutError."""
        self._socket.settimeout(timeout)
        while True:
            lines = self._socket.recv(65536).decode().split("\n")
            if any(line.startswith(start) for line in lines):
                return lines
