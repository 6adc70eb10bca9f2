"""Which entry of the registry belongs to an open file: the remembered one if the bytes confirm it, else a new one."""

import logging
import uuid
from dataclasses import replace

from registry.registrar import Registrar
from registry.state import FileState
from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.source.discover import FileKey, Found
from shipper.source.identity import fingerprint, same_life

logger = logging.getLogger(__name__)


class Entries:
    """The entries of files that are not open now, by device and inode. Used by the reading thread only."""

    def __init__(self, registrar: Registrar, clock: Clock, metrics: Metrics) -> None:
        self._registrar = registrar
        self._clock = clock
        self._metrics = metrics
        self._known: dict[FileKey, FileState] = {
            (state.device, state.inode): state for state in registrar.states.values() if state.ended is None
        }

    def keep(self, state: FileState) -> None:
        """The file was closed: this is where it goes on when it is opened again."""
        self._known[state.device, state.inode] = state

    def claim(self, fd: int, found: Found, size: int, input_id: str) -> FileState:
        """The state from which the open file is read; its id is not saved yet if it is a new one. Raises OSError."""
        known = self._known.get(found.key)
        same = known is not None and same_life(fd, known)  # where this raises, the entry must stay
        self._known.pop(found.key, None)
        if known is not None and same:
            return replace(known, path=found.path, size_seen=size, input=input_id)
        if known is not None:
            self._end(known)
        state = FileState(
            id=uuid.uuid4().hex, path=found.path, device=found.key[0], inode=found.key[1], size_seen=size,
            fingerprint=fingerprint(fd), updated=self._clock.time(), input=input_id,
        )  # fmt: skip
        logger.info("new file %s (file id %s, %d bytes)", found.path, state.id, size)
        return state

    def tell_of_missing(self) -> None:
        """Say which files are gone that had more to read: removed, or moved out of the paths, while nobody looked."""
        for state in self._known.values():
            behind = state.size_seen - state.position
            if behind > 0:
                self._metrics.bytes_lost += behind
                logger.warning(
                    "%s (file id %s) is not there any more, and its bytes from offset %d on were not shipped: %d bytes "
                    "are lost if it was removed; if it is under another path, add the path and they are shipped",
                    state.path, state.id, state.position, behind,
                )  # fmt: skip

    def _end(self, known: FileState) -> None:
        """A file was replaced or truncated while nobody read it: its entry stays, but matches no file any more."""
        lost = max(known.size_seen - known.position, 0)
        self._metrics.bytes_lost += lost
        logger.warning(
            "%s (file id %s) does not hold what was read of it before: truncated, rewritten, or its inode was used "
            "again; up to %d bytes from offset %d on may be lost; what is there now is read as a new file",
            known.path, known.id, lost, known.position,
        )  # fmt: skip
        self._registrar.note(replace(known, ended="truncated", updated=self._clock.time()))
