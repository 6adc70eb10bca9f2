"""The monitor's view of the queue on disk."""

from log_shipper.shipper.metrics import DiskQueueFigures
from log_shipper.shipper.pipeline.disk_queue.backlog import Backlog
from log_shipper.shipper.pipeline.disk_queue.watermarks import HIGH, OK
from log_shipper.shipper.pipeline.disk_queue.writer import SegmentWriter


def figures_of(writer: SegmentWriter, backlog: Backlog) -> DiskQueueFigures:
    """Return the state of the queue. Callable from any thread."""
    watermark = OK if writer.watermarks is None else writer.watermarks.level
    return DiskQueueFigures(
        bytes=writer.store.bytes,
        max_bytes=writer.max_size,
        segments=len(writer.store.segments),
        waiting_events=backlog.events,
        waiting_bytes=backlog.bytes,
        events_written=writer.events_written,
        events_read=backlog.events_read,
        events_lost=backlog.lost.events,
        problem=writer.problem,
        is_full=writer.is_full or watermark >= HIGH,
        watermark=watermark,
        fsync=writer.store.fsync.distribution(),
    )
