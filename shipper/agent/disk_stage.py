"""Decides whether there is a queue on disk. What it is made of is imported where there is one."""

from collections.abc import Mapping
from pathlib import Path

from log_shipper.config.shipper.model import ShipperConfig
from log_shipper.config.shipper.queues import DiskQueueConfig
from log_shipper.registry.state import FileState
from log_shipper.shipper.agent.environment import QUEUE, Environment, QueueParts
from log_shipper.shipper.pipeline.pipeline import DiskOnDemand, DiskStage

DIRECTORY = "diskqueue"  # below path.data


def disk_stage(config: ShipperConfig, environment: Environment, parts: QueueParts) -> DiskStage | None:
    """Return the queue on disk; None where there is none. With a section for it everything passes through it. Without
    one, it is made when something comes that cannot be read again; or if something is left in it, which is delivered
    also if it is not enabled any more. Raises StartError, Stopped."""
    section = config.queue.disk
    directory = _directory(section, environment.data, parts.registrar.states)
    is_on = section is not None and section.enabled
    if is_on or _is_left(directory, parts.registrar.states):
        from log_shipper.shipper.agent.disk_queues import DiskQueues

        return DiskQueues(config, environment, parts).make(directory, takes_all=is_on)
    if section is not None:
        return None

    def make() -> DiskStage | None:
        from log_shipper.shipper.agent.disk_queues import DiskQueues

        return DiskQueues(config, environment, parts).make_later(directory)

    return DiskOnDemand(parts.memory, make, environment.clock.monotonic)


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
