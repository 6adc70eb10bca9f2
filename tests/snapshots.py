"""A snapshot of an agent that is well, for the tests of what is made of it."""

from dataclasses import replace
from typing import Any

from log_shipper.runtime.monitor.histogram import Distribution
from log_shipper.shipper.metrics import ContainerCounts, DiskQueueFigures, Metrics
from log_shipper.shipper.monitor.snapshot import (
    DiskSpace,
    FileLag,
    InputFigures,
    OutputFigures,
    QueueFigures,
    RegistryFigures,
    Snapshot,
)

SECONDS = Distribution((0.1, 1.0), (2, 3, 4), 2.5)
WELL = Snapshot(
    time=1_795_558_300.0,
    monotonic=100.0,
    metrics=Metrics(
        events_read=1000,
        events_acked=900,
        events_dead_lettered=3,
        events_filtered=7,
        bytes_read=50_000,
        bytes_acked=45_000,
        harvesters_started=5,
        harvesters_closed=2,
        files_truncated=1,
    ),
    events_published=995,
    inputs=(InputFigures("app", "filestream", 1000, 50_000, 5000, 3, 1.5),),
    files=(FileLag("/var/log/app.log", "app", 5000, 1.5),),
    files_open=3,
    files_waiting=1,
    reads=1000,
    behind=5000,
    oldest=1.5,
    problems={},
    watches=4,
    watch_fallbacks=0,
    output=OutputFigures(kind="Kafka", reached=True, batches_in_flight=2),
    produce=SECONDS,
    queue=QueueFigures(100, 3200, 60_000, 1_000_000),
    registry=RegistryFigures(6, 8, 0, False, SECONDS),
    letters=(),
    letters_waiting=0,
    reloads_ok=2,
    reloads_failed=1,
    is_reload_refused=False,
    containers=ContainerCounts(3, 4, 1, 20),
    silent=0.01,
    disk=DiskSpace(10**10, 10**11, is_low=False),
)


# A queue on disk in which something waits.
KEPT = DiskQueueFigures(
    bytes=7 * 1024**2,
    max_bytes=10**9,
    segments=2,
    waiting_events=900,
    waiting_bytes=50 * 1024**2,
    events_written=1000,
    events_read=100,
    events_lost=1,
    problem="",
    is_full=False,
    watermark=0,
    fsync=SECONDS,
)


def later(snapshot: Snapshot, seconds: float, **changes: Any) -> Snapshot:
    """Return the snapshot as it is after these seconds."""
    times = {"time": snapshot.time + seconds, "monotonic": snapshot.monotonic + seconds}
    return replace(snapshot, **{**times, **changes})
