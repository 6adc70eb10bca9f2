"""`parsers` of an input, which turn lines into messages; each item is one parser under its name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.timezones import LOCAL, Timezone
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.shipper.options.multiline import MultilineConfig
from log_shipper.shipper.options.ndjson import IncludeMessageConfig, NdjsonConfig

ContainerFormat = Literal["auto", "docker", "json-file", "cri"]
ContainerStream = Literal["all", "stdout", "stderr"]
SyslogFormat = Literal["auto", "rfc3164", "rfc5424"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogParserConfig:
    """Parses the header of syslog messages (RFC 3164 and RFC 5424) into fields."""

    since: ClassVar = "0.2"
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto detects it for each message."})
    timezone: Timezone = field(
        default=LOCAL,
        metadata={"doc": "The time zone of times without one: a name, an offset such as +02:00, or Local."},
    )
    log_errors: bool = field(default=False, metadata={"doc": "Logs each message that is not valid syslog."})
    add_error_key: bool = field(
        default=True, metadata={"doc": "Writes what is wrong to `error.message` of a message that is not valid syslog."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    """Unwraps the lines that a container runtime writes."""

    since: ClassVar = "0.2"
    format: ContainerFormat = field(
        default="auto",
        metadata={
            "doc": "How the runtime writes lines: JSON (docker, json-file) or text (cri); auto detects it for each "
            "line."
        },
    )
    stream: ContainerStream = field(default="all", metadata={"doc": "The stream whose lines are shipped."})

    def remarks(self) -> Iterator[Finding]:
        yield from dropped_stream(self.stream)

    @property
    def ends_after(self) -> float:
        """Return the seconds after which the first part of a line is shipped without the others. Runtimes write the
        parts of a line at once; what a killed container left behind must not wait forever."""
        return 5.0


def dropped_stream(stream: ContainerStream) -> Iterator[Finding]:
    """Yield a remark if one stream is dropped: in other agents it is common to have one input per stream of the same
    files."""
    if stream != "all":
        other = "stderr" if stream == "stdout" else "stdout"
        yield "stream", f"lines of {other} are dropped; a file belongs to one input, so another input cannot ship them"


ParserConfig = MultilineConfig | NdjsonConfig | IncludeMessageConfig | ContainerConfig | SyslogParserConfig
PARSERS = NamedItems(
    "parser",
    "multiline",
    {
        "multiline": MultilineConfig,
        "ndjson": NdjsonConfig,
        "include_message": IncludeMessageConfig,
        "container": ContainerConfig,
        "syslog": SyslogParserConfig,
    },
)


def longest_timeout(parsers: Sequence[ParserConfig]) -> float | None:
    """Return the seconds after which a message that parsers join is ended; None if they join none."""
    joining = [parser for parser in parsers if isinstance(parser, MultilineConfig | ContainerConfig)]
    return max((parser.ends_after for parser in joining), default=None)
