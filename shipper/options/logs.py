"""`logging`: what the shipper logs about itself."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, file_mode, not_blank
from log_shipper.config.text.units import Duration, Size
from log_shipper.runtime.logs.options import LogLinesConfig
from log_shipper.shipper.options import filebeat

COMPONENTS = ("source", "reader", "processor", "pipeline", "output", "registry", "reload", "monitor", "kafka")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMetricsConfig:
    ignored: ClassVar = filebeat.METRICS_IGNORED
    enabled: bool = field(default=True, metadata={"doc": "Whether a line of metrics is logged while the shipper runs."})
    period: Duration = field(
        default=30.0,
        metadata={"doc": "How often this line is logged; a period without activity is skipped.", "min": 0.1},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilesConfig:
    ignored: ClassVar = filebeat.LOG_FILES_IGNORED
    path: str | None = field(
        default=None, metadata={"doc": "The directory of the log files; path.logs when absent, and `logs` without it."}
    )
    name: str = field(
        default="shipper",
        metadata={"check": not_blank, "doc": "The name of the file, without the .ndjson of JSON and the .log of text."},
    )
    rotateeverybytes: Size = field(
        default=10 * 1024**2, metadata={"doc": "How large the file may become.", "unit": "bytes", "min": 1024}
    )
    keepfiles: int = field(
        default=7,
        metadata={"doc": "How many rotated files are kept: name.ndjson.1 is the newest.", "min": 2, "max": 1024},
    )
    permissions: str = field(default="0600", metadata={"doc": "The mode of a new file.", "check": file_mode})
    interval: Duration = field(
        default=0.0,
        metadata={
            "doc": "How often the file is rotated whatever its size; 0 for never. 1m, 1h, 24h, 168h, 720h and 8760h "
            "follow minute, hour, day, week, month and year of the local clock, others are counted from 1970.",
            "unit": "seconds",
        },
    )
    rotateonstartup: bool = field(default=True, metadata={"doc": "Whether a start rotates a file that exists."})
    redirect_stderr: bool = field(
        default=False,
        metadata={
            "doc": "Whether what libraries and Python itself write to standard error goes to the file too, as it is."
        },
    )

    def check(self) -> Iterator[Finding]:
        if 0 < self.interval < 1:
            yield "interval", "must be at least 1s, or 0 for never"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingConfig(LogLinesConfig):
    components: ClassVar = COMPONENTS
    to_stderr: bool = field(
        default=False, metadata={"since": "0.2", "doc": "Logs to stderr, and nowhere else, as `-e` does."}
    )
    to_files: bool | None = field(
        default=None,
        metadata={"since": "0.2", "doc": "Logs to files; when absent, it does if `files` has any option."},
    )
    to_syslog: bool = field(
        default=False, metadata={"since": "0.2", "doc": "Logs to the syslog of this machine, with the facility daemon."}
    )
    files: LogFilesConfig | None = field(
        default=None, metadata={"since": "0.2", "doc": "The files, and how they are rotated."}
    )
    metrics: LogMetricsConfig = field(default_factory=LogMetricsConfig)

    def written(self, path_logs: str | None) -> list[str]:
        """Return the path of the current log file, and those of the rotated ones; none if it is logged elsewhere."""
        wanted = self.files is not None if self.to_files is None else self.to_files
        if not wanted or self.to_stderr:
            return []
        files = self.files or LogFilesConfig()
        name = f"{files.name}{'.log' if self.format == 'text' else '.ndjson'}"
        path = os.path.join(files.path or path_logs or "logs", name)
        return [path, *(f"{path}.{number}" for number in range(1, files.keepfiles + 1))]
