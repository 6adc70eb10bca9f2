"""`logging`: what the shipper logs about itself."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, get_args

from log_shipper.config.shipper import filebeat
from log_shipper.config.text.checks import Finding, file_mode, not_blank
from log_shipper.config.text.units import Duration, Size

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


Level = Literal["debug", "info", "warning", "error", "critical"]
LEVELS: tuple[str, ...] = get_args(Level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinesConfig:
    """The options that the shipper and the sink share. Each has its own components."""

    components: ClassVar[tuple[str, ...]] = ()
    level: Level = field(default="info", metadata={"doc": "The lowest level that is logged."})
    levels: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "since": "0.2",
            "doc": "The lowest level of some components: `{source: debug, output: warning}`. `kafka` has librdkafka's "
            "own log, which is not logged without it.",
        },
    )
    selectors: tuple[str, ...] = field(
        default=(),
        metadata={
            "since": "0.2",
            "doc": "With `level: debug`, only these components are logged from debug on, and the others from info on: "
            "names as in `levels`, or Filebeat's selectors (harvester, publisher ...); `*` for all.",
            "split": ",",
        },
    )
    fold_repeated: bool = field(
        default=True,
        metadata={
            "since": "0.2",
            "doc": "Whether a message that repeats itself is logged once, and then once a minute with a count.",
        },
    )
    format: Literal["auto", "text", "json"] = field(
        default="auto", metadata={"doc": "The format of log lines; auto is text on a terminal and JSON elsewhere."}
    )
    json: bool | None = field(
        default=None, metadata={"doc": "Filebeat's option for `format`: true is json, false is text."}
    )

    def check(self) -> Iterator[Finding]:
        for name, level in self.levels.items():
            if name not in self.components:
                yield f"levels.{name}", f"{name!r} is not a component; known: {', '.join(self.components)}"
            elif str(level).lower() not in LEVELS:
                yield f"levels.{name}", f"{level!r} must be one of: {', '.join(LEVELS)}"

    def cautions(self) -> Iterator[Finding]:
        if not self.selectors:
            return
        from log_shipper.config.shipper.selectors import without_component  # few configurations have them

        for selector in without_component(self.selectors, self.components):
            yield (
                "selectors",
                f"{selector!r} selects nothing here; known: {', '.join(self.components)}, and * for all of them",
            )

    def converted(self) -> Self:
        """Return the options with `json` as `format`, and `selectors` as `levels`."""
        written = self.format if self.json is None or self.format != "auto" else "json" if self.json else "text"
        level: Level = self.level
        levels = {name: given.lower() for name, given in self.levels.items()}
        if level == "debug" and self.selectors:
            from log_shipper.config.shipper.selectors import ALL, selected

            chosen = selected(self.selectors, self.components)
            level = "debug" if ALL in self.selectors else "info"
            levels = {name: "debug" for name in self.components if name in chosen} | levels
        return replace(self, json=None, format=written, level=level, levels=levels, selectors=())


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingConfig(LogLinesConfig):
    components: ClassVar = COMPONENTS
    ignored: ClassVar = filebeat.LOGGING_IGNORED
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
