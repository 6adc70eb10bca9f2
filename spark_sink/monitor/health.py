"""The health of the sink in words: what happens, and what to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from log_shipper.runtime.monitor.health import Health
from log_shipper.spark_sink.errors import enumerated
from log_shipper.spark_sink.monitor.observations import SinkState

# The same as in the alerts (deploy/prometheus/spark-sink-alerts.yml).
BAD_SECONDS = 900.0
LOST_SECONDS = 3600.0
GROUP_SECONDS = 900.0
MUCH_LAG = 100_000  # offsets


@dataclass(frozen=True, slots=True)
class Inactivity:
    """Seconds since the query completed a batch or found no new records (`silent`), and since the sink made any
    progress (`stalled`); `limit`: of both."""

    silent: float
    stalled: float
    limit: float


def health(sink: SinkState, inactivity: Inactivity, lags: Sequence[int | None], now: float) -> Health:
    """Return the health. `lags`: of the last ten minutes, oldest first."""
    if sink.missing:
        return Health("starting", f"Waiting for {enumerated(sink.missing, 3)}. {_WAITING}")
    if inactivity.stalled > inactivity.limit:
        return Health(
            "failing",
            f"The sink has made no progress for {elapsed(inactivity.stalled)} (limit: {elapsed(inactivity.limit)}); "
            "nothing lands. Check the log; a restart is safe.",
        )
    if not sink.streaming:
        return Health("starting", "Checking the tables and marks before the first micro-batch.")
    if problems := list(_problems(sink, inactivity, lags, now)):
        return Health("degraded", " ".join(problems), len(problems))
    return Health("ok", _landing(sink, now))


_WAITING = (
    "Nothing lands until all of them exist: create them, give the credentials the permission to see them, or correct "
    "kafka in the configuration."
)


def _problems(sink: SinkState, inactivity: Inactivity, lags: Sequence[int | None], now: float) -> Iterator[str]:
    if inactivity.silent > inactivity.limit:
        yield (
            f"No micro-batch has finished for {elapsed(inactivity.silent)}: the current one is large or slow. Its rows "
            "appear when it finishes; for shorter micro-batches, lower max_offsets_per_trigger."
        )
    if _is_recent(sink.last_lost, LOST_SECONDS, now):
        yield (
            f"Kafka deleted {sink.lost:,} offsets before they were read: the sink was further behind than the topic's "
            "retention. The dead-letter table lists them."
        )
    if failed := sorted(name for name, figures in sink.views.items() if figures.failed):
        yield (
            f"The view{'s' * (len(failed) > 1)} {enumerated(failed, 3)} failed; lines still land. The sink restarts "
            "it, unless the log asks for an action first."
        )
    if _is_recent(sink.last_bad, BAD_SECONDS, now):
        yield (
            f"Records could not be parsed (most recently {elapsed(now - (sink.last_bad or now))} ago) and are in the "
            "dead-letter table. Correct their producer or the configuration, then run spark-sink repair --reason."
        )
    if is_falling_behind(lags):
        yield (f"The lag is growing: {sink.lag:,} records. Give the sink more cores, or raise max_offsets_per_trigger.")
    if _is_recent(sink.last_group_failure, GROUP_SECONDS, now):
        yield (
            "Cannot commit offsets to the monitoring group; Kafka's tools show too much lag. Check the permissions "
            "of kafka.group_id."
        )


def is_falling_behind(lags: Sequence[int | None]) -> bool:
    """Return True if the lag is high, and higher than in the oldest sample of at least half the time."""
    known = [lag for lag in lags if lag is not None]
    if len(known) < len(lags) / 2 or len(known) < 150:
        return False
    return known[-1] > MUCH_LAG and known[-1] > 1.2 * known[0]


def _landing(sink: SinkState, now: float) -> str:
    if sink.last_batch is None:
        return "The query is running; Kafka has no new records."
    behind = f"{sink.lag:,} records were behind" if sink.lag else "no records were behind"
    ago = elapsed(now - sink.last_batch)
    return f"Lines land. The last micro-batch, {ago} ago, had {sink.batch_rows:,} rows; {behind} then."


def _is_recent(time: float | None, seconds: float, now: float) -> bool:
    return time is not None and now - time < seconds


def elapsed(seconds: float) -> str:
    """Return a duration in words: "40 seconds", "5 minutes"."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size or seconds == size:
            number = round(seconds / size)
            return f"{number} {unit}{'s' * (number != 1)}"
    number = round(max(0.0, seconds))
    return f"{number} second{'s' * (number != 1)}"
