"""Read from sockets without releasing the interpreter's lock.

Each read of the `socket` module releases it, and takes it again: beside a busy reading thread that costs up to the
switch interval (half a millisecond) for each datagram. These calls never block, so nothing waits for them; and one of
them reads many datagrams.
"""

import ctypes
import errno
import os
import socket
import sys
from typing import NamedTuple

_LIBC = ctypes.PyDLL(None, use_errno=True)
_NAME_SIZE = 28  # of sockaddr_in6
_BUFFER = 2 * 1024 * 1024
_MAX_DATAGRAMS, _MIN_DATAGRAMS = 256, 16  # datagrams per call
_AGAIN = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR})


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """The struct mmsghdr."""

    _fields_ = (("header", _Header), ("length", ctypes.c_uint32))


class Datagrams(NamedTuple):
    """Received datagrams. `lengths` are those that were sent: longer than the text if it was truncated. `names`: the
    senders as sockaddr; one for all of them, or one for each; none if senders have no name."""

    texts: list[bytes]
    lengths: list[int]
    names: list[bytes]


NOTHING = Datagrams([], [], [])


class DatagramReader:
    """The reader of one socket's datagrams of at most `limit` bytes. `named`: it is an internet socket, whose senders
    have an address. Not for several: the kernel replaces the lengths of names by those of the socket's IP version."""

    def __init__(self, limit: int, *, named: bool) -> None:
        self._count = count = max(_MIN_DATAGRAMS, min(_MAX_DATAGRAMS, _BUFFER // limit))
        self._limit = limit
        self._named = named
        self._buffer = bytearray(limit * count)
        self._names = bytearray(_NAME_SIZE * count)
        self._messages = (_Message * count)()
        self._vectors = (_Vector * count)()
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))
        names = ctypes.addressof(ctypes.c_char.from_buffer(self._names))
        for index, (message, vector) in enumerate(zip(self._messages, self._vectors, strict=True)):
            vector.base, vector.length = base + index * limit, limit
            message.header.vectors, message.header.vector_count = ctypes.pointer(vector), 1
            if named:
                message.header.name, message.header.name_length = names + index * _NAME_SIZE, _NAME_SIZE
        self._sizes = memoryview(self._messages).cast("B").cast("I")
        self._stride = ctypes.sizeof(_Message) // 4
        self._first = _Message.length.offset // 4

    def read(self, fd: int) -> Datagrams:
        """Return received datagrams, up to some hundred. Raises OSError, but not one caused by a datagram sent
        earlier."""
        count = _LIBC.recvmmsg(fd, self._messages, self._count, socket.MSG_DONTWAIT | socket.MSG_TRUNC, None)
        if count < 0:
            number = ctypes.get_errno()
            if number in _AGAIN:
                return NOTHING
            raise OSError(number, os.strerror(number))
        first, stride, limit = self._first, self._stride, self._limit
        lengths = self._sizes[first : first + (count - 1) * stride + 1 : stride].tolist()
        content = memoryview(self._buffer)
        texts = [
            bytes(content[start : start + length])
            for start, length in zip(range(0, count * limit, limit), lengths, strict=True)
        ]
        if max(lengths) > limit:
            texts = [text[:limit] for text in texts]
        return Datagrams(texts, lengths, self._senders(count))

    def _senders(self, count: int) -> list[bytes]:
        if not self._named:
            return []
        names, size = self._names, _NAME_SIZE
        first = bytes(names[:size])
        if names[: count * size] == first * count:
            return [first]
        return [bytes(names[index : index + size]) for index in range(0, count * size, size)]


class StreamReader:
    """The reader of a connection."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._buffer = bytearray(size)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))

    def read(self, fd: int) -> bytes | None:
        """Return the next bytes, b"" at the end, None if there are none for now. Raises OSError."""
        count = _LIBC.recv(fd, ctypes.c_void_p(self._address), ctypes.c_size_t(self.size), socket.MSG_DONTWAIT)
        if count < 0:
            number = ctypes.get_errno()
            if number in _AGAIN:
                return None
            raise OSError(number, os.strerror(number))
        return bytes(memoryview(self._buffer)[:count])


_LIBC.recv.restype = ctypes.c_ssize_t


def address_of(name: bytes) -> str:
    """Return a sender's address as Filebeat writes it: 192.0.2.1:514, or [2001:db8::1]:514."""
    family = int.from_bytes(name[:2], sys.byteorder)
    port = int.from_bytes(name[2:4], "big")
    if family == socket.AF_INET:
        return f"{socket.inet_ntop(family, name[4:8])}:{port}"
    return written(socket.inet_ntop(socket.AF_INET6, name[8:24]), port)


def written(host: str, port: int) -> str:
    """Return host and port; an IPv4 address at an IPv6 socket is shown as IPv4."""
    host = host.removeprefix("::ffff:") if "." in host else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
