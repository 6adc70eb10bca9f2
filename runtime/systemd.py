"""Notifications to the service manager, as in sd_notify(3): datagrams with lines of NAME=VALUE, sent to the socket that
systemd names in $NOTIFY_SOCKET.
"""

import logging
import os
import socket
from collections.abc import Mapping

logger = logging.getLogger(__name__)

MAX_SEND_SECONDS = 0.5  # seconds; the kernel accepts a datagram at once, unless systemd has stopped reading
MICROSECONDS = 1_000_000
MAX_DIGITS = 20  # systemd's numbers have 64 bits


class Notifier:
    """Sends notifications; does nothing without an address. `watchdog`: seconds without WATCHDOG=1 after which the
    service manager restarts the service; None without a watchdog. Usable from any thread.
    """

    def __init__(self, address: str | None = None, watchdog: float | None = None) -> None:
        """`address`: a path, or with @ in front an abstract name."""
        self.watchdog = watchdog if address else None
        self._address = f"\0{address[1:]}" if address and address[0] == "@" else address
        self._socket: socket.socket | None = None
        self._failed = False

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Notifier":
        """Return the notifier of this process; it does nothing without a service manager."""
        address, watchdog, pid = (environ.get(name, "") for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"))
        if address[:1] not in ("/", "@"):
            return cls()
        # The variables may be inherited from a parent process; the watchdog is then the parent's.
        is_number = watchdog.isdecimal() and len(watchdog) <= MAX_DIGITS
        is_watched = is_number and int(watchdog) > 0 and pid in ("", str(os.getpid()))
        return cls(address, int(watchdog) / MICROSECONDS if is_watched else None)

    def __bool__(self) -> bool:
        """Return True if there is a service manager."""
        return self._address is not None

    def send(self, *lines: str) -> None:
        """Send one notification. Failures are ignored except that the first one is logged: a service must not depend on
        its manager.
        """
        if self._address is None:
            return
        try:
            self._opened().sendto("\n".join(lines).encode(), self._address)
            self._failed = False
        except OSError as error:
            if not self._failed:
                logger.warning("systemd does not accept notifications on its socket %r: %s", self._address, error)
            self._failed = True

    def extend(self, seconds: float) -> None:
        """Ask for `seconds` from now on, if a start or stop would otherwise time out earlier."""
        self.send(f"EXTEND_TIMEOUT_USEC={round(seconds * MICROSECONDS)}")

    def close(self) -> None:
        """Close the socket; a later notification opens another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _opened(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.settimeout(MAX_SEND_SECONDS)
        return self._socket
