"""`logging`: what the shipper logs about itself."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from config.shipper import filebeat
from config.text.units import Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMetricsConfig:
    ignored: ClassVar = filebeat.METRICS_IGNORED
    enabled: bool = field(default=True, metadata={"doc": "Whether a line of metrics is logged while the shipper runs."})
    period: Duration = field(
        default=30.0,
        metadata={"doc": "How often this line is logged; a period without activity is skipped.", "min": 0.1},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingConfig:
    ignored: ClassVar = filebeat.LOGGING_IGNORED
    level: Literal["debug", "info", "warning", "error"] = field(
        default="info", metadata={"doc": "The lowest level that is logged."}
    )
    format: Literal["auto", "text", "json"] = field(
        default="auto", metadata={"doc": "The format of log lines; auto is text on a terminal and JSON elsewhere."}
    )
    json: bool | None = field(
        default=None, metadata={"doc": "Filebeat's option for `format`: true is json, false is text."}
    )
    metrics: LogMetricsConfig = field(default_factory=LogMetricsConfig)

    def converted(self) -> "LoggingConfig":
        if self.json is None or self.format != "auto":
            return replace(self, json=None)
        return replace(self, json=None, format="json" if self.json else "text")
