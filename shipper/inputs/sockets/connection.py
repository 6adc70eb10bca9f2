"""Represent a connection of a peer, and its sender."""

import fcntl
import socket
import ssl
import struct
import sys
import termios
from collections.abc import Callable
from contextlib import suppress

from log_shipper.shipper.event import Doc, Source
from log_shipper.shipper.inputs.sockets.framing import Framing
from log_shipper.shipper.inputs.sockets.listening import SocketListener
from log_shipper.shipper.inputs.sockets.system_calls import StreamReader, written

_CREDENTIALS = struct.Struct("3i")


class Connection:
    """A connection. `framing` and `source` belong to the reading thread, everything else to the receiver. `peer` names
    the other end in messages, `sender` is the log.source of its events. `active`: monotonic time of the last bytes."""

    __slots__ = ("active", "framing", "is_refused", "is_secured", "peer", "place", "sender", "socket", "source")

    def __init__(
        self, accepted: socket.socket, address: tuple[str, int], listener: SocketListener, framing: Framing, now: float
    ) -> None:
        """Take the `accepted` socket, possibly TLS, and the peer's `address`, which the socket no longer knows once the
        peer has left."""
        self.socket = accepted
        self.place = listener.place
        self.framing = framing
        self.active = now
        self.is_secured = not self.is_encrypted
        self.is_refused = False
        self.source: Source | None = None
        self.peer, self.sender = _named(*address[:2]) if listener.named else _credentials(accepted)

    @property
    def is_encrypted(self) -> bool:
        return isinstance(self.socket, ssl.SSLSocket)

    @property
    def waiting(self) -> int:
        """Return the number of unread bytes in the kernel."""
        size = bytearray(4)
        fcntl.ioctl(self.socket.fileno(), termios.FIONREAD, size)
        return int.from_bytes(size, sys.byteorder)

    def handshake(self) -> None:
        """Continue the handshake. Raises SSLWantReadError and SSLWantWriteError while it is not done, and OSError."""
        assert isinstance(self.socket, ssl.SSLSocket)
        self.socket.do_handshake()
        self.is_secured = True

    def read(self, reader: StreamReader) -> bytes | None:
        """Return received bytes, b"" at the end, None if there is nothing now. Raises OSError."""
        if not isinstance(self.socket, ssl.SSLSocket):
            return reader.read(self.socket.fileno())
        try:
            return self.socket.recv(reader.size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def close(self) -> None:
        with suppress(OSError):
            self.socket.close()


MakeFraming = Callable[[], Framing]


def _named(host: str, port: int) -> tuple[str, Doc]:
    address = written(host, port)
    return address, {"address": address}


def _credentials(accepted: socket.socket) -> tuple[str, Doc]:
    """Return the process at the other end of a unix socket, as it was when it connected."""
    pid, uid, gid = _CREDENTIALS.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return f"process {pid} of user {uid}", {"pid": pid, "uid": uid, "gid": gid}
