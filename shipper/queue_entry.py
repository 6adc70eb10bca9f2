"""The queue's entry in the registry."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from registry.registrar import Registrar
from registry.state import FileState
from shipper.clock import Clock
from shipper.committed_positions import Stopped
from shipper.output_context import QUEUE
from shipper.pipeline.disk_queue.content import Decoder, expanded
from shipper.pipeline.disk_queue.frames import Frame
from shipper.pipeline.disk_queue.options import Positions
from shipper.pipeline.disk_queue.repeats import Repeats
from shipper.source.reading.staging import Staging

logger = logging.getLogger(__name__)

SAVE_CHECK = 0.2  # seconds


class QueueEntry:
    """Used by the reading thread only."""

    def __init__(self, queue_id: str, directory: Path, registrar: Registrar, clock: Clock) -> None:
        known = registrar.states.get(queue_id)
        self.is_new = known is None
        self._state = known or FileState(
            id=queue_id, path=str(directory), device=0, inode=0, updated=clock.time(), kind=QUEUE
        )
        self.repeats = Repeats(self._state.cursor)
        self._decoder = Decoder()
        self._registrar = registrar
        self._clock = clock

    @property
    def position(self) -> int:
        return self._state.position

    def at(self, position: int) -> FileState:
        """Return the entry as it is with this position."""
        return replace(self._state, position=position, cursor=self.repeats.text, updated=self._clock.time())

    def look_for_repeats(self, frame: Frame, content: bytes) -> None:
        """Note the file of a batch that is on disk: it may be read again from before that."""
        with suppress(ValueError):  # it is reported when it is read
            self.repeats.note(*self._decoder.file_end(expanded(frame.kind, content)))

    def keep_repeats(self) -> None:
        """Keep of the repeats what files may give again, and note the entry: a later start must find the directory."""
        states = self._registrar.states

        def position_of(file_id: str) -> int | None:
            state = states.get(file_id)
            return None if state is None else state.position

        self.repeats.keep(position_of)
        self.note(self.position)

    def note(self, position: int) -> None:
        self._state = self.at(position)
        self._registrar.note(self._state)

    def positions(self, staging: Staging | None) -> Positions:
        stage = None if staging is None else staging.of(self.at)
        return Positions(self.note, lambda position: self._registrar.save([self.at(position)]), stage)

    def save(self, stopping: Callable[[], bool]) -> None:
        """Have the entry on disk before anything is sent: what the registry does not know counts as removed. Raises
        Stopped."""
        ticket = self._registrar.save([self._state])
        while not ticket.wait(SAVE_CHECK):
            if stopping():
                raise Stopped


def report_others(queue_id: str, directory: Path, registrar: Registrar) -> None:
    """Remove entries of queues that are no more, and warn of one that was used before and has something left."""
    for state in list(registrar.states.values()):
        if state.kind != QUEUE or state.id == queue_id:
            continue
        if Path(state.path) == directory or not any(Path(state.path).glob("*.seg")):
            registrar.remove(state.id)
        else:
            logger.warning(
                "%s was the queue on disk before, and events may wait there; they are not sent while queue.disk.path "
                "names another directory: run the agent once with that path",
                state.path,
            )
