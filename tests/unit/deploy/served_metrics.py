"""What the two programs serve at /metrics: each name that can be asked for, and its labels."""

import re
from collections.abc import Iterator

import promql_parser

from spark_sink.monitor.metrics import SinkMetrics

SCRAPED = {"instance", "job"}  # labels that Prometheus adds itself
PROMETHEUS = {"up": (), "ALERTS": ("alertname", "alertstate")}  # series that it makes itself
JOBS = {"shipper", "spark-sink"}

_SHIPPER_COUNTERS = (
    *("events_read", "events_acknowledged", "events_dead_lettered", "events_filtered", "events_truncated"),
    *("events_split", "messages_cut_short", "processor_failures", "bytes_read", "bytes_acknowledged", "bytes_lost"),
    *("transactions_committed", "transactions_aborted", "batches_retried", "harvesters_started", "harvesters_closed"),
    *("files_truncated", "files_resent"),
)
_SHIPPER_GAUGES = (
    *("output_reached", "output_failing", "topics_waiting", "queue_events", "queue_events_capacity", "queue_bytes"),
    *("queue_bytes_capacity", "batches_in_flight", "lag_bytes", "oldest_unacknowledged_seconds", "files_open"),
    *("files_waiting", "file_problems", "registry_entries", "registry_failing", "watches", "watch_fallbacks"),
    *("dead_letters_waiting", "data_free_bytes", "kubernetes_cache_pods", "loop_silent_seconds", "start_time_seconds"),
)
_SHIPPER_LABELLED = {
    "input_events_read_total": ("input",),
    "input_bytes_read_total": ("input",),
    "output_errors_total": ("kind",),
    "input_lag_bytes": ("input",),
    "file_lag_bytes": ("path", "input"),
    "input_oldest_unacknowledged_seconds": ("input",),
    "input_files_open": ("input",),
    "registry_saves_total": ("result",),
    "reloads_total": ("result",),
    "info": ("version", "name"),
}
_SHIPPER_HISTOGRAMS = ("produce_seconds", "registry_fsync_seconds")


def shipper_metrics() -> dict[str, tuple[str, ...]]:
    plain = [*(f"{name}_total" for name in _SHIPPER_COUNTERS), *_SHIPPER_GAUGES]
    labels = dict.fromkeys(plain, ()) | _SHIPPER_LABELLED
    for name in _SHIPPER_HISTOGRAMS:
        labels |= _histogram(name, ())
    return {f"shipper_{name}": names for name, names in labels.items()}


def sink_metrics() -> dict[str, tuple[str, ...]]:
    metrics = SinkMetrics()
    families = {metric.name: metric.type for metric in metrics.registry.collect()}
    collectors = {
        metric._name: metric._labelnames for metric in vars(metrics).values() if hasattr(metric, "_labelnames")
    }
    served: dict[str, tuple[str, ...]] = {}
    for name, kind in families.items():
        labels = tuple(collectors[name])
        served |= _histogram(name, labels) if kind == "histogram" else {_as_asked(name, kind): labels}
    return served


def _as_asked(name: str, kind: str) -> str:
    return f"{name}_total" if kind == "counter" else name


def _histogram(name: str, labels: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {f"{name}_bucket": (*labels, "le"), f"{name}_sum": labels, f"{name}_count": labels}


SERVED = PROMETHEUS | shipper_metrics() | sink_metrics()


def names_in(expression: str) -> set[str]:
    """Return the metrics that an expression asks for. Raises ValueError if it is not PromQL."""
    promql_parser.parse(expression)
    return set(re.findall(r"\b(?:shipper|spark_sink)_\w+|\bup\b|\bALERTS\b", _without_texts(expression)))


def labels_in(expression: str) -> Iterator[tuple[str, str]]:
    """Yield each metric of an expression with each label that it is selected by."""
    for name, selectors in re.findall(r"\b(\w+)\{([^}]*)\}", expression):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", _without_texts(selectors)):
            yield name, label


def _without_texts(expression: str) -> str:
    return re.sub(r'"[^"]*"', '""', expression)
