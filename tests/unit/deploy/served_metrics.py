"""What the two programs serve at /metrics: each name that can be asked for, and its labels."""

import re
from collections.abc import Iterator

import promql_parser

from log_shipper.shipper.monitor.measure import PREFIX, Times
from log_shipper.shipper.monitor.measures import INFO, INFO_LABELS, MEASURES, START_TIME
from log_shipper.spark_sink.monitor.metrics import SinkMetrics

SCRAPED = {"instance", "job"}  # labels that Prometheus adds itself
PROMETHEUS = {"up": (), "ALERTS": ("alertname", "alertstate")}  # series that it makes itself
JOBS = {"shipper", "spark-sink"}


def shipper_metrics() -> dict[str, tuple[str, ...]]:
    served = {f"{PREFIX}{START_TIME[0]}": (), f"{PREFIX}{INFO[0]}": INFO_LABELS}
    for measure in MEASURES:
        name, labels = measure.exposed, measure.labels
        served |= _histogram(name, labels) if isinstance(measure, Times) else {name: labels}
    return served


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
