"""How lines become messages: `parsers` of an input, each item one parser under its name."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.shipper.multiline import MultilineConfig
from config.shipper.ndjson import IncludeMessageConfig, NdjsonConfig
from config.text.checks import Finding
from config.text.timezones import LOCAL, Timezone
from config.yaml.schema import Named

ContainerFormat = Literal["auto", "docker", "json-file", "cri"]
ContainerStream = Literal["all", "stdout", "stderr"]
SyslogFormat = Literal["auto", "rfc3164", "rfc5424"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogConfig:
    since: ClassVar = "0.2"
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto sees it by each message."})
    timezone: Timezone = field(
        default=LOCAL,
        metadata={"doc": "Where times without a zone are from: a name, an offset such as +02:00, or Local."},
    )
    log_errors: bool = field(default=False, metadata={"doc": "A log line for each message that is not of syslog."})
    add_error_key: bool = field(
        default=True, metadata={"doc": "Says in `error.message` what is wrong with a message that is not of syslog."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    since: ClassVar = "0.2"
    format: ContainerFormat = field(
        default="auto",
        metadata={"doc": "How the runtime writes lines: JSON (docker, json-file) or text (cri); auto sees it by each."},
    )
    stream: ContainerStream = field(default="all", metadata={"doc": "Whose lines are shipped."})

    def remarks(self) -> Iterator[Finding]:
        yield from one_stream(self.stream)

    @property
    def ends_after(self) -> float:
        """Seconds after which the first part of a line is shipped though the rest has not come. Runtimes write the
        parts of a line at once; what a container left behind when it was killed must not wait for ever."""
        return 5.0


def one_stream(stream: ContainerStream) -> Iterator[Finding]:
    """Elsewhere it is common to have one input for each stream of the same files."""
    if stream != "all":
        other = "stderr" if stream == "stdout" else "stdout"
        yield "stream", f"lines of {other} are dropped; a file has one input, so another one cannot ship them"


ParserConfig = MultilineConfig | NdjsonConfig | IncludeMessageConfig | ContainerConfig | SyslogConfig
PARSERS = Named(
    "parser",
    {
        "multiline": MultilineConfig,
        "ndjson": NdjsonConfig,
        "include_message": IncludeMessageConfig,
        "container": ContainerConfig,
        "syslog": SyslogConfig,
    },
)
