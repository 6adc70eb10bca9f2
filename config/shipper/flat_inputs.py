"""The types of input with Filebeat's older, flat names: `log` and `stdin`, and what `container` has of them.

Each becomes an InputConfig.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.shipper import filebeat
from config.shipper.identity import FileIdentityConfig, FileIdentitySection
from config.shipper.inputs import (
    CloseConfig,
    EveryInput,
    InputConfig,
    InputType,
    ProspectorConfig,
    ReaderCloseConfig,
    ScannerConfig,
    StateChangeConfig,
    cleaning,
)
from config.shipper.multiline import MultilineConfig
from config.shipper.ndjson import JsonSection, NdjsonConfig
from config.shipper.parsers import ContainerConfig, ContainerStream, ParserConfig, one_stream
from config.text.checks import Finding, not_blank, without_blanks
from config.text.encodings import check_terminator
from config.text.patterns import Pattern
from config.text.units import Duration, DurationOrNever, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatInput(EveryInput):
    """What the three have in common."""

    not_yet: ClassVar = filebeat.FLAT_NOT_YET
    ignored: ClassVar = filebeat.FLAT_IGNORED
    max_bytes: Size = field(default=10 * 1024**2, metadata={"doc": "A longer message is cut and flagged.", "min": 1})
    json: NdjsonConfig | None = field(
        default=None,
        metadata={
            "since": "0.2",
            "doc": "Makes members of JSON lines, before `multiline`; also where it is `{}`.",
            "read_as": JsonSection,
            "null": "absent",
        },
    )
    multiline: MultilineConfig | None = field(default=None, metadata={"doc": "Joins lines to one message."})

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        return tuple(parser for parser in (self.json, self.multiline) if parser is not None)

    def check_lines(self) -> Iterator[Finding]:
        """What is asked of all three."""
        yield from check_terminator(self.encoding, self.line_terminator)
        if self.json is None or self.json.message_key:
            return
        asked = {"multiline": self.multiline, "include_lines": self.include_lines, "exclude_lines": self.exclude_lines}
        for name in (name for name, value in asked.items() if value):
            yield (
                "json.message_key",
                f"missing; {name} needs it: name the member of the JSON that is the message, as in 'message_key: log'",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInput(FlatInput):
    here: ClassVar = filebeat.FLAT_NAMES
    type: InputType = field(default="log", metadata={"doc": "The kind of input."})
    id: str | None = field(
        default=None,
        metadata={"doc": "The input's own name; made of type and paths when absent.", "check": not_blank},
    )
    paths: tuple[str, ...] = field(metadata={"doc": "Files to read; globs, `**` included.", "check": without_blanks})
    scan_frequency: Duration = field(
        default=10.0,
        metadata={"doc": "How often the paths are looked through; file events only make it sooner.", "min": 0.001},
    )
    exclude_files: tuple[Pattern, ...] = field(
        default=(), metadata={"doc": "Files whose path matches one of these are not read."}
    )
    symlinks: bool = field(default=False, metadata={"doc": "Whether symbolic links are followed."})
    recursive_glob: bool = field(
        default=True,
        metadata={"key": "recursive_glob.enabled", "doc": "Whether `**` stands for directories at any depth."},
    )
    file_identity: FileIdentityConfig = field(
        default_factory=FileIdentityConfig, metadata={"read_as": FileIdentitySection}
    )
    ignore_older: Duration = field(
        default=0.0, metadata={"doc": "Files not written to for so long are left alone; 0 is never."}
    )
    tail_files: bool = field(
        default=False, metadata={"doc": "Reads files that are met for the first time from their end on."}
    )
    harvester_limit: int = field(
        default=0, metadata={"doc": "How many files are open at once; 0 is without limit.", "unit": "files", "min": 0}
    )
    close_inactive: Duration = field(
        default=300.0,
        metadata={"doc": "A file without news for so long is closed until it has some; 0 keeps it open."},
    )
    close_renamed: bool = field(
        default=False, metadata={"doc": "Closes a file that was renamed, once all of it is acknowledged."}
    )
    close_removed: bool = field(
        default=True, metadata={"doc": "Closes a file that was deleted, once all of it is acknowledged."}
    )
    close_eof: bool = field(default=False, metadata={"doc": "Closes a file as soon as its end is reached."})
    close_timeout: Duration = field(
        default=0.0,
        metadata={
            "doc": "Closes a file that was open for so long; what a deleted one still held is given up; 0 is never."
        },
    )
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

    def check(self) -> Iterator[Finding]:
        yield from cleaning(self.clean_inactive, self.ignore_older, self.scan_frequency, "scan_frequency")
        yield from self.check_lines()

    def becomes(self) -> InputConfig:
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
    type: InputType = field(default="stdin", metadata={"doc": "The kind of input; it must be the only one enabled."})
    id: str = field(default="stdin", metadata={"doc": "The input's own name.", "check": not_blank})

    def check(self) -> Iterator[Finding]:
        yield from self.check_lines()

    def becomes(self) -> InputConfig:
        return InputConfig(
            type=self.type,
            id=self.id,
            paths=(),
            **self.shared(),
            message_max_bytes=self.max_bytes,
            parsers=self.parsers,
        )


def derived_id(type: InputType, paths: tuple[str, ...]) -> str:
    """The same for the same paths, in whatever order they are written."""
    digest = hashlib.sha256("\0".join(sorted(set(paths))).encode()).hexdigest()
    return f"{type}-{digest[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerInput(LogInput):
    type: InputType = field(default="container", metadata={"doc": "The kind of input."})
    symlinks: bool = field(
        default=True, metadata={"doc": "Whether symbolic links are followed; /var/log/containers holds nothing else."}
    )
    stream: ContainerStream = field(default="all", metadata={"since": "0.2", "doc": "Whose lines are shipped."})
    format: Literal["auto", "docker", "cri"] = field(
        default="auto",
        metadata={
            "since": "0.2",
            "doc": "How the runtime writes lines: JSON (docker) or text (cri); auto sees it by each.",
        },
    )

    def remarks(self) -> Iterator[Finding]:
        yield from one_stream(self.stream)

    @property
    def parsers(self) -> tuple[ParserConfig, ...]:
        # Named, because a dataclass with slots is another class than the one that a bare super() knows.
        return (ContainerConfig(format=self.format, stream=self.stream), *super(ContainerInput, self).parsers)
