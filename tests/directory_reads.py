"""Counts how often the processes of this machine list a directory, as the kernel reports it (inotify(7))."""

import ctypes
import os
import struct
from collections import Counter
from collections.abc import Mapping
from typing import Self

_OPEN, _CLOSE_NOWRITE, _ONLYDIR, _ISDIR = 0x20, 0x10, 0x01000000, 0x40000000
_EVENT = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class DirectoryReads:
    """Watches directories by a name of their own. A context manager."""

    def __init__(self, directories: Mapping[str, str]) -> None:
        self._directories = directories
        self._names: dict[int, str] = {}

    def __enter__(self) -> Self:
        self._descriptor = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        for name, path in self._directories.items():
            # Closing is asked for too: of two equal events in a row the kernel reports one.
            mask = _OPEN | _CLOSE_NOWRITE | _ONLYDIR
            self._names[_checked(_libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask))] = name
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def counts(self) -> dict[str, int]:
        """Return how often each directory was opened as such; its files do not count."""
        counts = Counter(dict.fromkeys(self._directories, 0))
        for watch, mask, length in self._events():
            if mask & _OPEN and mask & _ISDIR and not length:
                counts[self._names[watch]] += 1
        return dict(counts)

    def _events(self) -> list[tuple[int, int, int]]:
        events = []
        while data := self._read():
            position = 0
            while position < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, position)
                events.append((watch, mask, length))
                position += _EVENT.size + length
        return events

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return b""


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
