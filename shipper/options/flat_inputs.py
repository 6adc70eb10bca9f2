"""The input types with Filebeat's older flat option names: `log`, `container` and `stdin`. Each is converted to an
InputConfig.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.encodings import check_terminator
from log_shipper.config.text.patterns import Pattern
from log_shipper.config.text.units import Duration, DurationOrNever, Size
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.identity import FileIdentityConfig, FileIdentitySection
from log_shipper.shipper.options.input_ids import derived_id
from log_shipper.shipper.options.inputs import (
    CLEAN_INACTIVE,
    CLEAN_REMOVED,
    CLOSE_AFTER,
    CLOSE_AT_END,
    CLOSE_INACTIVE,
    CLOSE_REMOVED,
    CLOSE_RENAMED,
    EXCLUDE_FILES,
    HARVESTER_LIMIT,
    IGNORE_OLDER,
    MESSAGE_LIMIT,
    PATHS,
    RECURSIVE_GLOB,
    SCAN_INTERVAL,
    SYMLINKS,
    CloseConfig,
    InputConfig,
    InputType,
    LineInput,
    ProspectorConfig,
    ReaderCloseConfig,
    ScannerConfig,
    StateChangeConfig,
    check_clean_inactive,
)
from log_shipper.shipper.parsers.container import ContainerConfig, ContainerStream, dropped_stream
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.reader.base import ParserConfig
from log_shipper.shipper.reader.json_members import JsonOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSection(JsonOptions):
    """`json.*`, which becomes the parser, even if it is `{}`."""

    keys_under_root: bool = field(
        default=False, metadata={"doc": "Puts the members at the top level of the event instead of below `json`."}
    )

    def converted(self) -> NdjsonConfig:
        return NdjsonConfig(
            target="" if self.keys_under_root else "json",
            overwrite_keys=self.overwrite_keys,
            expand_keys=self.expand_keys,
            add_error_key=self.add_error_key,
            message_key=self.message_key,
            document_id=self.document_id,
            ignore_decoding_error=self.ignore_decoding_error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatInput(LineInput):
    """The options of all flat input types."""

    ignored: ClassVar = filebeat.FLAT_IGNORED
    max_bytes: Size = field(default=10 * 1024**2, metadata=MESSAGE_LIMIT)
    json: NdjsonConfig | None = field(
        default=None,
        metadata={
            "since": "0.3",
            "doc": "Parses lines as JSON, before `multiline`; `{}` also enables it.",
            "read_as": JsonSection,
            "null": "absent",
        },
    )
    multiline: MultilineConfig | None = field(default=None, metadata={"doc": "Joins lines into one message."})

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        return tuple(parser for parser in (self.json, self.multiline) if parser is not None)

    def check_lines(self) -> Iterator[Finding]:
        """Yield errors in the options of all these types."""
        yield from check_terminator(self.encoding, self.line_terminator)
        if self.json is None or self.json.message_key:
            return
        needing = [name for name in ("multiline", "include_lines", "exclude_lines") if getattr(self, name)]
        for name in needing:
            yield (
                "json.message_key",
                f"missing; {name} needs the JSON member that holds the message, as in 'message_key: log'",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInput(FlatInput):
    here: ClassVar = filebeat.LOG_NAMES
    type: InputType = field(default="log", metadata={"doc": "The input type."})
    id: str | None = field(
        default=None,
        metadata={"doc": "Unique id; derived from type and paths when absent.", "check": not_blank},
    )
    paths: tuple[str, ...] = field(metadata=PATHS)
    scan_frequency: Duration = field(default=10.0, metadata=SCAN_INTERVAL)
    exclude_files: tuple[Pattern, ...] = field(default=(), metadata=EXCLUDE_FILES)
    symlinks: bool = field(default=False, metadata=SYMLINKS)
    recursive_glob: bool = field(
        default=True,
        metadata={"key": "recursive_glob.enabled", **RECURSIVE_GLOB},
    )
    file_identity: FileIdentityConfig = field(
        default_factory=FileIdentityConfig, metadata={"read_as": FileIdentitySection}
    )
    ignore_older: Duration = field(default=0.0, metadata=IGNORE_OLDER)
    tail_files: bool = field(
        default=False, metadata={"doc": "Starts at the end of new files instead of their beginning."}
    )
    harvester_limit: int = field(default=0, metadata=HARVESTER_LIMIT)
    close_inactive: Duration = field(default=300.0, metadata=CLOSE_INACTIVE)
    close_renamed: bool = field(default=False, metadata=CLOSE_RENAMED)
    close_removed: bool = field(default=True, metadata=CLOSE_REMOVED)
    close_eof: bool = field(default=False, metadata=CLOSE_AT_END)
    close_timeout: Duration = field(default=0.0, metadata=CLOSE_AFTER)
    clean_inactive: DurationOrNever = field(default=0.0, metadata=CLEAN_INACTIVE)
    clean_removed: bool = field(default=True, metadata=CLEAN_REMOVED)

    def check(self) -> Iterator[Finding]:
        yield from check_clean_inactive(self.clean_inactive, self.ignore_older, self.scan_frequency, "scan_frequency")
        yield from self.check_lines()

    def converted(self) -> InputConfig:
        return InputConfig(
            type=self.type,
            id=self.id or derived_id(self.type, self.paths),
            paths=self.paths,
            **self.shared(),
            message_max_bytes=self.max_bytes,
            parsers=self.parsers,
            prospector=ProspectorConfig(scanner=self._scanner()),
            file_identity=self.file_identity,
            ignore_older=self.ignore_older,
            harvester_limit=self.harvester_limit,
            close=self._close(),
            clean_inactive=self.clean_inactive,
            clean_removed=self.clean_removed,
            tail_files=self.tail_files,
        )

    def _scanner(self) -> ScannerConfig:
        return ScannerConfig(
            check_interval=self.scan_frequency,
            exclude_files=self.exclude_files,
            symlinks=self.symlinks,
            recursive_glob=self.recursive_glob,
        )

    def _close(self) -> CloseConfig:
        return CloseConfig(
            on_state_change=StateChangeConfig(
                inactive=self.close_inactive, renamed=self.close_renamed, removed=self.close_removed
            ),
            reader=ReaderCloseConfig(on_eof=self.close_eof, after_interval=self.close_timeout),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StdinInput(FlatInput):
    here: ClassVar = filebeat.STDIN_NAMES
    type: InputType = field(default="stdin", metadata={"doc": "The input type; no other input may be enabled."})
    id: str = field(default="stdin", metadata={"doc": "Unique id.", "check": not_blank})

    def check(self) -> Iterator[Finding]:
        yield from self.check_lines()

    def converted(self) -> InputConfig:
        return InputConfig(
            type=self.type,
            id=self.id,
            paths=(),
            **self.shared(),
            message_max_bytes=self.max_bytes,
            parsers=self.parsers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerInput(LogInput):
    """Log files of container runtimes: `type: log`, with the parser `container` first."""

    type: InputType = field(default="container", metadata={"doc": "The input type."})
    symlinks: bool = field(
        default=True,
        metadata={"doc": "Whether symbolic links are followed; /var/log/containers contains only links."},
    )
    stream: ContainerStream = field(default="all", metadata={"since": "0.3", "doc": "The stream to ship."})
    format: Literal["auto", "docker", "cri"] = field(
        default="auto",
        metadata={
            "since": "0.3",
            "doc": "The log format of the runtime: JSON (docker) or text (cri); auto detects it for each line.",
        },
    )

    def remarks(self) -> Iterator[Finding]:
        yield from dropped_stream(self.stream)

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        # Names the class explicitly: slots=True creates a second class, and a bare super() would refer to the first.
        return (ContainerConfig(format=self.format, stream=self.stream), *super(ContainerInput, self).parsers)
