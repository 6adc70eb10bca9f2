"""The metrics of the queue on disk, part of the list in `measures`."""

from collections.abc import Callable

from log_shipper.shipper.metrics import DiskQueueFigures
from log_shipper.shipper.monitor.measure import Measure, Samples, Times, one
from log_shipper.shipper.monitor.snapshot import Snapshot


def _of_disk_queue(value: Callable[[DiskQueueFigures], float]) -> Callable[[Snapshot], Samples]:
    return one(lambda snapshot: None if snapshot.disk_queue is None else value(snapshot.disk_queue))


QUEUE_MEASURES: tuple[Measure | Times, ...] = (
    Measure(
        "gauge",
        "queue_disk_bytes",
        "Size of the queue on disk.",
        _of_disk_queue(lambda q: q.bytes),
    ),
    Measure(
        "gauge",
        "queue_disk_bytes_capacity",
        "Maximum size of the queue on disk; 0 if unlimited.",
        _of_disk_queue(lambda q: q.max_bytes),
    ),
    Measure(
        "gauge",
        "queue_disk_segments",
        "Files of the queue on disk.",
        _of_disk_queue(lambda q: q.segments),
    ),
    Measure(
        "gauge",
        "queue_disk_waiting_events",
        "Events on disk that are not in memory.",
        _of_disk_queue(lambda q: q.waiting_events),
    ),
    Measure(
        "gauge",
        "queue_disk_waiting_bytes",
        "Bytes of their messages, as read.",
        _of_disk_queue(lambda q: q.waiting_bytes),
    ),
    Measure(
        "counter",
        "queue_disk_events_written",
        "Events written to disk because they were not delivered in time.",
        _of_disk_queue(lambda q: q.events_written),
    ),
    Measure(
        "counter",
        "queue_disk_events_read",
        "Events read back.",
        _of_disk_queue(lambda q: q.events_read),
    ),
    Measure(
        "counter",
        "queue_disk_events_lost",
        "Events lost by damage to the disk, at least; the log has each place.",
        _of_disk_queue(lambda q: q.events_lost),
    ),
    Measure(
        "gauge",
        "queue_disk_failing",
        "1 while writes to the queue on disk fail.",
        _of_disk_queue(lambda q: bool(q.problem)),
    ),
    Measure(
        "gauge",
        "queue_disk_full",
        "1 while the queue on disk must not grow: its maximum size or a watermark is reached.",
        _of_disk_queue(lambda q: q.is_full),
    ),
    Measure(
        "gauge",
        "queue_disk_watermark",
        "The highest watermark reached by the file systems of queue and registry: 0 none, 1 low, 2 high, 3 flood.",
        _of_disk_queue(lambda q: q.watermark),
    ),
    Times(
        "queue_disk_fsync_seconds",
        "Duration of the fsyncs of the queue on disk.",
        lambda s: None if s.disk_queue is None else s.disk_queue.fsync,
    ),
)
