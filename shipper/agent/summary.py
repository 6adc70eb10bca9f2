"""The log line that reports rates and counters every 30 seconds, if anything changed, and once more at the end.

As text it is one line without counters that are 0; as JSON it also has these fields:

    summary.state                   running; stopped in the last line
    summary.seconds                 length of the period; of the last line, run time of the agent
    summary.rate.events_read        per second in the period; also events_acked, bytes_read
    summary.delta.NAME              increase of the counter in the period, if any
    summary.total.NAME              the counter since the start
    summary.files_open, summary.bytes_behind, summary.topics_waiting    current
"""

import logging
from dataclasses import asdict, replace

from log_shipper.config.text.units import readable_bytes
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.base import SourceStatus
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)

INTERVAL = 30.0
NOW = ("topics_waiting",)  # metrics that are no counters
ALWAYS = ("events_read", "events_acked")  # shown even if 0
RATES = ("events_read", "events_acked", "bytes_read")


class Summary:
    def __init__(self, metrics: Metrics, sources: BatchSources, clock: Clock, interval: float = INTERVAL) -> None:
        self._metrics = metrics
        self._sources = sources
        self._clock = clock
        self._interval = interval
        self._started = self._logged_at = clock.monotonic()
        self._before = replace(metrics)
        self._behind = 0
        self._due = self._started + interval

    def step(self) -> None:
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + self._interval
        status = self._sources.status()
        if self._metrics != self._before or _behind(status) != self._behind:
            seconds = now - self._logged_at
            self._log("running", status, seconds, _rise(self._before, self._metrics))
            self._behind = _behind(status)
        self._before, self._logged_at = replace(self._metrics), now

    def last(self, status: SourceStatus) -> None:
        """Log the last line; `status` is from before the sources were stopped."""
        self._log("stopped", status, self._clock.monotonic() - self._started, None)

    def _log(self, state: str, status: SourceStatus, seconds: float, rise: dict[str, int] | None) -> None:
        totals = asdict(self._metrics)
        now = {name: totals.pop(name) for name in NOW}
        now |= {"files_open": status.files_open, "bytes_behind": _behind(status)}
        rates = {name: round((totals if rise is None else rise)[name] / max(seconds, 0.001), 1) for name in RATES}
        fields: dict[str, object] = {"summary.state": state, "summary.seconds": round(seconds, 1)}
        fields |= {f"summary.rate.{name}": rate for name, rate in rates.items()}
        fields |= {f"summary.delta.{name}": value for name, value in (rise or {}).items() if value}
        fields |= {f"summary.total.{name}": value for name, value in totals.items() if value or name in ALWAYS}
        fields |= {f"summary.{name}": value for name, value in now.items()}
        files = f"{status.files_open} open file{'s'[: status.files_open != 1]}"
        logger.info(
            "%s: read %s events/s (%s/s), acknowledged %s/s, %s%s | %.0f s%s | total: %s%s",
            state,
            _number(rates["events_read"]),
            readable_bytes(round(rates["bytes_read"])),
            _number(rates["events_acked"]),
            f"{readable_bytes(_behind(status))} behind in {files}",
            f" and {status.waiting} waiting" if status.waiting else "",
            seconds,
            "" if rise is None else f": {_counters(rise)}",
            _counters(totals),
            "".join(f" {name}={now[name]}" for name in NOW if now[name]),
            extra=fields,
        )


def _behind(status: SourceStatus) -> int:
    return status.bytes_behind + status.bytes_waiting


def _rise(before: Metrics, after: Metrics) -> dict[str, int]:
    """Return the increase of each counter."""
    return {name: value - getattr(before, name) for name, value in asdict(after).items() if name not in NOW}


def _counters(values: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items() if value or name in ALWAYS)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"
