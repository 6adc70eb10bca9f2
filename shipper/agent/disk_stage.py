"""Decides whether there is a queue on disk. Its modules are imported only if there is one."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from log_shipper.registry.state import FileState
from log_shipper.shipper.agent.environment import QUEUE, Environment, QueueParts
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.queues import DiskQueueConfig
from log_shipper.shipper.pipeline.pipeline import MakeDisk

if TYPE_CHECKING:
    from log_shipper.shipper.pipeline.disk_queue.queue import DiskQueue

DIRECTORY = "diskqueue"  # below path.data
MAKE_AGAIN = 5.0  # seconds


def disk_queue(config: ShipperConfig, environment: Environment, parts: QueueParts) -> "DiskQueue | None":
    """Return the queue on disk at the start, or None. With a section for it, all events pass through it; events left in
    a disabled one are also delivered. Raises StartError, Stopped.
    """
    section = config.queue.disk
    directory = _directory(section, environment.data, parts.registrar.states)
    is_on = section is not None and section.enabled
    if not is_on and not _is_left(directory, parts.registrar.states):
        return None
    from log_shipper.shipper.agent.disk_queues import DiskQueues

    return DiskQueues(config, environment, parts).make(directory, takes_all=is_on)


def disk_queue_on_demand(config: ShipperConfig, environment: Environment, parts: QueueParts) -> MakeDisk:
    """Return a function that creates a queue on disk on demand, when the configuration has no section for it. It logs a
    failure and then returns None until the next attempt, `MAKE_AGAIN` seconds later.
    """
    make_at = float("-inf")

    def make() -> "DiskQueue | None":
        nonlocal make_at
        now = environment.clock.monotonic()
        if config.queue.disk is not None or now < make_at:
            return None
        make_at = now + MAKE_AGAIN
        from log_shipper.shipper.agent.disk_queues import DiskQueues

        directory = _directory(None, environment.data, parts.registrar.states)
        return DiskQueues(config, environment, parts).make_later(directory)

    return make


def _is_left(directory: Path, states: Mapping[str, FileState]) -> bool:
    """Return True if events are left in the directory, or should be and are missing."""
    if any(directory.glob("*.seg")):
        return True
    used = [state for state in states.values() if state.kind == QUEUE]
    if not used:
        return False
    from log_shipper.shipper.agent.queue_entry import has_undelivered

    return any(map(has_undelivered, used))


def _directory(section: DiskQueueConfig | None, data: Path, states: Mapping[str, FileState]) -> Path:
    """Return the directory of the queue. If none is configured, because the section was removed or disabled, it is the
    last one used: it may still contain events.
    """
    if section is not None and section.path is not None:
        return Path(section.path)
    if section is None or not section.enabled:
        used = [state for state in states.values() if state.kind == QUEUE]
        if used:
            return Path(max(used, key=lambda state: state.updated).path)
    return data / DIRECTORY
