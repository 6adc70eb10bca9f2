"""Implement `delete.enabled`: remove a file once all of it is acknowledged and saved, and `delete.grace_period` is
over.

A file that several inputs read stays until all of them have read it.

A file cannot be checked and removed in one step. So it is first renamed to a unique name: if that is not the file that
was checked, because a rotation came in between, its name is restored; also by the next start, if the agent was killed
in between. It stays open while it is removed and is checked once more: what was written in between is read through that
descriptor.
"""

import heapq
import logging
import os
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from itertools import count

from log_shipper.registry.registrar import Registrar, SaveTicket
from log_shipper.registry.state import FileState
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.content import Plain
from log_shipper.shipper.inputs.files.identity.opened_file import opened_plain
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)

RETRY_AFTER = 60.0  # seconds
OTHERS_AFTER = 1.0  # seconds between two checks for other inputs that read the file
ASIDE = ".shipper-deleting-"  # and the file's id
ReadOn = Callable[[int, FileState], bool]
AFTER = ("compression", "close.reader.on_eof", "close.on_state_change.inactive")


@dataclass(slots=True)
class PendingDeletion:
    state: FileState
    saved: SaveTicket | None = None


class Deletions:
    """The planned deletions. Used by the reading thread only.

    `is_read_by_all` is true of a file of an input, as it is now, that no other input has yet to read.
    """

    def __init__(
        self,
        registrar: Registrar,
        clock: Clock,
        metrics: Metrics,
        is_read_by_all: Callable[[str, ScannedFile], bool] = lambda input_id, scanned: True,
        unlink: Callable[[str], None] = os.unlink,
        rename: Callable[[str, str], None] = os.rename,
    ) -> None:
        self._graces: dict[str, float] = {}  # grace periods (s) of the inputs that delete, by their id
        self.unlink, self.rename = unlink, rename
        self._is_read_by_all = is_read_by_all
        self._metrics = metrics
        self._registrar = registrar
        self._clock = clock
        self._due: list[tuple[float, int, PendingDeletion]] = []
        self._number = count()

    def update_rules(self, specs: Iterable[InputSpec]) -> None:
        for spec in specs:
            self._graces.pop(spec.id, None)
            if spec.config.delete.enabled:
                self._graces[spec.id] = spec.config.delete.grace_period

    def keep(self, input_ids: Container[str]) -> None:
        self._graces = {input_id: grace for input_id, grace in self._graces.items() if input_id in input_ids}

    def closed(self, harvester: Harvester, why: str) -> None:
        """Plan the deletion of a file that was closed. `why`: the option that closed it."""
        if why in AFTER and harvester.source.input_id in self._graces:
            self.plan(harvester.state, self._graces[harvester.source.input_id])

    def plan(self, state: FileState, grace: float) -> None:
        """Plan the deletion of a file that was closed at its end. It is checked for new data when the deletion is
        due."""
        self._put(PendingDeletion(state), grace)

    def restore_names(self, states: Iterable[FileState]) -> None:
        """Restore the names of files that the agent was deleting when it was killed."""
        for state in states:  # there may be half a million
            if state.input in self._graces and state.ended is None and os.path.lexists(aside := _aside(state)):
                _put_back(aside, state.path)

    def step(self, read_on: ReadOn) -> None:
        """Delete the due files. `read_on` reads the new data of a nameless file; it returns False if no input includes
        it, and may raise OSError. The descriptor belongs to the caller."""
        while self._due and self._due[0][0] <= self._clock.monotonic():
            self._take_turn(heapq.heappop(self._due)[2], read_on)

    @property
    def next_step(self) -> float:
        return self._due[0][0] if self._due else float("inf")

    def _take_turn(self, deletion: PendingDeletion, read_on: ReadOn) -> None:
        if deletion.state.input not in self._graces:
            return  # since a reload
        with opened_plain(deletion.state.path, os.O_NOFOLLOW) as file:
            # Our own renaming changes the time of change: it proves an unchanged file only at first.
            status = _status_if_read(file, deletion.state, as_closed=deletion.saved is None) if file else None
            if file is None or status is None:
                return  # it was removed or moved, or may have new data: then it is planned again when it is closed
            if not self._is_read_by_all(deletion.state.input, ScannedFile.from_status(deletion.state.path, status)):
                self._put(deletion, OTHERS_AFTER)
                return
            if deletion.saved is None:
                # The position must be on disk first: otherwise a crash could lose it.
                deletion.saved = self._registrar.save([deletion.state])
            if deletion.saved.done:
                self._delete(deletion, file, read_on)
            else:
                self._put(deletion, 0.05)

    def _delete(self, deletion: PendingDeletion, file: Plain, read_on: ReadOn) -> None:
        state = deletion.state
        try:
            if not self._remove(state):
                return  # it was moved
        except OSError as error:
            logger.warning(
                "%s: cannot be deleted (delete.enabled): %s; retrying in %d s",
                state.path,
                error.strerror,
                RETRY_AFTER,
            )
            self._put(deletion, RETRY_AFTER)
            return
        logger.info("%s (file id %s): deleted; all of it was acknowledged", state.path, state.id)
        if _status_if_read(file, state) is None:
            self._rescue(file.fd, state, read_on)

    def _remove(self, state: FileState) -> bool:
        """Remove the file. Return False if another file is at the path, which keeps its name. Raises OSError."""
        aside = _aside(state)
        self.rename(state.path, aside)
        try:
            status = os.lstat(aside)
            if (status.st_dev, status.st_ino) == (state.device, state.inode):
                self.unlink(aside)
                return True
        except OSError:
            _put_back(aside, state.path)
            raise
        _put_back(aside, state.path)
        return False

    def _rescue(self, fd: int, state: FileState, read_on: ReadOn) -> None:
        """Read what was written between the last check and the removal: only this descriptor reaches it now."""
        size = state.position
        try:
            size = os.fstat(fd).st_size
            if read_on(fd, state):
                logger.info(
                    "%s (file id %s): was written to during its deletion; reading the new data", state.path, state.id
                )
                return
            why = "it no longer belongs to an input"
        except OSError as error:
            why = f"it cannot be read: {error.strerror}"
        self._metrics.bytes_lost += max(size - state.position, 0)
        logger.error(
            f"{state.path} (file id {state.id}): was written to during its deletion, and {why}: the data from offset "
            f"{state.position} to {size} is lost",
            extra=EACH,
        )

    def _put(self, deletion: PendingDeletion, after: float) -> None:
        heapq.heappush(self._due, (self._clock.monotonic() + after, next(self._number), deletion))


def _aside(state: FileState) -> str:
    return os.path.join(os.path.dirname(state.path), f"{ASIDE}{state.id}")


def _put_back(aside: str, path: str) -> None:
    """Restore a file's name, unless it is taken by now."""
    try:
        os.link(aside, path, follow_symlinks=False)
        os.unlink(aside)
    except OSError as error:
        logger.error(
            f"{path}: could not restore its original name (delete.enabled): {error.strerror}; it is now {aside}. No "
            "data is lost; rename it if the paths of its input do not match the new name",
            extra=EACH,
        )


def _status_if_read(file: Plain, state: FileState, *, as_closed: bool = False) -> os.stat_result | None:
    """Return the status of the file if it has exactly the bytes that were read. `as_closed`: and did not change at all
    since it was closed."""
    try:
        status = os.fstat(file.fd)
        was_changed = as_closed and status.st_ctime_ns != state.changed
        is_same = (status.st_dev, status.st_ino, status.st_mtime_ns) == (state.device, state.inode, state.modified)
        return status if is_same and not was_changed and _is_at_end(file, state, status.st_size) else None
    except OSError:
        return None


def _is_at_end(file: Plain, state: FileState, size: int) -> bool:
    if state.compressed:
        return size == state.compressed
    # After the position may be NULs, which are not content.
    return (size == state.position or size > state.position >= file.size) and file.matches(state)
