"""The processor `cache`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration, Size
from log_shipper.shipper.options.processors.base import ProcessorConfig

_KEY: dict[str, Any] = {"check": not_blank, "doc": "The field with the key, which is a text."}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBackendConfig:
    id: str = field(metadata={"check": not_blank, "doc": "The cache's name; processors with the same name share it."})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBackendConfig:
    id: str = field(
        metadata={
            "check": not_blank,
            "doc": "The cache's name, and that of its file in path.data; processors with the same name share it.",
        }
    )
    write_interval: Duration = field(
        default=0.0,
        metadata={
            "doc": "How often the file is written while the shipper runs; 0 for only when it stops, so that a crash "
            "takes what was put since the start.",
            "unit": "seconds",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBackendConfig:
    ignored: ClassVar = {"eviction_effort": "entries that have expired are all removed"}
    memory: MemoryBackendConfig | None = field(default=None, metadata={"doc": "A cache that is empty at each start."})
    file: FileBackendConfig | None = field(default=None, metadata={"doc": "A cache that is kept in a file."})
    capacity: int = field(
        default=0,
        metadata={
            "doc": "The most entries; those that expire first are removed for new ones. Without a limit when 0; "
            "`max_bytes` holds in any case.",
        },
    )
    max_bytes: Size = field(
        default=64 * 1024**2,
        metadata={"doc": "The most memory that keys and values take, about.", "unit": "bytes", "min": 1024},
    )

    def check(self) -> Iterator[Finding]:
        if (self.memory is None) == (self.file is None):
            yield "", "needs one of 'memory.id' and 'file.id'" + ("" if self.memory is None else ", not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePutConfig:
    key_field: str = field(metadata=_KEY)
    value_field: str = field(metadata={"check": not_blank, "doc": "The field with the value."})
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
    """Keeps a value of an event under a key (`put`), adds it to other events (`get`), or removes it (`delete`). The
    order of the events decides: one after the other passes from the first to the last processor of a cache, unless a
    `dns` is between these."""

    name: ClassVar = "cache"
    backend: CacheBackendConfig = field(
        metadata={"doc": "Where values are kept.", "missing": "name backend.memory.id or backend.file.id"}
    )
    put: CachePutConfig | None = field(default=None, metadata={"doc": "Keeps the value of a field."})
    get: CacheGetConfig | None = field(default=None, metadata={"doc": "Writes the value of a key to a field."})
    delete: CacheDeleteConfig | None = field(default=None, metadata={"doc": "Removes a key and its value."})
    ignore_missing: bool = field(
        default=True, metadata={"doc": "Whether an event without the fields of the key or value is not an error."}
    )
    ignore_failure: bool = field(
        default=False, metadata={"doc": "Whether a key without a value, and any other error of an event, is ignored."}
    )
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether `get` overwrites an existing field."})

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("put", "get", "delete") if getattr(self, name) is not None]
        if len(given) != 1:
            yield "", "needs one of 'put', 'get' and 'delete'" + (f", not {' and '.join(given)}" if given else "")
