"""Listening sockets: at an address, or at a path where only the agent's own user may connect."""

import errno
import os
import socket
import stat
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

MAX_PATH_LENGTH = 107  # bytes of sockaddr_un.sun_path, without the final NUL
BACKLOG = 64  # connections that wait to be accepted
PROBE_SECONDS = 0.5


def listen_on(host: str, port: int) -> socket.socket:
    """Listen on the host's first address, preferably IPv4, as Filebeat does. Raises OSError."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = min(infos, key=lambda info: info[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Return True if only this machine can connect."""
    return ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def check_length(path: Path, *others: Path) -> None:
    """Raise OSError with a message if a socket at one of the paths could not be created or reached."""
    length = max(len(os.fsencode(name)) for name in (path, *others))
    if length > MAX_PATH_LENGTH:
        raise OSError(
            errno.ENAMETOOLONG,
            f"path of a unix socket is too long: {length} bytes, maximum {MAX_PATH_LENGTH}",
            str(path),
        )


class SocketFile:
    """A unix socket with mode 0600, which replaces one that no process serves."""

    def __init__(self, path: Path) -> None:
        """Listen. Raises OSError with a message if the path is too long, is not a socket, or is served by another
        process.
        """
        self._path = path
        check_length(path, path.with_name(".ffffffff"))
        _check_free(path)
        # Created under another name and renamed, so that no other process considers it stale before it listens.
        made = path.with_name(f".{os.getpid():x}")
        made.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.bind(str(made))
            made.chmod(0o600)  # before it listens: until then no one can connect
            self.socket.listen(BACKLOG)
            self._inode = made.stat().st_ino
            made.rename(path)
        except OSError:
            self.socket.close()
            with suppress(OSError):
                made.unlink()
            raise

    def remove(self) -> None:
        """Remove the socket file, unless another process replaced it."""
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()


def _check_free(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "is not a socket and is not replaced: remove it", str(path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return
        except (TimeoutError, BlockingIOError):
            pass  # its backlog is full: a process serves it
    raise OSError(errno.EADDRINUSE, "in use by another process", str(path))
