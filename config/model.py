"""What the shipper can be told. Names, units and defaults are Filebeat's where it has the option."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config import filebeat
from config.checks import Finding, not_blank
from config.container_input import ContainerInput
from config.feeding import feeds_itself
from config.flat_inputs import LogInput, StdinInput
from config.identity import FileIdentityConfig
from config.inputs import (
    CloseConfig,
    DeleteConfig,
    FingerprintConfig,
    InputConfig,
    ProspectorConfig,
    ReaderCloseConfig,
    RemovedCloseConfig,
    ScannerConfig,
    StateChangeConfig,
)
from config.multiline import MultilineConfig
from config.outputs import BackoffConfig, ConsoleOutput, FileOutput, KafkaOutput, OutputConfig, SaslConfig, SslConfig
from config.parsers import ParserConfig
from config.processors import PROCESSORS, AnyProcessor
from config.schema import Kinds
from config.units import Duration, Size

__all__ = [
    "BackoffConfig",
    "CloseConfig",
    "ConsoleOutput",
    "DeleteConfig",
    "FileIdentityConfig",
    "FileOutput",
    "FingerprintConfig",
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
    "ReaderCloseConfig",
    "RegistryConfig",
    "RemovedCloseConfig",
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


# The registry's own module docstring says what they are.
REGISTRY_FILES = ("lock", "log.ndjson", "log.tmp", "checkpoint.ndjson", "checkpoint.tmp")


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
    enabled = [index for index, each in enumerate(inputs) if each.enabled]
    for index in enabled:
        if inputs[index].type == "stdin" and len(enabled) > 1:
            yield f"[{index}].type", "stdin must be the only input that is enabled"


INPUT_KINDS = Kinds(
    "type", {"filestream": InputConfig, "log": LogInput, "container": ContainerInput, "stdin": StdinInput}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipperConfig:
    not_yet: ClassVar = filebeat.ROOT_NOT_YET
    ignored: ClassVar = filebeat.ROOT_IGNORED
    inputs: tuple[InputConfig, ...] = field(
        metadata={
            "key": ("shipper.inputs", "filebeat.inputs"),
            "doc": "What is read.",
            "check": inputs_agree,
            "read_as": INPUT_KINDS,
        }
    )
    output: OutputConfig
    queue: QueueConfig = field(default_factory=QueueConfig)
    path: PathConfig = field(default_factory=PathConfig)
    processors: tuple[AnyProcessor, ...] = field(
        default=(),
        metadata={"doc": "What works on all events, in order, after those of the inputs.", "read_as": PROCESSORS},
    )
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

    def check(self) -> Iterator[Finding]:
        yield from ((f"inputs{below}", message) for below, message in feeds_itself(self.inputs, self.written()))

    def written(self) -> dict[str, str]:
        """Every file that the shipper itself writes -> the option that says where."""
        registry = os.path.join(self.path.data, self.registry.path)
        kept = ("dead_letter.ndjson", "agent_id", "first_start")
        files = {os.path.join(self.path.data, name): "path.data" for name in kept}
        files |= {os.path.join(registry, name): "the registry in path.data" for name in REGISTRY_FILES}
        output = self.output.chosen
        if isinstance(output, FileOutput):
            files[os.path.join(output.path, output.filename)] = "output.file"
        return files
