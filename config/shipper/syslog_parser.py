"""The parser `syslog`: what the messages of syslog say of themselves."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.text.timezones import LOCAL, Timezone

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
