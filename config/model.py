"""What the shipper can be told. Names, units and defaults are Filebeat's where it has the option."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config import filebeat
from config.inputs import (
    CloseConfig,
    Finding,
    InputConfig,
    MultilineConfig,
    ParserConfig,
    ProspectorConfig,
    ScannerConfig,
    StateChangeConfig,
    not_blank,
)
from config.outputs import BackoffConfig, ConsoleOutput, FileOutput, KafkaOutput, OutputConfig, SaslConfig, SslConfig
from config.units import Duration, Size

__all__ = [
    "BackoffConfig",
    "CloseConfig",
    "ConsoleOutput",
    "FileOutput",
    "InputConfig",
    "KafkaOutput",
    "LoggingConfig",
    "MemQueue",
    "MultilineConfig",
    "OutputConfig",
    "ParserConfig",
    "PathConfig",
    "ProspectorConfig",
    "QueueConfig",
    "RegistryConfig",
    "SaslConfig",
    "ScannerConfig",
    "ShipperConfig",
    "SslConfig",
    "StateChangeConfig",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemQueue:
    ignored: ClassVar = filebeat.QUEUE_IGNORED
    events: int = field(
        default=65536, metadata={"doc": "Events read and not yet acknowledged, at most.", "unit": "events", "min": 1}
    )
    bytes: Size = field(default=32 * 1024**2, metadata={"doc": "Their bytes, at most.", "min": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    not_yet: ClassVar = filebeat.QUEUE_NOT_YET
    mem: MemQueue = field(default_factory=MemQueue)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathConfig:
    data: str = field(
        default="data", metadata={"doc": "The directory of the registry and the dead letter.", "check": not_blank}
    )
    home: str | None = field(default=None, metadata={"doc": "Accepted and not used."})
    config: str | None = field(default=None, metadata={"doc": "Accepted and not used."})
    logs: str | None = field(default=None, metadata={"doc": "Accepted and not used: logs go to stderr."})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConfig:
    path: str = field(
        default="registry", metadata={"doc": "The registry's directory, below path.data.", "check": not_blank}
    )
    flush: Duration = field(default=1.0, metadata={"doc": "How often moved positions are written."})
    file_permissions: str = field(default="0600", metadata={"doc": "The mode of the registry's files."})

    def check(self) -> Iterator[Finding]:
        if not re.fullmatch("0?[0-7]{3}", self.file_permissions):
            yield "file_permissions", f"{self.file_permissions!r} must be an octal mode, as in 0600"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingConfig:
    ignored: ClassVar = filebeat.LOGGING_IGNORED
    level: Literal["debug", "info", "warning", "error"] = field(
        default="info", metadata={"doc": "The least that is logged."}
    )
    format: Literal["auto", "text", "json"] = field(
        default="auto", metadata={"doc": "How log lines look; auto is text at a terminal and JSON elsewhere."}
    )


def inputs_agree(inputs: tuple[InputConfig, ...]) -> Iterator[Finding]:
    if not any(each.enabled for each in inputs):
        yield "", "no input is enabled; at least one must be"
    first: dict[str, int] = {}
    for index, each in enumerate(inputs):
        if first.setdefault(each.id, index) != index:
            yield f"[{index}].id", f"{each.id!r} is also the id of input {first[each.id]}; each needs its own"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipperConfig:
    not_yet: ClassVar = filebeat.ROOT_NOT_YET
    ignored: ClassVar = filebeat.ROOT_IGNORED
    inputs: tuple[InputConfig, ...] = field(
        metadata={"key": ("shipper.inputs", "filebeat.inputs"), "doc": "What is read.", "check": inputs_agree}
    )
    output: OutputConfig
    queue: QueueConfig = field(default_factory=QueueConfig)
    path: PathConfig = field(default_factory=PathConfig)
    name: str | None = field(
        default=None, metadata={"doc": "The name of this host in events; the host's own when absent."}
    )
    tags: tuple[str, ...] = field(default=(), metadata={"doc": "Added to each event's `tags`."})
    fields: dict[str, Any] = field(default_factory=dict, metadata={"doc": "Added to each event below `fields`."})
    fields_under_root: bool = field(default=False, metadata={"doc": "Puts `fields` at the top of the event instead."})
    registry: RegistryConfig = field(
        default_factory=RegistryConfig, metadata={"key": ("shipper.registry", "filebeat.registry")}
    )
    shutdown_timeout: Duration = field(
        default=5.0,
        metadata={
            "key": ("shipper.shutdown_timeout", "filebeat.shutdown_timeout"),
            "doc": "How long a stop waits for what is under way.",
        },
    )
    logging: LoggingConfig = field(default_factory=LoggingConfig)
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})  # what was accepted and left out, in words
