"""`cache`: keeps values of events under a key, and adds them to other events with that key."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration, Size
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.caches import Cache, Caches
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import value_of
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, path_of

_KEY: dict[str, Any] = {"check": not_blank, "doc": "The field with the key, a string."}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBackendConfig:
    id: str = field(
        metadata={"check": not_blank, "doc": "The name of the cache; processors with the same name share it."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBackendConfig:
    id: str = field(
        metadata={
            "check": not_blank,
            "doc": "The name of the cache and of its file in path.data; processors with the same name share it.",
        }
    )
    write_interval: Duration = field(
        default=0.0,
        metadata={
            "doc": "How often the file is written. With 0 it is written only at shutdown, and a crash loses "
            "the values put since the start.",
            "unit": "seconds",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBackendConfig:
    ignored: ClassVar = {"eviction_effort": "entries that have expired are all removed"}
    memory: MemoryBackendConfig | None = field(
        default=None, metadata={"doc": "A cache in memory, empty at each start."}
    )
    file: FileBackendConfig | None = field(default=None, metadata={"doc": "A cache in a file."})
    capacity: int = field(
        default=0,
        metadata={
            "doc": "The maximum number of entries; those that expire first are removed for new ones. No "
            "limit when 0, except `max_bytes`.",
        },
    )
    max_bytes: Size = field(
        default=64 * 1024**2,
        metadata={"doc": "The approximate maximum memory of keys and values.", "unit": "bytes", "min": 1024},
    )

    def check(self) -> Iterator[Finding]:
        if (self.memory is None) == (self.file is None):
            yield "", "needs one of 'memory.id' and 'file.id'" + ("" if self.memory is None else ", not both")

    def cache(self, caches: Caches) -> Cache:
        """Return the cache. Raises StartError if its file cannot be used."""
        if self.file is not None:
            return caches.in_file(self.file.id, self.file.write_interval)
        assert self.memory is not None, "the configuration was checked"
        return caches.in_memory(self.memory.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePutConfig:
    key_field: str = field(metadata=_KEY)
    value_field: str = field(metadata={"check": not_blank, "doc": "The field with the value to keep."})
    ttl: Duration = field(metadata={"doc": "How long the value is kept.", "unit": "seconds"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheGetConfig:
    key_field: str = field(metadata=_KEY)
    target_field: str = field(metadata={"check": not_blank, "doc": "The field that the value is written to."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheDeleteConfig:
    key_field: str = field(metadata=_KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig(ProcessorConfig):
    """Keeps a value of an event under a key (`put`), adds it to other events (`get`), or removes it (`delete`). Events
    are processed in order: each passes all processors of a cache before the next event does, unless a `dns` is between
    them."""

    name: ClassVar = "cache"
    example: ClassVar = "cache: {backend.memory.id: users, get: {key_field: user.id, target_field: user.name}}"
    backend: CacheBackendConfig = field(
        metadata={"doc": "Where the values are kept.", "missing": "name backend.memory.id or backend.file.id"}
    )
    put: CachePutConfig | None = field(default=None, metadata={"doc": "Keeps the value of a field under a key."})
    get: CacheGetConfig | None = field(default=None, metadata={"doc": "Writes the value of a key to a field."})
    delete: CacheDeleteConfig | None = field(default=None, metadata={"doc": "Removes a key and its value."})
    ignore_missing: bool = field(
        default=True, metadata={"doc": "Whether a missing key or value field is not an error."}
    )
    ignore_failure: bool = field(
        default=False, metadata={"doc": "Whether all errors are ignored, such as a key without a value."}
    )
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether `get` overwrites an existing field."})

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("put", "get", "delete") if getattr(self, name) is not None]
        if len(given) != 1:
            yield "", "needs one of 'put', 'get' and 'delete'" + (f", not {' and '.join(given)}" if given else "")

    def build(self, context: ProcessorContext) -> EventProcessor:
        """Return the processor. Raises StartError if the cache file cannot be used."""
        cache = self.backend.cache(context.caches)
        if self.put is not None:
            cache.set_limits(self.backend.capacity, self.backend.max_bytes)
            return Put(self.put, cache, ignore_missing=self.ignore_missing)
        if self.get is not None:
            return Get(self.get, cache, ignore_missing=self.ignore_missing, overwrite=self.overwrite_keys)
        assert self.delete is not None, "the configuration was checked"
        return Delete(self.delete, cache, ignore_missing=self.ignore_missing)


class _Keyed:
    """The common part of put, get and delete."""

    touches = None  # depends on other events, so the result is never shared by the events of a file

    def __init__(self, key_field: str, cache: Cache, *, ignore_missing: bool) -> None:
        self._key = path_of(key_field)
        self._key_field = key_field
        self.store = cache
        self._ignore_missing = ignore_missing

    def _key_of(self, event: Event) -> str | None:
        """Return the key of the event; None if it may be missing and is. Raises ProcessorError."""
        key: Any = value_of(event, self._key, ignore_missing=self._ignore_missing)
        if key is MISSING:
            return None
        if not isinstance(key, str):
            raise ProcessorError(f"the key {self._key_field} is not a string")
        return key


class Put(_Keyed):
    def __init__(self, config: CachePutConfig, cache: Cache, *, ignore_missing: bool) -> None:
        super().__init__(config.key_field, cache, ignore_missing=ignore_missing)
        self._value = path_of(config.value_field)
        self._ttl = config.ttl

    def apply(self, event: Event) -> None:
        key = self._key_of(event)
        value = value_of(event, self._value, ignore_missing=self._ignore_missing)
        if key is not None and value is not MISSING:
            self.store.put(key, value, self._ttl)


class Get(_Keyed):
    def __init__(self, config: CacheGetConfig, cache: Cache, *, ignore_missing: bool, overwrite: bool) -> None:
        super().__init__(config.key_field, cache, ignore_missing=ignore_missing)
        self._target = path_of(config.target_field)
        self._target_field = config.target_field
        self._overwrite = overwrite

    def apply(self, event: Event) -> None:
        if not self._overwrite and event.get(self._target) is not MISSING:
            raise ProcessorError(f"field {self._target_field} already exists; drop it first, or set overwrite_keys")
        key = self._key_of(event)
        if key is None:
            return
        value = self.store.get(key)
        if value is MISSING:
            raise ProcessorError(f"the cache has no value for {self._key_field} {key[:100]!r}")
        event.put(self._target, value)


class Delete(_Keyed):
    def __init__(self, config: CacheDeleteConfig, cache: Cache, *, ignore_missing: bool) -> None:
        super().__init__(config.key_field, cache, ignore_missing=ignore_missing)

    def apply(self, event: Event) -> None:
        key = self._key_of(event)
        if key is not None:
            self.store.delete(key)
