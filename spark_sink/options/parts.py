"""The smaller sections of the sink's configuration."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.spans import DAY, HOUR, Span
from log_shipper.config.text.units import Duration
from log_shipper.runtime.logs.options import LogLinesConfig
from log_shipper.spark_sink.options.java_options import Raw
from log_shipper.spark_sink.options.tables import fixed_path

LostOffsets = Literal["fail", "continue"]


def at_least_an_hour(span: float) -> Iterator[Finding]:
    if span < HOUR:
        yield "", "must be at least 1h: a shipper resends lines after an interruption"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointConfig:
    path: str = field(
        metadata={
            "doc": "Directory or URI of the query's checkpoint; never use it with another table.",
            "check": fixed_path,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterConfig:
    path: str | None = field(
        default=None,
        metadata={
            "doc": "Table of bad records; default: `<table.path>_dead_letter`, without the template.",
            "check": fixed_path,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateConfig:
    since: ClassVar = "0.3"
    path: str | None = field(
        default=None,
        metadata={
            "doc": "Table of marks, the landed position of each file and partition; default: `<table.path>_marks`, "
            "without the template.",
            "check": fixed_path,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerConfig:
    as_in: ClassVar = "trigger: {interval: 5s}"
    interval: Duration = field(
        default=1.0, metadata={"doc": "Interval of micro-batches; 0 starts the next one immediately."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeConfig:
    as_in: ClassVar = "dedupe: {enabled: false}"
    since: ClassVar = "0.3"
    enabled: bool = field(default=True, metadata={"doc": "Leaves out lines that the shipper sent twice."})
    forget_after: Span = field(
        default=14 * DAY, metadata={"doc": "Time to remember a file without new rows.", "check": at_least_an_hour}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    as_in: ClassVar = "http: {enabled: true}"
    since: ClassVar = "0.3"
    enabled: bool = field(default=False, metadata={"doc": "Serves a status page and Prometheus metrics over HTTP."})
    host: str = field(
        default="localhost", metadata={"doc": "Address to listen on; 0.0.0.0 for all.", "check": not_blank}
    )
    port: int = field(
        default=5067, metadata={"doc": "Port to listen on; 0 takes any free port.", "min": 0, "max": 65535}
    )


def long_enough(token: Secret) -> Iterator[Finding]:
    if len(token.reveal()) < 16:
        yield "", "is too short: use at least 16 characters, as from `openssl rand -hex 16`"


@dataclass(frozen=True, slots=True, kw_only=True)
class UiConfig:
    as_in: ClassVar = "ui: {port: 8080}"
    since: ClassVar = "0.3"
    host: str = field(
        default="localhost",
        metadata={
            "doc": "Address of the search page of `spark-sink ui`. An address that other machines can reach requires "
            "`token`.",
            "check": not_blank,
        },
    )
    port: int = field(
        default=5068, metadata={"doc": "Port to listen on; 0 takes any free port.", "min": 0, "max": 65535}
    )
    token: Secret | None = field(
        default=None,
        metadata={"doc": "Token that users must enter to see the page.", "check": long_enough},
    )

    def check(self) -> Iterator[Finding]:
        if not self.token and not _is_loopback(self.host):
            yield "token", f"missing; other machines can reach ui.host {self.host} and read all tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkLoggingConfig(LogLinesConfig):
    components: ClassVar = ("landing", "storage", "views", "maintenance", "monitor", "kafka")
    ignored: ClassVar = {
        **LogLinesConfig.ignored,
        **dict.fromkeys(("to_files", "to_stderr", "to_syslog", "files"), "logs go to stderr"),
        "metrics": "each micro-batch is logged when it has landed",
    }


def _is_loopback(host: str) -> bool:
    """Return True also for a name: its address is checked when the server starts."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return True


def texts(raw: Raw) -> dict[str, str]:
    """Return raw settings as texts, with booleans in Java's form."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in raw.items()}


def spark_key(key: str) -> str:
    # Both `spark.master: x` and `spark: {spark.master: x}` are natural spellings.
    return key if key.startswith("spark.") else f"spark.{key}"
