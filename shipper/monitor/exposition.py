"""`/metrics` in Prometheus' text format. Imported on the first request."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from log_shipper.shipper.monitor.measure import PREFIX, Measure, Times
from log_shipper.shipper.monitor.measures import INFO, INFO_LABELS, MEASURES, START_TIME
from log_shipper.shipper.monitor.snapshot import Snapshot
from log_shipper.shipper.monitor.status import AgentIdentity

__all__ = ["CONTENT_TYPE_LATEST", "exposition"]


def exposition(identity: AgentIdentity, snapshot: Snapshot | None) -> bytes:
    """Return all metrics; without a snapshot, while the shipper starts, only those of the process."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(identity, snapshot))
    return generate_latest(registry)


class _Snapshot(Collector):
    def __init__(self, identity: AgentIdentity, snapshot: Snapshot | None) -> None:
        self._identity = identity
        self._snapshot = snapshot

    def describe(self) -> list[Metric]:
        """Return nothing: otherwise the registry would collect an extra time to learn the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        identity = self._identity
        yield GaugeMetricFamily(PREFIX + START_TIME[0], START_TIME[1], value=identity.started)
        info = GaugeMetricFamily(PREFIX + INFO[0], INFO[1], labels=INFO_LABELS)
        info.add_metric((identity.version, identity.name), 1)
        yield info
        if self._snapshot is not None:
            yield from (family(measure, self._snapshot) for measure in MEASURES)


def family(measure: Measure | Times, snapshot: Snapshot) -> Metric:
    """Return a metric with all its samples from a snapshot."""
    name = PREFIX + measure.name
    if isinstance(measure, Times):
        times = measure.distribution(snapshot)
        if times is None:
            return HistogramMetricFamily(name, measure.text)
        bounds = [*(f"{bound:g}" for bound in times.bounds), "+Inf"]
        buckets = list(zip(bounds, times.counts, strict=True))
        return HistogramMetricFamily(name, measure.text, buckets=buckets, sum_value=times.total)
    kind = CounterMetricFamily if measure.kind == "counter" else GaugeMetricFamily
    made = kind(name, measure.text, labels=measure.labels)
    for labels, value in measure.samples(snapshot):
        made.add_metric(labels, value)
    return made
