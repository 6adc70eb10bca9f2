"""Creates the queue on disk with the events left in it."""

import logging
from contextlib import ExitStack
from pathlib import Path

from log_shipper.shipper.agent.committed_positions import Stopped
from log_shipper.shipper.agent.environment import Environment, QueueParts
from log_shipper.shipper.agent.queue_entry import QueueEntry, report_others
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.queues import DiskQueueConfig
from log_shipper.shipper.pipeline.disk_queue.backlog import Backlog
from log_shipper.shipper.pipeline.disk_queue.directory import open_directory, translated
from log_shipper.shipper.pipeline.disk_queue.files import SegmentDisk
from log_shipper.shipper.pipeline.disk_queue.options import QueueOptions
from log_shipper.shipper.pipeline.disk_queue.queue import DiskQueue
from log_shipper.shipper.pipeline.disk_queue.segments import LoadedSegments, ignore_frame, load
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore
from log_shipper.shipper.pipeline.disk_queue.watermarks import WatermarkLevels, Watermarks
from log_shipper.shipper.pipeline.disk_queue.writer import SegmentWriter, WriterOptions

logger = logging.getLogger(__name__)


class DiskQueues:
    """Creates the queue of an agent. `environment` is the agent's."""

    def __init__(self, config: ShipperConfig, environment: Environment, parts: QueueParts) -> None:
        self._config = config.queue.disk or DiskQueueConfig()
        self._registry: Path = environment.data / config.registry.path
        self._environment = environment
        self._parts = parts

    def make_later(self, directory: Path) -> DiskQueue | None:
        """Return a queue for a running agent, or None if it cannot be created, which is logged."""
        try:
            return self.make(directory, takes_all=False)
        except (StartError, Stopped) as error:
            logger.error("%s; until then, events that cannot be re-read are kept in memory only", error)
            return None

    def make(self, directory: Path, *, takes_all: bool) -> DiskQueue:
        """Return the queue with the events left in it; `stack` closes it. Raises StartError, Stopped."""
        with ExitStack() as locked:  # released on failure: otherwise, the next attempt would find it in use
            return self._make(directory, locked, takes_all=takes_all)

    def _make(self, directory: Path, locked: ExitStack, *, takes_all: bool) -> DiskQueue:
        parts, clock = self._parts, self._environment.clock
        files, is_transactional = SegmentDisk(), parts.staging is not None
        with translated(directory):
            queue_id = open_directory(directory, locked)
            entry = QueueEntry(queue_id, directory, parts.registrar, clock)
            if is_transactional and entry.is_new:
                entry.save(self._environment.stopping)
            seed = int(queue_id[:16], 16)
            look = entry.look_for_repeats if is_transactional else ignore_frame
            loaded = load(files, directory, seed, entry.progress, look)
            entry.keep_repeats()
        _report(loaded, directory)
        loaded.lost.events += report_others(queue_id, directory, parts.registrar)
        segment_size = self._config.bytes_of_segment
        store = SegmentStore(files, directory, seed, segment_size, loaded.segments, loaded.written)
        backlog = Backlog(files, store, loaded.waiting, loaded.lost)
        config = self._config
        options = QueueOptions(config.flush, config.read_ahead, config.write_ahead, takes_all, is_transactional)
        writer = self._writer(store)
        queue = DiskQueue(parts.memory, writer, backlog, entry.positions(parts.staging), options, clock)
        queue.resume(loaded.progress, loaded.next_sequence, entry.repeats)
        parts.stack.push(locked.pop_all())
        parts.stack.callback(queue.close, 1.0)
        writer.start()
        return queue

    def _writer(self, store: SegmentStore) -> SegmentWriter:
        config, monotonic = self._config, self._environment.clock.monotonic
        marks = WatermarkLevels(config.watermark.low, config.watermark.high, config.watermark.flood)
        options = WriterOptions(
            config.max_size,
            config.compression == "zstd",
            Backoff(config.retry_interval, config.max_retry_interval),
            Watermarks((store.directory, self._registry), marks, monotonic),
        )
        return SegmentWriter(store, options, self._environment.wake.set_if_open, monotonic)


def _report(loaded: LoadedSegments, directory: Path) -> None:
    waiting = loaded.waiting
    if waiting.frames:
        logger.info("%d events in %s are delivered first", waiting.events, directory)
