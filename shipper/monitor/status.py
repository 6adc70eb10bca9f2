"""The document at /status, for the page and `shipper top`. The sink's has the same form."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from log_shipper.runtime.logs.recent import RecentMessage
from log_shipper.runtime.monitor.document import Document, chart, table
from log_shipper.runtime.monitor.health import Health
from log_shipper.shipper.monitor.sampler import Sampler
from log_shipper.shipper.monitor.series import CHARTS, STEP, Rates, Series
from log_shipper.shipper.monitor.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """The agent's `name` and `id`, its `host`, and `started` in unix time."""

    name: str
    host: str
    id: str
    version: str
    started: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure; `counts`: it only rises, so it has a rate."""

    id: str
    label: str
    unit: str
    value: Callable[[Snapshot], int]
    counts: bool = False


FIGURES = (
    Figure("events_read", "Events read", "events", lambda s: s.metrics.events_read, True),
    Figure("events_acknowledged", "Events acknowledged", "events", lambda s: s.metrics.events_acked, True),
    Figure("bytes_read", "Bytes read", "bytes", lambda s: s.metrics.bytes_read, True),
    Figure("bytes_acknowledged", "Bytes acknowledged", "bytes", lambda s: s.metrics.bytes_acked, True),
    Figure("lag_bytes", "Bytes behind", "bytes", lambda s: s.behind),
    Figure("queue_events", "Events in the queue", "events", lambda s: s.queue.events),
    Figure("batches_in_flight", "Batches in flight", "batches", lambda s: s.output.batches_in_flight),
    Figure("batches_retried", "Batches sent again", "batches", lambda s: s.metrics.batches_retried, True),
    Figure("events_filtered", "Events dropped on purpose", "events", lambda s: s.metrics.events_filtered, True),
    Figure("events_dead_lettered", "Dead letters", "events", lambda s: s.metrics.events_dead_lettered, True),
    Figure("bytes_lost", "Bytes lost", "bytes", lambda s: s.metrics.bytes_lost, True),
    Figure("files_open", "Files open", "files", lambda s: s.files_open),
    Figure("files_waiting", "Files waiting", "files", lambda s: s.files_waiting),
)
AGE = {"id": "oldest_unacknowledged_seconds", "label": "Oldest unacknowledged", "unit": "seconds"}


def status(
    identity: AgentIdentity,
    sampler: Sampler | None,
    health: Health,
    errors: Sequence[RecentMessage],
    configuration: str,
) -> Document:
    """Return the document. Without a snapshot, while the shipper starts, it has no figures."""
    snapshot = None if sampler is None else sampler.latest
    rates, series = (sampler.rates, sampler.series) if sampler is not None else (Rates(), Series())
    return {
        "program": "shipper",
        "version": identity.version,
        "name": identity.name,
        "host": identity.host,
        "started": identity.started,
        "now": snapshot.time if snapshot is not None else identity.started,
        "health": health.document(),
        "figures": [] if snapshot is None else [*_figures(snapshot, rates)],
        "charts": _charts(series),
        "tables": tables(snapshot, rates, errors),
        "configuration": configuration,
    }


def _figures(snapshot: Snapshot, rates: Rates) -> Iterable[Document]:
    for figure in FIGURES:
        entry: Document = {"id": figure.id, "label": figure.label, "value": figure.value(snapshot), "unit": figure.unit}
        rate = rates.rate_of(figure.value) if figure.counts else None
        yield entry if rate is None else {**entry, "rate": rate}
    yield {**AGE, "value": round(snapshot.oldest or 0.0, 1)}
    if (queue := snapshot.disk_queue) is not None:
        yield {"id": "queue_disk_bytes", "label": "Queue on disk", "value": queue.bytes, "unit": "bytes"}
        waiting = {"id": "queue_disk_waiting_events", "label": "Events waiting on disk", "unit": "events"}
        yield {**waiting, "value": queue.waiting_events}
    if snapshot.kubernetes is not None:
        yield {"id": "kubernetes_pods", "label": "Pods known", "value": snapshot.kubernetes.pods, "unit": "pods"}


def _charts(series: Series) -> list[Document]:
    values = series.values()
    return [
        chart(
            shown.id,
            shown.title,
            shown.unit,
            {(line.id, line.label): values[shown.id, line.id] for line in shown.lines},
            step=STEP,
            until=series.until,
        )
        for shown in CHARTS
    ]


def tables(snapshot: Snapshot | None, rates: Rates, errors: Sequence[RecentMessage]) -> list[Document]:
    """Return the tables in the order of the page: lag, errors, inputs."""
    return [*_troubles(snapshot, errors), *_parts(snapshot, rates)]


def _troubles(snapshot: Snapshot | None, errors: Sequence[RecentMessage]) -> list[Document]:
    return [
        table(
            "files",
            "Files furthest behind",
            "No file is behind.",
            (
                ("path", "File", "text"),
                ("behind", "Behind", "bytes"),
                ("age", "Oldest", "seconds"),
                ("input", "Input", "text"),
            ),
            [(lag.path, lag.behind, _seconds(lag.oldest), lag.input_id) for lag in snapshot.files] if snapshot else [],
        ),
        table(
            "errors",
            "Last warnings and errors",
            "None since the start.",
            (
                ("time", "Time", "time"),
                ("level", "Level", "text"),
                ("message", "Message", "text"),
                ("count", "Count", "number"),
            ),
            [(line.time, line.level, line.message, line.count) for line in errors],
        ),
        table(
            "dead_letters",
            "Dead letters since the start",
            "No event was rejected.",
            (
                ("reason", "Reason", "text"),
                ("count", "Count", "number"),
                ("last", "Last", "time"),
                ("path", "Example", "text"),
                ("offset", "Offset", "number"),
            ),
            [(row.reason, row.count, row.last, row.path, row.offset) for row in snapshot.letters] if snapshot else [],
        ),
    ]


def _parts(snapshot: Snapshot | None, rates: Rates) -> list[Document]:
    return [
        table(
            "inputs",
            "Inputs",
            "No input is enabled.",
            (
                ("id", "Input", "text"),
                ("type", "Type", "text"),
                ("events", "Events read", "number"),
                ("rate", "Events per second", "number"),
                ("behind", "Behind", "bytes"),
                ("files", "Files open", "number"),
            ),
            _input_rows(snapshot, rates) if snapshot else [],
        ),
        table(
            "topics",
            "Blocked topics",
            "No topic is blocked.",
            (("topic", "Topic", "text"), ("reason", "Reason", "text")),
            list(snapshot.output.waiting.items()) if snapshot else [],
        ),
    ]


def _input_rows(snapshot: Snapshot, rates: Rates) -> list[tuple[object, ...]]:
    read = rates.rates_of(lambda taken: {one.id: one.events_read for one in taken.inputs})
    return [
        (one.id, one.type, one.events_read, read.get(one.id), one.behind, one.files_open) for one in snapshot.inputs
    ]


def _seconds(age: float | None) -> float | None:
    return None if age is None else round(age, 1)
