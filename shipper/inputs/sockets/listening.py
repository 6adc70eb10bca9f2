"""Open the sockets of an input that listens. A failure is a StartError with the action to take."""

import ctypes
import errno
import grp
import logging
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.sockets.options import ListenOptions, TcpOptions, UdpOptions, UnixOptions, host_and_port
from log_shipper.shipper.inputs.sockets.system_calls import written

logger = logging.getLogger(__name__)

BACKLOG = 1024
MAX_PATH_LENGTH = 107  # bytes of sockaddr_un.sun_path, without the NUL after them
FORCED_BUFFER = 33  # SO_RCVBUFFORCE: beyond net.core.rmem_max, with CAP_NET_ADMIN
ATTACH_FILTER = 26  # SO_ATTACH_FILTER: a program that decides how much of a packet is let in
_INSTRUCTION = struct.Struct("HBBI")
_PROGRAM = struct.Struct("HP")
# Drops packets that open a connection: the peer retries after a second, and by then the port is closed, or another
# input listens there. Packets of connections that are being opened pass.
IGNORE_NEW = b"".join(
    _INSTRUCTION.pack(*instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load the byte of TCP's header that has its flags
        (0x45, 0, 1, 0x02),  # if SYN is set go on, else pass over the next one
        (0x06, 0, 0, 0),  # none of it
        (0x06, 0, 0, 0xFFFFFFFF),  # all of it
    )
)
FAMILIES = {"4": socket.AF_INET, "6": socket.AF_INET6}
CAPABILITY = (
    "ports below 1024 need CAP_NET_BIND_SERVICE: add it to AmbientCapabilities and CapabilityBoundingSet of the "
    "unit (systemctl edit shipper), or use another port"
)


@dataclass(slots=True, eq=False)
class SocketListener:
    """A listening socket. `place` names it in messages: "udp 0.0.0.0:514". `named`: its peers have addresses.
    `takes_no_more`: nothing comes beside what the kernel has already."""

    socket: socket.socket
    place: str
    is_stream: bool
    named: bool
    path: str = ""  # of a unix socket, while its file is there
    inode: int = 0
    takes_no_more: bool = False

    def refuse_more(self) -> None:
        """Make the kernel accept nothing more for it; what it has can still be received. A UDP socket keeps taking
        datagrams, which no one would send again."""
        self._remove_file()
        if self.named and self.is_stream:
            program = ctypes.create_string_buffer(IGNORE_NEW)
            described = _PROGRAM.pack(len(IGNORE_NEW) // _INSTRUCTION.size, ctypes.addressof(program))
            with suppress(OSError):  # a sandbox that knows no filters: who connects now may lose what it sends
                self.socket.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, described)
        elif not self.named and not self.is_stream:
            self.socket.shutdown(socket.SHUT_RD)
            self.takes_no_more = True

    def close(self) -> None:
        """Close it, and remove its file. Calling it again does nothing."""
        self._remove_file()
        self.socket.close()

    def _remove_file(self) -> None:
        """Remove the socket file, unless another process replaced it."""
        path, self.path = self.path, ""
        with suppress(OSError):
            if path and os.lstat(path).st_ino == self.inode:
                os.unlink(path)


def listen(options: ListenOptions, input_id: str) -> list[SocketListener]:
    """Return the sockets. Raises StartError; none is left open then."""
    listeners: list[SocketListener] = []
    try:
        for listener in _opened(options):
            listeners.append(listener)
    except _CannotListen as error:
        for listener in listeners:
            listener.close()
        raise StartError(f"input {input_id}: cannot listen at {error}") from error
    return listeners


class _CannotListen(Exception):
    """Raised with the place and the reason."""


def _opened(options: ListenOptions) -> Iterator[SocketListener]:
    match options:
        case UnixOptions():
            yield _unix(options)
        case UdpOptions():
            for address in options.host:
                yield from _internet("udp", address, options.network[3:], options.read_buffer)
        case TcpOptions():
            for address in options.host:
                yield from _internet("tcp", address, options.network[3:], None)


def _internet(protocol: str, address: str, version: str, read_buffer: int | None) -> Iterator[SocketListener]:
    place = f"{protocol} {address}"
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    host, port = host_and_port(address)
    try:
        infos = _addresses(host, port, kind, FAMILIES.get(version, socket.AF_UNSPEC))
        for family, name in infos:
            made = socket.socket(family, kind)
            try:
                _bind(made, name, both=family == socket.AF_INET6 and not version and not host)
                if read_buffer is not None:
                    _set_buffer(made, read_buffer, place)
                if protocol == "tcp":
                    made.listen(BACKLOG)
                made.setblocking(False)
            except OSError:
                made.close()
                raise
            shown = written(*made.getsockname()[:2])
            yield SocketListener(made, f"{protocol} {shown}", protocol == "tcp", named=True)
            break
    except OSError as error:
        raise _CannotListen(f"{place}: {_reason(error, host, port)}") from error


def _addresses(host: str, port: int, kind: int, family: int) -> list[tuple[int, tuple[object, ...]]]:
    """Return the addresses of a host: the first one is used, IPv4 if there is one, as Filebeat does. Without a host, it
    is all addresses of this machine."""
    if not host and family == socket.AF_UNSPEC and socket.has_dualstack_ipv6():
        return [(socket.AF_INET6, ("::", port))]
    infos = socket.getaddrinfo(host or None, port, family, kind, flags=socket.AI_PASSIVE)
    return sorted(((info[0], info[4]) for info in infos), key=lambda address: address[0] != socket.AF_INET)


def _bind(made: socket.socket, name: tuple[object, ...], *, both: bool) -> None:
    if made.type == socket.SOCK_STREAM:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not both))
    made.bind(name)


def _set_buffer(made: socket.socket, size: int, place: str) -> None:
    """Set the size of the kernel's buffer, as far as the system permits."""
    try:
        made.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, size)
    except OSError:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
    if buffer_of(made) < size:
        message = "%s: the kernel limits read_buffer (%d bytes) to %d bytes; raise net.core.rmem_max (sysctl)"
        logger.warning(message, place, size, buffer_of(made))


def buffer_of(listener: socket.socket) -> int:
    """Return the size of the kernel's buffer as in `read_buffer`: the system doubles it for its own needs."""
    return listener.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2


def _reason(error: OSError, host: str, port: int) -> str:
    if isinstance(error, socket.gaierror):
        return f"unknown host {host!r}: {error.strerror}"
    if error.errno == errno.EADDRINUSE:
        return "another process or input uses the address; as root, 'ss -lnp' names the process"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; use 0.0.0.0 for all addresses"
    if error.errno in (errno.EACCES, errno.EPERM) and 0 < port < 1024:
        return CAPABILITY
    return error.strerror or str(error)


def _unix(options: UnixOptions) -> SocketListener:
    path = options.path
    is_stream = options.socket_type == "stream"
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if is_stream else socket.SOCK_DGRAM)
    try:
        _make_room(path, made.type)
        made.bind(path)
        inode = os.lstat(path).st_ino
        try:
            _give_rights(path, options)
            if is_stream:
                made.listen(BACKLOG)
        except (OSError, KeyError):
            os.unlink(path)
            raise
    except KeyError as error:
        made.close()
        raise _CannotListen(
            f"unix {path}: group: {options.group!r} does not exist on this machine; create it, or correct the option"
        ) from error
    except OSError as error:
        made.close()
        raise _CannotListen(f"unix {path}: {_reason_of_path(error, path)}") from error
    made.setblocking(False)
    return SocketListener(made, f"unix {path}", is_stream, named=False, path=path, inode=inode)


def _give_rights(path: str, options: UnixOptions) -> None:
    if options.group is not None:
        os.chown(path, -1, grp.getgrnam(options.group).gr_gid)
    if options.mode is not None:
        os.chmod(path, int(options.mode, 8))


def _make_room(path: str, kind: int) -> None:
    """Remove a socket file that no process serves, and nothing else. Raises OSError."""
    if len(os.fsencode(path)) > MAX_PATH_LENGTH:
        raise OSError(errno.ENAMETOOLONG, f"the path of a unix socket can have at most {MAX_PATH_LENGTH} bytes")
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "the path exists and is not a socket; remove it")
    if _is_served(path, kind):
        raise OSError(
            errno.EADDRINUSE, "another process or input uses the socket; as root, 'ss -lxp' names the process"
        )
    os.unlink(path)


def _is_served(path: str, kind: int) -> bool:
    """Return False only if it is certain that no process has the socket open. Raises OSError."""
    for other in (kind, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, other) as probe:
            probe.setblocking(False)
            try:
                probe.connect(path)
            except (ConnectionRefusedError, FileNotFoundError):
                return False
            except OSError as error:
                if error.errno == errno.EPROTOTYPE:  # someone listens with another kind of socket
                    continue
                if error.errno == errno.EACCES:
                    raise OSError(
                        error.errno, "the existing socket belongs to another user; remove it if it is stale"
                    ) from error
                return True  # its backlog is full: someone serves it
        return True
    return True


def _reason_of_path(error: OSError, path: str) -> str:
    if error.errno == errno.ENOENT:
        return f"the directory {os.path.dirname(path)} does not exist: create it (RuntimeDirectory= of a systemd unit)"
    if error.errno == errno.EACCES and error.strerror == os.strerror(errno.EACCES):
        return f"no permission to create a socket in {os.path.dirname(path) or '.'}"
    return error.strerror or str(error)
