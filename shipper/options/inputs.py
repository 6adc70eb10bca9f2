"""The inputs: `InputConfig` is `type: filestream`, and every other type is converted to one."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, without_blanks
from log_shipper.config.text.encodings import Encoding, LineTerminator, check_terminator
from log_shipper.config.text.patterns import Pattern
from log_shipper.config.text.units import Duration, DurationOrNever, Size, readable_duration
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.codec import format_string
from log_shipper.shipper.options.identity import FileIdentityConfig, FileIdentitySection
from log_shipper.shipper.options.input_ids import derived_id, own_id
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS, AnyProcessor
from log_shipper.shipper.options.read_until_eof import ReadUntilEofConfig
from log_shipper.shipper.reader.base import ParserConfig

InputType = Literal["filestream", "log", "container", "stdin"]
Compression = Literal["none", "gzip", "auto"]

# Options that `type: filestream` and the older types have under different names, or with different defaults.
PATHS: dict[str, Any] = {"doc": "Files to read: globs, including `**`.", "check": without_blanks}
MESSAGE_LIMIT: dict[str, Any] = {"doc": "Maximum message size; longer messages are truncated and flagged.", "min": 1}
SCAN_INTERVAL: dict[str, Any] = {
    "doc": "How often the paths are scanned; file events only trigger earlier scans.",
    "min": 0.001,
}
EXCLUDE_FILES: dict[str, Any] = {"doc": "Skips files whose path matches one of these."}
SYMLINKS: dict[str, Any] = {"doc": "Whether symbolic links are followed."}
RECURSIVE_GLOB: dict[str, Any] = {"doc": "Whether `**` matches directories at any depth."}
IGNORE_OLDER: dict[str, Any] = {"doc": "Skips files not written to for this long; 0 disables it."}
HARVESTER_LIMIT: dict[str, Any] = {
    "doc": "Maximum number of open files; 0: no limit.",
    "unit": "files",
    "min": 0,
}
CLOSE_INACTIVE: dict[str, Any] = {
    "doc": "Closes a file after this time without new data; new data opens it again. 0 disables it."
}
CLOSE_RENAMED: dict[str, Any] = {"doc": "Closes a renamed file once it is fully acknowledged."}
CLOSE_REMOVED: dict[str, Any] = {"doc": "Closes a deleted file once it is fully acknowledged."}
CLOSE_AT_END: dict[str, Any] = {"doc": "Closes a file when its end is reached."}
CLOSE_AFTER: dict[str, Any] = {
    "doc": "Closes a file after this time; unread data of a deleted file is lost. 0 disables it."
}
CLEAN_INACTIVE: dict[str, Any] = {
    "doc": "Forgets a file not written to for this long, even if it still exists: new data resumes reading, but after "
    "a restart it is read from the start. Checked once a minute, except in the host's first ten minutes, when its "
    "clock may be wrong. 0 or -1 disables it."
}
CLEAN_REMOVED: dict[str, Any] = {"doc": "Forgets a deleted file after one day; until then copies of it are recognised."}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherPipelineConfig:
    disable_host: bool = field(default=False, metadata={"since": "0.3", "doc": "Omits `host.name` from events."})


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryInput:
    """The options of all input types. `of_first_line`: members that a joined message takes from its first line; others
    come from the last.
    """

    of_first_line: ClassVar[tuple[str, ...]] = ("@timestamp",)
    enabled: bool = field(default=True, metadata={"doc": "Whether the input runs."})
    processors: tuple[AnyProcessor, ...] = field(
        default=(),
        metadata={"since": "0.3", "doc": "Processors for the input's events, in order.", "read_as": PROCESSORS},
    )
    tags: tuple[str, ...] = field(default=(), metadata={"doc": "Added to `tags` of every event."})
    fields: dict[str, Any] = field(default_factory=dict, metadata={"doc": "Added to every event below `fields`."})
    fields_under_root: bool = field(
        default=False, metadata={"doc": "Puts `fields` at the top level of events instead."}
    )
    keep_null: bool = field(default=False, metadata={"since": "0.3", "doc": "Keeps fields with null values."})
    publisher_pipeline: PublisherPipelineConfig = field(default_factory=PublisherPipelineConfig)
    pipeline: str = field(
        default="",
        metadata={
            "since": "0.3",
            "doc": "Set as `@metadata.pipeline`, for forwarders to Elasticsearch.",
        },
    )
    index: str = field(
        default="",
        metadata={
            "since": "0.3",
            "doc": "A format string, set as `@metadata.raw_index`, for forwarders to Elasticsearch.",
            "check": format_string,
        },
    )

    @property
    def steps(self) -> tuple[AnyProcessor, ...]:
        """Return the processors of the input's events, in order."""
        if not self.index:
            return self.processors
        return (PROCESSORS.models["add_formatted_index"](index=self.index), *self.processors)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineInput(EveryInput):
    """The options of all input types that read lines."""

    encoding: Encoding = field(default="utf-8", metadata={"doc": "The encoding of lines; invalid bytes become U+FFFD."})
    line_terminator: LineTerminator = field(
        default="auto",
        metadata={
            "since": "0.3",
            "doc": "The line terminator; auto is a line feed, with or without a preceding carriage return.",
        },
    )
    include_lines: tuple[Pattern, ...] = field(
        default=(),
        metadata={"since": "0.3", "doc": "Ships only messages that match one of these; all when empty."},
    )
    exclude_lines: tuple[Pattern, ...] = field(
        default=(),
        metadata={
            "since": "0.3",
            "doc": "Drops messages that match one of these; applied after include_lines.",
        },
    )

    def shared(self) -> dict[str, Any]:
        """Return these options by name, for conversion to an InputConfig."""
        return {option.name: getattr(self, option.name) for option in dataclasses.fields(LineInput)}


def parse_compression(text: str) -> Compression:
    """Return the compression; Filebeat's "" is our "none". Raises ValueError."""
    match text:
        case "" | "none":
            return "none"
        case "gzip" | "auto":
            return "gzip" if text == "gzip" else "auto"
    raise ValueError(f"{text!r} must be one of: none, gzip, auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerFingerprintConfig:
    enabled: bool = field(default=True, metadata={"doc": "Must be true if `file_identity.fingerprint` is used."})
    offset: Size = field(default=0, metadata={"doc": "Offset of the bytes for `file_identity.fingerprint`."})
    length: Size = field(
        default=1024, metadata={"doc": "Number of these bytes; shorter files wait, unless `growing` is set.", "min": 64}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerConfig:
    check_interval: Duration = field(default=10.0, metadata=SCAN_INTERVAL)
    exclude_files: tuple[Pattern, ...] = field(default=(), metadata=EXCLUDE_FILES)
    include_files: tuple[Pattern, ...] = field(
        default=(), metadata={"doc": "Reads only files whose path matches one of these; all when empty."}
    )
    symlinks: bool = field(default=False, metadata=SYMLINKS)
    recursive_glob: bool = field(default=True, metadata=RECURSIVE_GLOB)
    resend_on_touch: bool = field(
        default=False,
        metadata={
            "since": "0.3",
            "doc": "Ships a fully shipped file again, as a new file, when its modification time changes and its size "
            "does not.",
        },
    )
    fingerprint: ScannerFingerprintConfig = field(default_factory=ScannerFingerprintConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProspectorConfig:
    scanner: ScannerConfig = field(default_factory=ScannerConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeConfig:
    inactive: Duration = field(default=300.0, metadata=CLOSE_INACTIVE)
    renamed: bool = field(default=False, metadata=CLOSE_RENAMED)
    removed: bool = field(default=True, metadata=CLOSE_REMOVED)
    check_interval: Duration = field(
        default=5.0, metadata={"doc": "How often open files are checked for these changes.", "min": 0.001}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderCloseConfig:
    on_eof: bool = field(default=False, metadata=CLOSE_AT_END)
    after_interval: Duration = field(default=0.0, metadata=CLOSE_AFTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedCloseConfig:
    max_bytes: Size = field(
        default=1024**3,
        metadata={"doc": "Maximum unread bytes of deleted files to keep on disk; 0: no limit."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseConfig:
    on_state_change: StateChangeConfig = field(default_factory=StateChangeConfig)
    reader: ReaderCloseConfig = field(default_factory=ReaderCloseConfig)
    removed: RemovedCloseConfig = field(default_factory=RemovedCloseConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteConfig:
    enabled: bool = field(default=False, metadata={"doc": "Deletes a file once it is closed and fully acknowledged."})
    grace_period: Duration = field(
        default=1800.0,
        metadata={"doc": "The delay before the deletion; new data cancels it."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOverConfig:
    """An input of files. Positions belong to the id: with another id, files are read from the beginning."""

    since: ClassVar = "0.3"
    enabled: bool = field(
        default=False,
        metadata={"doc": "Resumes files at the positions of inputs that are no longer configured."},
    )
    from_ids: tuple[str, ...] = field(
        default=(), metadata={"doc": "The ids of these inputs; empty: all inputs that are no longer configured."}
    )

    def check(self) -> Iterator[Finding]:
        if self.from_ids and not self.enabled:
            yield "from_ids", "has no effect without enabled: true"


def check_clean_inactive(
    clean_inactive: float, ignore_older: float, interval: float, interval_name: str
) -> Iterator[Finding]:
    """Yield an error if an entry could be forgotten before its file is ignored: the file would be read again."""
    if clean_inactive <= 0:
        return
    if not ignore_older:
        yield "clean_inactive", "needs ignore_older: otherwise, forgotten files are read again"
    elif clean_inactive <= ignore_older + interval:
        limit = f"ignore_older + {interval_name} ({readable_duration(ignore_older)} + {readable_duration(interval)})"
        yield (
            "clean_inactive",
            (f"must be greater than {limit}; otherwise, files that are still being read are forgotten"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig(LineInput):
    not_yet: ClassVar = filebeat.INPUT_NOT_YET
    ignored: ClassVar = filebeat.INPUT_IGNORED
    here: ClassVar = filebeat.FILESTREAM_NAMES
    type: InputType = field(default="filestream", metadata={"doc": "The input type; each has its own options."})
    id: str = field(
        default="",
        metadata={
            "doc": "Unique id; positions are stored under it. Optional in a filebeat.yml.",
            "check": own_id,
            "wanted": "every filestream input needs its own id, as in 'id: nginx'",
        },
    )
    paths: tuple[str, ...] = field(metadata=PATHS)
    message_max_bytes: Size = field(default=10 * 1024**2, metadata=MESSAGE_LIMIT)
    parsers: tuple[ParserConfig, ...] = field(
        default=(), metadata={"doc": "Steps that turn lines into messages, in order.", "read_as": PARSERS}
    )
    compression: Annotated[Compression, parse_compression] = field(
        default="none",
        metadata={"doc": "How files are decompressed: none, gzip (all files), or auto (files that look like gzip)."},
    )
    prospector: ProspectorConfig = field(default_factory=ProspectorConfig)
    file_identity: FileIdentityConfig = field(
        default_factory=FileIdentityConfig, metadata={"read_as": FileIdentitySection}
    )
    ignore_older: Duration = field(default=0.0, metadata=IGNORE_OLDER)
    ignore_inactive: Literal["", "since_first_start", "since_last_start"] = field(
        default="", metadata={"doc": "Skips files not written to since the first or last start."}
    )
    harvester_limit: int = field(default=0, metadata=HARVESTER_LIMIT)
    close: CloseConfig = field(default_factory=CloseConfig)
    clean_inactive: DurationOrNever = field(default=0.0, metadata=CLEAN_INACTIVE)
    clean_removed: bool = field(default=True, metadata=CLEAN_REMOVED)
    delete: DeleteConfig = field(default_factory=DeleteConfig)
    take_over: TakeOverConfig = field(default_factory=TakeOverConfig)
    read_until_eof: ReadUntilEofConfig = field(default_factory=ReadUntilEofConfig)
    include_file_owner_name: bool = field(
        default=False,
        metadata={
            "since": "0.3",
            "doc": "Adds the file owner's name, as of opening the file, as log.file.owner.",
        },
    )
    include_file_owner_group_name: bool = field(
        default=False, metadata={"since": "0.3", "doc": "Adds the file group's name as log.file.group."}
    )
    # Ids of the container and pod that own all log directories of the input, if a hint sets its paths.
    owned_by: tuple[str, ...] = field(default=(), metadata={"key": None})
    tail_files: bool = field(default=False, metadata={"key": None})  # set by `type: log`, which has the option

    def check(self) -> Iterator[Finding]:
        """Check the options by their names in `type: filestream`; other types check their own."""
        scanner = self.prospector.scanner
        interval = "prospector.scanner.check_interval"
        yield from check_clean_inactive(self.clean_inactive, self.ignore_older, scanner.check_interval, interval)
        yield from check_terminator(self.encoding, self.line_terminator)
        if sum(parser.name == "container" for parser in self.parsers) > 1:
            yield "parsers", "container is listed twice; the first one already removes the runtime's framing"
        if self.file_identity.name == "fingerprint" and not scanner.fingerprint.enabled:
            yield "prospector.scanner.fingerprint.enabled", "must be true; file_identity.fingerprint needs it"
        if self.delete.enabled and not (self.close.reader.on_eof or self.close.on_state_change.inactive):
            yield (
                "delete.enabled",
                (
                    "needs close.reader.on_eof: true, or close.on_state_change.inactive above 0: only closed files "
                    "are deleted"
                ),
            )

    def converted(self) -> "InputConfig":
        read = self.prospector.scanner.fingerprint
        identity = replace(self.file_identity, offset=read.offset, length=read.length)
        return replace(self, id=self.id or self.derived_id, file_identity=identity)

    @property
    def derived_id(self) -> str:
        return derived_id(self.type, self.paths)
