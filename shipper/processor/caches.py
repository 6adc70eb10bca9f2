"""The caches of the processor `cache`, by name, shared by all processors with that name.

Values are kept as JSON: their size is known, and no event can change them. Times are wall clock times, because a cache
may be kept in a file. Only the reading thread changes a cache; the file-writing thread copies its entries, which is one
step of the interpreter.
"""

import heapq
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from log_shipper.runtime.disk import make_directory, read_file, replace_file
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.processor.fields import MISSING

logger = logging.getLogger(__name__)

Entry = tuple[float, str]  # expiry, and the value as JSON
ENTRY_BYTES = 300  # memory of the objects around a key and its value
_SPARE = 100


class Cache:
    def __init__(self, clock: Clock) -> None:
        self.entries: dict[str, Entry] = {}
        self.version = 0  # changes with the content
        self._clock = clock
        self._capacity = 0
        self._max_bytes = 64 * 1024**2
        self._bytes = 0
        # The entries by expiry, including some replaced or removed ones.
        self._expiring: list[tuple[float, str]] = []

    def set_limits(self, capacity: int, max_bytes: int) -> None:
        self._capacity, self._max_bytes = capacity, max_bytes

    def put(self, key: str, value: Any, ttl: float) -> None:
        self._store(key, json.dumps(value, default=_text), self._clock.time() + ttl)

    def get(self, key: str) -> Any:
        """Return the value, owned by the caller, or MISSING."""
        entry = self.entries.get(key)
        if entry is None or entry[0] <= self._clock.time():
            return MISSING
        return json.loads(entry[1])

    def delete(self, key: str) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self._bytes -= _size(key, entry[1])
            self.version += 1

    def load(self, key: str, written: str, expires: float) -> None:
        if expires > self._clock.time():
            self._store(key, written, expires)

    def _store(self, key: str, written: str, expires: float) -> None:
        self.delete(key)
        self.version += 1
        self.entries[key] = expires, written
        self._bytes += _size(key, written)
        heapq.heappush(self._expiring, (expires, key))
        self._make_room()

    def _make_room(self) -> None:
        """Remove expired entries, then those that expire first, until the limits hold."""
        now = self._clock.time()
        while self._expiring and (self._expiring[0][0] <= now or self._is_full()):
            expires, key = heapq.heappop(self._expiring)
            entry = self.entries.get(key)
            if entry is not None and entry[0] == expires:
                self.delete(key)
        if len(self._expiring) > 2 * len(self.entries) + _SPARE:
            self._expiring = [(expires, key) for key, (expires, _) in self.entries.items()]
            heapq.heapify(self._expiring)

    def _is_full(self) -> bool:
        return self._bytes > self._max_bytes or 0 < self._capacity < len(self.entries)


def _size(key: str, written: str) -> int:
    return 4 * len(key) + len(written) + ENTRY_BYTES


def _text(value: Any) -> str:
    """Return bytes, as from `decode_base64_field`, as a record writes them."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Caches:
    """All caches. `directory` has their files; without it, file caches begin empty, and nothing is written."""

    def __init__(self, clock: Clock, directory: Path | None = None) -> None:
        self._clock = clock
        self._directory = directory
        self._in_memory: dict[str, Cache] = {}
        self._in_files: dict[str, CacheFile] = {}

    def in_memory(self, name: str) -> Cache:
        return self._in_memory.setdefault(name, Cache(self._clock))

    def in_file(self, name: str, write_interval: float) -> Cache:
        """Return the cache. Raises StartError if its file cannot be read, or cannot be written later."""
        if name not in self._in_files:
            path = None if self._directory is None else self._directory / f"{quote(name, safe='')}.ndjson"
            self._in_files[name] = CacheFile(Cache(self._clock), path)
        file = self._in_files[name]
        file.write_every(write_interval)
        return file.cache

    def close(self) -> None:
        """Write changed caches. Raises nothing."""
        for file in self._in_files.values():
            file.close()


class CacheFile:
    """A cache with its file: one JSON object per line, replaced as a whole."""

    def __init__(self, cache: Cache, path: Path | None) -> None:
        self.cache = cache
        self._path = path
        self._interval = 0.0
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        if path is not None:
            self._read(path)
        self._written = cache.version

    def _read(self, path: Path) -> None:
        try:
            make_directory(path.parent, 0o750, owned_as_parent=True)
            lines = read_file(path).splitlines() if path.exists() else []
        except (OSError, Misplaced) as error:
            raise StartError(
                f"processor cache: cannot use {path}: {error}. Give the shipper's user read and write access "
                f"to {path.parent}, or use backend.memory"
            ) from error
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                self.cache.load(str(entry["key"]), json.dumps(entry["val"]), float(entry["expires"]))
            except (ValueError, KeyError, TypeError):
                logger.warning("%s: line %d is damaged: its cache entry is skipped", path, number)

    def write_every(self, interval: float) -> None:
        """Write changes at this interval from now on, on a thread; never if it is 0."""
        self._interval = interval
        if interval > 0 and self._thread is None and self._path is not None:
            self._thread = threading.Thread(target=self._write_periodically, name="cache", daemon=True)
            self._thread.start()

    def _write_periodically(self) -> None:
        while not self._stopping.wait(self._interval or 1.0):
            if self._interval > 0:
                self.write()

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self.write()

    def write(self) -> None:
        version = self.cache.version
        if self._path is None or version == self._written:
            return
        try:
            replace_file(self._path, "".join(_lines(list(self.cache.entries.items()))).encode("ascii"))
        except OSError as error:
            logger.warning(
                "cannot write the cache file %s: %s. Retrying; until then a restart begins with the previous content",
                self._path,
                error.strerror,
            )
            return
        self._written = version


def _lines(entries: list[tuple[str, Entry]]) -> Iterator[str]:
    for key, (expires, written) in entries:
        yield f'{{"key":{json.dumps(key)},"val":{written},"expires":{expires!r}}}\n'
