"""`cache`: values of events that other events get, by a key that both have."""

from typing import Any

from log_shipper.shipper.options.processors.caching import (
    CacheConfig,
    CacheDeleteConfig,
    CacheGetConfig,
    CachePutConfig,
)
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.caches import Cache
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import value_of
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, path_of


def cached(config: CacheConfig, context: ProcessorContext) -> EventProcessor:
    """Return the processor for one of put, get and delete. Raises StartError for a file that cannot be used."""
    cache = _cache(config, context)
    if config.put is not None:
        cache.limit(config.backend.capacity, config.backend.max_bytes)
        return Put(config.put, cache, ignore_missing=config.ignore_missing)
    if config.get is not None:
        return Get(config.get, cache, ignore_missing=config.ignore_missing, overwrite=config.overwrite_keys)
    assert config.delete is not None, "the configuration was checked"
    return Delete(config.delete, cache, ignore_missing=config.ignore_missing)


def _cache(config: CacheConfig, context: ProcessorContext) -> Cache:
    backend = config.backend
    if backend.file is not None:
        return context.caches.in_file(backend.file.id, backend.file.write_interval)
    assert backend.memory is not None, "the configuration was checked"
    return context.caches.in_memory(backend.memory.id)


class _Keyed:
    """What the three have in common."""

    touches = None  # what they do depends on other events, so it is never shared by those of a file

    def __init__(self, key_field: str, cache: Cache, *, ignore_missing: bool) -> None:
        self._key = path_of(key_field)
        self._key_field = key_field
        self.store = cache
        self._ignore_missing = ignore_missing

    def _key_of(self, event: Event) -> str | None:
        """Return the event's key; None if it is missing and that is not an error. Raises ProcessorError."""
        key: Any = value_of(event, self._key, ignore_missing=self._ignore_missing)
        if key is MISSING:
            return None
        if not isinstance(key, str):
            raise ProcessorError(f"the key {self._key_field} is not a text")
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
            raise ProcessorError(f"there is a field {self._target_field} already; drop it first, or set overwrite_keys")
        key = self._key_of(event)
        if key is None:
            return
        value = self.store.get(key)
        if value is MISSING:
            raise ProcessorError(f"the cache has no value for the {self._key_field} {key[:100]!r}")
        event.put(self._target, value)


class Delete(_Keyed):
    def __init__(self, config: CacheDeleteConfig, cache: Cache, *, ignore_missing: bool) -> None:
        super().__init__(config.key_field, cache, ignore_missing=ignore_missing)

    def apply(self, event: Event) -> None:
        key = self._key_of(event)
        if key is not None:
            self.store.delete(key)
