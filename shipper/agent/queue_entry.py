"""The queue's entry in the registry."""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.agent.committed_positions import Stopped
from log_shipper.shipper.agent.environment import QUEUE
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.pipeline.disk_queue.content import BatchDecoder, expanded
from log_shipper.shipper.pipeline.disk_queue.frames import Frame
from log_shipper.shipper.pipeline.disk_queue.options import QueuePositions, QueueProgress
from log_shipper.shipper.pipeline.disk_queue.repeats import Repeats

logger = logging.getLogger(__name__)

SAVE_CHECK = 0.2  # seconds


class QueueEntry:
    """The queue's saved progress, used only by the reading thread. `progress` is None if the registry does not know the
    queue.
    """

    def __init__(self, queue_id: str, directory: Path, registrar: Registrar, clock: Clock) -> None:
        known = registrar.states.get(queue_id)
        self.is_new = known is None
        self._state = known or FileState(
            id=queue_id, path=str(directory), device=0, inode=0, updated=clock.time(), kind=QUEUE
        )
        self.progress = None if known is None else progress_of(known)
        self.repeats = Repeats(_values(self._state).get("ends", ""))
        self._decoder = BatchDecoder()
        self._registrar = registrar
        self._clock = clock

    def state_at(self, position: int) -> FileState:
        """Return the entry with this position."""
        return self._with(replace(self.progress or QueueProgress(), position=position))

    def _with(self, progress: QueueProgress) -> FileState:
        values = {"delivered": progress.delivered, "written": progress.written, "ends": self.repeats.text}
        cursor = json.dumps(values, separators=(",", ":"))
        return replace(self._state, position=progress.position, cursor=cursor, updated=self._clock.time())

    def look_for_repeats(self, frame: Frame, content: bytes) -> None:
        """Record that the file of a batch on disk may be re-read from before the batch."""
        with suppress(ValueError):  # reported when it is read
            self.repeats.note(*self._decoder.file_end(expanded(frame.kind, content)))

    def keep_repeats(self) -> None:
        """Keep only repeats that files may deliver again."""
        states = self._registrar.states

        def position_of(file_id: str) -> int | None:
            state = states.get(file_id)
            return None if state is None else state.position

        self.repeats.keep(position_of)

    def update(self, progress: QueueProgress) -> None:
        self.progress = progress
        self._registrar.note(self._with(progress))

    def positions(self, staging: Staging | None) -> QueuePositions:
        stage = None if staging is None else staging.stage_for(self.state_at)
        return QueuePositions(self.update, lambda progress: self._registrar.save([self._with(progress)]), stage)

    def save(self, stopping: Callable[[], bool]) -> None:
        """Write the entry to disk before anything is sent: entries unknown to the registry count as removed. Raises
        Stopped.
        """
        ticket = self._registrar.save([self._state])
        while not ticket.wait(SAVE_CHECK):
            if stopping():
                raise Stopped


def _values(state: FileState) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(state.cursor) if state.cursor else {}
    return values


def progress_of(state: FileState) -> QueueProgress:
    """Return the queue's progress from its entry in the registry."""
    values = _values(state)
    return QueueProgress(state.position, values.get("delivered", 0), values.get("written", 0))


def has_undelivered(state: FileState) -> bool:
    """Return True if the queue of this registry entry has undelivered events."""
    progress = progress_of(state)
    return progress.delivered < progress.written


def report_others(queue_id: str, directory: Path, registrar: Registrar) -> int:
    """Remove the entries of deleted queues, and warn of previous queues that still contain events. Return the minimum
    number of events lost with deleted ones.
    """
    lost = 0
    for state in list(registrar.states.values()):
        if state.kind != QUEUE or state.id == queue_id:
            continue
        if Path(state.path) == directory or not any(Path(state.path).glob("*.seg")):
            registrar.remove(state.id)
            progress = progress_of(state)
            if progress.delivered < progress.written:
                lost += progress.written - progress.delivered
                logger.error(
                    "the queue on disk is missing: %s. Lost: at least %d undelivered events",
                    state.path,
                    progress.written - progress.delivered,
                )
        else:
            logger.warning(
                "the queue on disk was previously in %s and may still contain events; they are not sent while "
                "queue.disk.path is another directory. To send them, run the agent once with the old path",
                state.path,
            )
    return lost
