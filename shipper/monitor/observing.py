"""Takes a snapshot of a running agent from another thread.

It only reads. Numbers are read one by one, so two of them may differ by a batch; collections are copied in one call,
which the interpreter does not interrupt.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from heapq import nlargest
from itertools import chain

from log_shipper.shipper.agent.app import App
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.observation import Observation
from log_shipper.shipper.monitor.snapshot import (
    DiskSpace,
    FileLag,
    InputFigures,
    KubernetesFigures,
    OutputFigures,
    QueueFigures,
    RegistryFigures,
    Snapshot,
)
from log_shipper.shipper.output.base import Remote, SingleDestination
from log_shipper.shipper.pipeline.queue import MemoryQueue

MAX_FILES = 20


def take_snapshot(
    app: App,
    clock: Clock,
    disk: DiskSpace | None,
    *,
    reached: Callable[[], bool],
    before: Snapshot | None = None,
) -> Snapshot:
    """Return a snapshot. `reached`: the destination has responded once. `before`: the previous snapshot."""
    observation, now, queue = app.sources.observe(), clock.monotonic(), app.pipeline.queue
    # If nothing was read since all files were idle, they still are: skip looking at thousands of them.
    are_idle = before is not None and not before.files and before.reads == observation.reads and queue.has_room
    lags = [] if are_idle else list(_lags(observation, now, all_files=not queue.has_room))
    publisher, reloads = app.pipeline.publisher, app.reloader.reloads
    metrics = replace(app.metrics)
    delivered = metrics.events_acked or metrics.transactions_committed
    return Snapshot(
        time=clock.time(),
        monotonic=now,
        metrics=metrics,
        events_published=app.pipeline.processing.published,
        inputs=_inputs(app, observation, lags),
        files=nlargest(MAX_FILES, lags, key=lambda lag: (lag.behind, lag.oldest or 0.0)),
        files_open=len(observation.running),
        files_waiting=observation.waiting,
        reads=observation.reads,
        behind=sum(lag.behind for lag in lags) + observation.bytes_waiting + sum(observation.behind_of_feed.values()),
        oldest=_oldest(lags),
        problems=dict(observation.problems),
        watches=observation.watches,
        watch_fallbacks=observation.fallbacks,
        output=_output(app, reached=bool(delivered) or reached()),
        produce=publisher.latency.distribution(),
        queue=_queue(queue),
        registry=_registry(app),
        letters=publisher.letters.rows(),
        letters_waiting=publisher.letters_waiting,
        reloads_ok=reloads.ok,
        reloads_failed=reloads.failed,
        is_reload_refused=reloads.is_refused,
        silent=app.silent_for(now),
        disk=disk,
        kubernetes=_kubernetes(app),
        containers=replace(app.containers.counts) if app.containers.counts is not None else None,
        disk_queue=None if app.pipeline.disk is None else app.pipeline.disk.figures(),
        refused_for_containers=app.containers.problems(),
    )


def _lags(observation: Observation, now: float, *, all_files: bool) -> Iterator[FileLag]:
    """Yield the files with unacknowledged bytes. The size of an idle file, read to its end with nothing pending, is
    checked only with `all_files`: while the loop reads, it is the first to see new data.
    """
    for harvester in chain(observation.running, observation.draining):
        # Thousands of files are idle: check nothing else of them.
        if _is_idle(harvester) and not all_files:
            continue
        oldest = harvester.ledger.oldest
        behind = _behind(harvester)
        if behind or oldest is not None:
            age = None if oldest is None else max(now - oldest, 0.0)
            yield FileLag(harvester.state.path, harvester.source.input_id, behind, age)


def _is_idle(harvester: Harvester) -> bool:
    # Lines that the readers keep back, such as a message that may continue, are read but in no batch.
    return harvester.at_end and not harvester.ledger.open_batches and harvester.read_to <= harvester.offset


def _behind(harvester: Harvester) -> int:
    end = harvester.offset
    if harvester.is_open and not harvester.content.compressed:  # otherwise, the remaining content is unknown
        try:
            size = os.fstat(harvester.fd).st_size - harvester.padding
        except OSError:  # closed meanwhile
            size = end
        if harvester.is_open:  # otherwise, another file may have the number by now
            end = size
    return max(end - harvester.state.position, 0)


def _oldest(lags: Iterable[FileLag]) -> float | None:
    return max((lag.oldest for lag in lags if lag.oldest is not None), default=None)


def _inputs(app: App, observation: Observation, lags: Iterable[FileLag]) -> list[InputFigures]:
    of_input: dict[str, list[FileLag]] = defaultdict(list)
    for lag in lags:
        of_input[lag.input_id].append(lag)
    return [
        InputFigures(
            id=active.id,
            type=active.config.type,
            events_read=active.counts.events_read,
            bytes_read=active.counts.bytes_read,
            behind=sum(lag.behind for lag in of_input[active.id]) + observation.behind_of_feed.get(active.id, 0),
            files_open=observation.open_of_input.get(active.id, 0),
            oldest=_oldest(of_input[active.id]),
        )
        for active in app.reloader.running
    ]


def _output(app: App, *, reached: bool) -> OutputFigures:
    output = app.pipeline.output
    if not isinstance(output, Remote):
        problem = output.problem if isinstance(output, SingleDestination) else ""
        return OutputFigures(reached=True, failing=bool(problem), problem=problem, batches_in_flight=output.in_flight)
    errors = output.errors
    return OutputFigures(
        kind="Kafka",
        reached=reached,
        failing=errors.failing,
        problem=errors.problem if errors.failing else "",
        errors=errors.counts(),
        waiting=errors.waiting(),
        batches_in_flight=output.in_flight,
    )


def _queue(queue: MemoryQueue) -> QueueFigures:
    return QueueFigures(queue.events, queue.max_events, queue.bytes, queue.max_bytes)


def _registry(app: App) -> RegistryFigures:
    saves = app.registrar.saves
    return RegistryFigures(app.registrar.entries, saves.ok, saves.failed, saves.is_failing, saves.fsync.distribution())


def _kubernetes(app: App) -> KubernetesFigures | None:
    clusters = app.services.running("kubernetes")
    if not clusters:
        return None
    counts = [cluster.counts() for cluster in clusters]
    errors: Counter[str] = Counter()
    for count in counts:
        errors.update(count.errors)
    return KubernetesFigures(
        pods=sum(cluster.size for cluster in clusters),
        lists=sum(count.lists for count in counts),
        events=sum(count.events for count in counts),
        errors=errors,
    )
