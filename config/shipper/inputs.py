"""What the shipper reads. `InputConfig` is what `type: filestream` writes, and what every other type becomes."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from config.shipper import filebeat
from config.shipper.identity import FileIdentityConfig, FileIdentitySection
from config.shipper.parsers import PARSERS, ContainerConfig, ParserConfig
from config.shipper.processors import PROCESSORS, AnyProcessor
from config.text.checks import Finding, not_blank, without_blanks
from config.text.encodings import Encoding, LineTerminator, check_terminator
from config.text.patterns import Pattern
from config.text.units import Duration, DurationOrNever, Size, readable_duration

InputType = Literal["filestream", "log", "container", "stdin"]
Compression = Literal["none", "gzip", "auto"]

_WITHOUT_ID = ".global"  # in Filebeat's registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherPipelineConfig:
    disable_host: bool = field(default=False, metadata={"since": "0.2", "doc": "Leaves `host.name` out of events."})


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryInput:
    """The options of every type of input."""

    enabled: bool = field(default=True, metadata={"doc": "Whether the input runs."})
    encoding: Encoding = field(default="utf-8", metadata={"doc": "The lines' encoding; invalid bytes become U+FFFD."})
    line_terminator: LineTerminator = field(
        default="auto",
        metadata={"since": "0.2", "doc": "What ends a line; auto is line_feed, with or without a carriage return."},
    )
    include_lines: tuple[Pattern, ...] = field(
        default=(),
        metadata={"since": "0.2", "doc": "Only messages in which one of these is found are shipped; all when empty."},
    )
    exclude_lines: tuple[Pattern, ...] = field(
        default=(),
        metadata={
            "since": "0.2",
            "doc": "Messages in which one of these is found are dropped; asked after include_lines.",
        },
    )
    processors: tuple[AnyProcessor, ...] = field(
        default=(),
        metadata={"since": "0.2", "doc": "What works on the input's events, in order.", "read_as": PROCESSORS},
    )
    tags: tuple[str, ...] = field(default=(), metadata={"doc": "Added to each event's `tags`."})
    fields: dict[str, Any] = field(default_factory=dict, metadata={"doc": "Added to each event below `fields`."})
    fields_under_root: bool = field(default=False, metadata={"doc": "Puts `fields` at the top of the event instead."})
    keep_null: bool = field(
        default=False, metadata={"since": "0.2", "doc": "Whether fields without a value (null) stay in events."}
    )
    publisher_pipeline: PublisherPipelineConfig = field(default_factory=PublisherPipelineConfig)

    def shared(self) -> dict[str, Any]:
        """These options by name: what one type has in common with the input that it becomes."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(EveryInput)}


def parse_compression(text: str) -> Compression:
    """Filebeat's "" is our "none". Raises ValueError."""
    match text:
        case "" | "none":
            return "none"
        case "gzip" | "auto":
            return "gzip" if text == "gzip" else "auto"
    raise ValueError(f"{text!r} must be one of: none, gzip, auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerFingerprintConfig:
    enabled: bool = field(default=True, metadata={"doc": "Must stay true where `file_identity.fingerprint` is used."})
    offset: Size = field(default=0, metadata={"doc": "Where the bytes begin that `file_identity.fingerprint` takes."})
    length: Size = field(default=1024, metadata={"doc": "How many there are; a shorter file waits.", "min": 64})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerConfig:
    not_yet: ClassVar = filebeat.SCANNER_NOT_YET
    check_interval: Duration = field(
        default=10.0,
        metadata={"doc": "How often the paths are looked through; file events only make it sooner.", "min": 0.001},
    )
    exclude_files: tuple[Pattern, ...] = field(
        default=(), metadata={"doc": "Files whose path matches one of these are not read."}
    )
    include_files: tuple[Pattern, ...] = field(
        default=(), metadata={"doc": "Only files whose path matches one of these are read; all when empty."}
    )
    symlinks: bool = field(default=False, metadata={"doc": "Whether symbolic links are followed."})
    recursive_glob: bool = field(default=True, metadata={"doc": "Whether `**` stands for directories at any depth."})
    fingerprint: ScannerFingerprintConfig = field(default_factory=ScannerFingerprintConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProspectorConfig:
    scanner: ScannerConfig = field(default_factory=ScannerConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeConfig:
    inactive: Duration = field(
        default=300.0,
        metadata={"doc": "A file without news for so long is closed until it has some; 0 keeps it open."},
    )
    renamed: bool = field(
        default=False, metadata={"doc": "Closes a file that was renamed, once all of it is acknowledged."}
    )
    removed: bool = field(
        default=True, metadata={"doc": "Closes a file that was deleted, once all of it is acknowledged."}
    )
    check_interval: Duration = field(
        default=5.0, metadata={"doc": "How often open files are looked at for these changes.", "min": 0.001}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderCloseConfig:
    on_eof: bool = field(default=False, metadata={"doc": "Closes a file as soon as its end is reached."})
    after_interval: Duration = field(
        default=0.0,
        metadata={
            "doc": "Closes a file that was open for so long; what a deleted one still held is given up; 0 is never."
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedCloseConfig:
    max_bytes: Size = field(
        default=1024**3,
        metadata={"doc": "How much of deleted files is kept on disk until it is read; 0 is without limit."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseConfig:
    on_state_change: StateChangeConfig = field(default_factory=StateChangeConfig)
    reader: ReaderCloseConfig = field(default_factory=ReaderCloseConfig)
    removed: RemovedCloseConfig = field(default_factory=RemovedCloseConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteConfig:
    enabled: bool = field(
        default=False, metadata={"doc": "Removes a file from the disk once it is closed and all of it acknowledged."}
    )
    grace_period: Duration = field(default=1800.0, metadata={"doc": "How long after that; news in the file stop it."})


def _own_id(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    if text == _WITHOUT_ID:
        yield "", f"'{_WITHOUT_ID}' is what Filebeat calls inputs without an id; give the input another one"


def cleaning(clean_inactive: float, ignore_older: float, interval: float, interval_name: str) -> Iterator[Finding]:
    """An entry may go only when its file is ignored: one forgotten earlier would be read again from its start."""
    if clean_inactive <= 0:
        return
    if not ignore_older:
        yield "clean_inactive", "needs ignore_older: a file that is forgotten and not ignored is read again"
    elif clean_inactive <= ignore_older + interval:
        limit = f"ignore_older + {interval_name} ({readable_duration(ignore_older)} + {readable_duration(interval)})"
        yield "clean_inactive", f"must be more than {limit}, or files are forgotten that are still looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig(EveryInput):
    not_yet: ClassVar = filebeat.INPUT_NOT_YET
    ignored: ClassVar = filebeat.INPUT_IGNORED
    here: ClassVar = filebeat.FILESTREAM_NAMES
    type: InputType = field(default="filestream", metadata={"doc": "The kind of input; each has its own options."})
    id: str = field(
        metadata={
            "doc": "The input's own name; positions are kept under it.",
            "check": _own_id,
            "missing": "every filestream input needs an id of its own, as in 'id: nginx'",
        }
    )
    paths: tuple[str, ...] = field(metadata={"doc": "Files to read; globs, `**` included.", "check": without_blanks})
    message_max_bytes: Size = field(
        default=10 * 1024**2, metadata={"doc": "A longer message is cut and flagged.", "min": 1}
    )
    parsers: tuple[ParserConfig, ...] = field(
        default=(), metadata={"doc": "Steps that make messages of lines, in order.", "read_as": PARSERS}
    )
    compression: Annotated[Compression, parse_compression] = field(
        default="none", metadata={"doc": "Whether files are gzip'd: none of them, all, or those that look so (auto)."}
    )
    prospector: ProspectorConfig = field(default_factory=ProspectorConfig)
    file_identity: FileIdentityConfig = field(
        default_factory=FileIdentityConfig, metadata={"read_as": FileIdentitySection}
    )
    ignore_older: Duration = field(
        default=0.0, metadata={"doc": "Files not written to for so long are left alone; 0 is never."}
    )
    ignore_inactive: Literal["", "since_first_start", "since_last_start"] = field(
        default="", metadata={"doc": "Files not written to since the first or the last start are left alone."}
    )
    harvester_limit: int = field(
        default=0, metadata={"doc": "How many files are open at once; 0 is without limit.", "unit": "files", "min": 0}
    )
    close: CloseConfig = field(default_factory=CloseConfig)
    clean_inactive: DurationOrNever = field(
        default=0.0,
        metadata={
            "doc": "Forgets a file not written to for so long, also if it is still there: if it is written to again, "
            "it is read on, and after a restart from its start. 0 or -1 is never."
        },
    )
    clean_removed: bool = field(
        default=True, metadata={"doc": "Forgets a file that is gone, a day later; a copy of it is known until then."}
    )
    delete: DeleteConfig = field(default_factory=DeleteConfig)
    tail_files: bool = field(default=False, metadata={"key": None})  # what `type: log` makes of its own option

    def check(self) -> Iterator[Finding]:
        """Of what `type: filestream` says; the other types check their own names."""
        scanner = self.prospector.scanner
        interval = "prospector.scanner.check_interval"
        yield from cleaning(self.clean_inactive, self.ignore_older, scanner.check_interval, interval)
        yield from check_terminator(self.encoding, self.line_terminator)
        if sum(isinstance(parser, ContainerConfig) for parser in self.parsers) > 1:
            yield "parsers", "have container twice; a line has one runtime's frame, and the second finds none"
        if self.file_identity.name == "fingerprint" and not scanner.fingerprint.enabled:
            yield "prospector.scanner.fingerprint.enabled", "must be true; file_identity.fingerprint needs it"
        if self.delete.enabled and not (self.close.reader.on_eof or self.close.on_state_change.inactive):
            yield (
                "delete.enabled",
                "needs close.reader.on_eof: true, or close.on_state_change.inactive above 0: only closed files go",
            )

    def becomes(self) -> "InputConfig":
        read = self.prospector.scanner.fingerprint
        return replace(self, file_identity=replace(self.file_identity, offset=read.offset, length=read.length))
