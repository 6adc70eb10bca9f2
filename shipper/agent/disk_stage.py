"""Decides whether there is a queue on disk. What it is made of is imported where there is one."""

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
    """Return the queue on disk that there is from the start; None where there is none. With a section for it everything
    passes through it; and what is left in one is delivered also if it is not enabled any more. Raises StartError,
    Stopped."""
    section = config.queue.disk
    directory = _directory(section, environment.data, parts.registrar.states)
    is_on = section is not None and section.enabled
    if not is_on and not _is_left(directory, parts.registrar.states):
        return None
    from log_shipper.shipper.agent.disk_queues import DiskQueues

    return DiskQueues(config, environment, parts).make(directory, takes_all=is_on)


def disk_queue_on_demand(config: ShipperConfig, environment: Environment, parts: QueueParts) -> MakeDisk:
    """Return what makes a queue on disk where there is no section for one; it returns None where it cannot be made now,
    which it has logged, and then until it tries again after `MAKE_AGAIN` seconds."""
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
    """True if something is left in the directory, or should be, and is missing."""
    if any(directory.glob("*.seg")):
        return True
    used = [state for state in states.values() if state.kind == QUEUE]
    if not used:
        return False
    from log_shipper.shipper.agent.disk_queues import has_undelivered

    return any(map(has_undelivered, used))


def _directory(section: DiskQueueConfig | None, data: Path, states: Mapping[str, FileState]) -> Path:
    """Return the directory of the queue. Where none is named, because the section was
    removed or turned off, it is the one that was used last: something may be left in it."""
    if section is not None and section.path is not None:
        return Path(section.path)
    if section is None or not section.enabled:
        used = [state for state in states.values() if state.kind == QUEUE]
        if used:
            return Path(max(used, key=lambda state: state.updated).path)
    return data / DIRECTORY
