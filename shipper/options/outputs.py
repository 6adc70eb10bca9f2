"""Where the shipper sends: exactly one of `output.kafka`, `output.console`, `output.file`."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, file_mode, not_blank
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.codec import CodecConfig, JsonCodec
from log_shipper.shipper.options.kafka import KafkaOutputConfig

ENABLED: dict[str, Any] = {"doc": "Whether this output is used."}
_CODEC: dict[str, Any] = {"doc": "How records are written."}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOutputConfig:
    ignored: ClassVar = filebeat.CONSOLE_IGNORED
    enabled: bool = field(default=True, metadata=ENABLED)
    pretty: bool = field(default=False, metadata={"doc": "Writes each record over several indented lines."})
    codec: CodecConfig = field(default_factory=CodecConfig, metadata=_CODEC)

    def remarks(self) -> Iterator[Finding]:
        if self.pretty and self.codec.format is not None:
            yield "pretty", "has no effect: codec.format writes texts"

    def converted(self) -> "ConsoleOutputConfig":
        """Return the output with one option for what Filebeat has two names for."""
        if not self.pretty or self.codec.format is not None:
            return replace(self, pretty=False)
        json = replace(self.codec.json or JsonCodec(), pretty=True)
        return replace(self, pretty=False, codec=CodecConfig(json=json))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutputConfig:
    enabled: bool = field(default=True, metadata=ENABLED)
    path: str = field(metadata={"doc": "The directory of the file.", "check": not_blank})
    filename: str = field(
        default="shipper", metadata={"doc": "The file's name. Only one agent writes to it.", "check": not_blank}
    )
    rotate_every_kb: int | None = field(
        default=None,
        metadata={
            "doc": "How large the file may become: then it is renamed to filename.1, and so are those before it, up to "
            "number_of_files. Not rotated when absent. A single batch may make it larger.",
            "unit": "KiB",
            "min": 1,
        },
    )
    number_of_files: int = field(
        default=7,
        metadata={
            "doc": "How many rotated files are kept; the oldest is deleted for a new one.",
            "min": 2,
            "max": 1024,
        },
    )
    permissions: str = field(default="0600", metadata={"doc": "The mode of a new file.", "check": file_mode})
    rotate_on_startup: bool | None = field(
        default=None,
        metadata={"doc": "Whether a start rotates a file that exists; when absent, it does with rotate_every_kb."},
    )
    codec: CodecConfig = field(default_factory=CodecConfig, metadata=_CODEC)

    @property
    def rotates_on_start(self) -> bool:
        return self.rotate_every_kb is not None if self.rotate_on_startup is None else self.rotate_on_startup

    def files(self) -> list[str]:
        """Return the paths that are written: the file, and the names that rotation gives it."""
        path = os.path.join(self.path, self.filename)
        rotates = self.rotates_on_start or self.rotate_every_kb is not None
        return [path, *(f"{path}.{number}" for number in range(1, self.number_of_files + 1) if rotates)]


AnyOutput = KafkaOutputConfig | ConsoleOutputConfig | FileOutputConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    not_yet: ClassVar = filebeat.OUTPUT_NOT_YET
    explain: ClassVar = tuple(filebeat.OUTPUT_NOT_YET)
    kafka: KafkaOutputConfig | None = field(default=None, metadata={"doc": "A Kafka topic."})
    console: ConsoleOutputConfig | None = field(
        default=None, metadata={"doc": "Standard output, one JSON record per line."}
    )
    file: FileOutputConfig | None = field(default=None, metadata={"doc": "A file, one JSON record per line, fsynced."})

    @property
    def chosen(self) -> AnyOutput:
        """Return the enabled output; a section with `enabled: false` stays in its attribute."""
        return next(output for _, output in self._enabled())

    @property
    def kind(self) -> str:
        """Return the name of the enabled output's section."""
        return next(name for name, _ in self._enabled())

    @property
    def to_kafka(self) -> KafkaOutputConfig | None:
        """Return the enabled output if it is Kafka."""
        return self.kafka if self.kind == "kafka" else None

    def check(self) -> Iterator[Finding]:
        enabled = [name for name, _ in self._enabled()]
        if not enabled:
            yield "", "no output is enabled; enable exactly one of output.kafka, output.console, output.file"
        for name in enabled[1:]:
            yield name, f"output.{enabled[0]} is enabled too; enable exactly one output"

    def _enabled(self) -> Iterator[tuple[str, AnyOutput]]:
        for name, output in (("kafka", self.kafka), ("console", self.console), ("file", self.file)):
            if output is not None and output.enabled:
                yield name, output
