"""`logging`: the shipper's own log."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, file_mode, not_blank, without_nul
from log_shipper.config.text.units import Duration, Size
from log_shipper.runtime.logs.options import LogLinesConfig
from log_shipper.shipper.options import filebeat

COMPONENTS = ("source", "reader", "processor", "pipeline", "output", "registry", "reload", "monitor", "kafka")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMetricsConfig:
    ignored: ClassVar = filebeat.METRICS_IGNORED
    enabled: bool = field(default=True, metadata={"doc": "Logs a line of metrics periodically."})
    period: Duration = field(
        default=30.0,
        metadata={"doc": "How often metrics are logged; periods without activity are skipped.", "min": 0.1},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilesConfig:
    ignored: ClassVar = filebeat.LOG_FILES_IGNORED
    path: str | None = field(
        default=None,
        metadata={"doc": "The directory of log files; by default path.logs, or `logs`.", "check": without_nul},
    )
    name: str = field(
        default="shipper",
        metadata={"check": not_blank, "doc": "The file name without its suffix, .ndjson (JSON) or .log (text)."},
    )
    rotateeverybytes: Size = field(
        default=10 * 1024**2,
        metadata={"doc": "Maximum file size; larger files are rotated.", "unit": "bytes", "min": 1024},
    )
    keepfiles: int = field(
        default=7,
        metadata={"doc": "Number of rotated files to keep; name.ndjson.1 is the newest.", "min": 2, "max": 1024},
    )
    permissions: str = field(default="0600", metadata={"doc": "The mode of new files.", "check": file_mode})
    interval: Duration = field(
        default=0.0,
        metadata={
            "doc": "Rotates at this interval, whatever the size; 0: never. 1m, 1h, 24h, 168h, 720h and 8760h are "
            "calendar units of local time; other intervals count from 1970.",
            "unit": "seconds",
        },
    )
    rotateonstartup: bool = field(default=True, metadata={"doc": "Rotates an existing file at startup."})
    redirect_stderr: bool = field(
        default=False,
        metadata={"doc": "Redirects standard error, such as output of libraries and Python, to the file."},
    )

    def check(self) -> Iterator[Finding]:
        if 0 < self.interval < 1:
            yield "interval", "must be at least 1s, or 0 for never"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingConfig(LogLinesConfig):
    components: ClassVar = COMPONENTS
    to_stderr: bool = field(default=False, metadata={"since": "0.3", "doc": "Logs only to stderr, as `-e` does."})
    to_files: bool | None = field(
        default=None,
        metadata={"since": "0.3", "doc": "Logs to files; by default only if `files` has any option."},
    )
    to_syslog: bool = field(
        default=False, metadata={"since": "0.3", "doc": "Logs to the local syslog with facility daemon."}
    )
    files: LogFilesConfig | None = field(
        default=None, metadata={"since": "0.3", "doc": "Log files and their rotation."}
    )
    metrics: LogMetricsConfig = field(default_factory=LogMetricsConfig)

    def written(self, path_logs: str | None) -> list[str]:
        """Return the path of the current log file and of the rotated ones; empty if not logged to files."""
        wanted = self.files is not None if self.to_files is None else self.to_files
        if not wanted or self.to_stderr:
            return []
        files = self.files or LogFilesConfig()
        name = f"{files.name}{'.log' if self.format == 'text' else '.ndjson'}"
        path = os.path.join(files.path or path_logs or "logs", name)
        return [path, *(f"{path}.{number}" for number in range(1, files.keepfiles + 1))]
