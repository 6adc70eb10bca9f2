"""Implements `delete.enabled`: removes a file once all of it is acknowledged and saved, and `delete.grace_period` is
over.

Where several inputs read a file, it stays until all of them have.

A file cannot be checked and removed in one step. So it gets another name first, which nobody else uses: if that is not
the file that was checked, because a rotation came in between, it gets its name back. And it stays open while it is
removed and is checked once more: what was written in between is read through that descriptor.
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
from log_shipper.shipper.options.model import DeleteConfig

logger = logging.getLogger(__name__)

RETRY_AFTER = 60.0  # seconds
OTHERS_AFTER = 1.0  # seconds between two looks whether other inputs have read the file
ASIDE = ".shipper-deleting-"  # and the file's id
ReadOn = Callable[[int, FileState], bool]
AFTER = ("compression", "close.reader.on_eof", "close.on_state_change.inactive")


@dataclass(slots=True)
class PendingDeletion:
    state: FileState
    grace: float
    saved: SaveTicket | None = None


class Deletions:
    """Used by the reading thread only.

    `is_read_by_all` is true of a file of an input, as it is now, that no other input has to read yet."""

    def __init__(
        self,
        registrar: Registrar,
        clock: Clock,
        metrics: Metrics,
        is_read_by_all: Callable[[str, ScannedFile], bool] = lambda input_id, scanned: True,
        unlink: Callable[[str], None] = os.unlink,
        rename: Callable[[str, str], None] = os.rename,
    ) -> None:
        self._rules: dict[str, DeleteConfig] = {}  # by input id
        self.unlink, self.rename = unlink, rename
        self._is_read_by_all = is_read_by_all
        self._metrics = metrics
        self._registrar = registrar
        self._clock = clock
        self._due: list[tuple[float, int, PendingDeletion]] = []
        self._number = count()

    def learn(self, specs: Iterable[InputSpec]) -> None:
        self._rules |= {spec.id: spec.config.delete for spec in specs}

    def keep(self, input_ids: Container[str]) -> None:
        self._rules = {input_id: rules for input_id, rules in self._rules.items() if input_id in input_ids}

    def closed(self, harvester: Harvester, why: str) -> None:
        """`why`: the option that closed it."""
        delete = self._rules[harvester.source.input_id]
        if why in AFTER and delete.enabled:
            self.plan(harvester.state, delete.grace_period)

    def plan(self, state: FileState, grace: float) -> None:
        """Plan the deletion of a file that was closed at its end. Whether it has new data is checked when it is due."""
        self._put(PendingDeletion(state, grace), grace)

    def step(self, read_on: ReadOn) -> None:
        """Delete what is due. `read_on` reads what a file that has no name any more has beyond its state; it returns
        False where no input wants that, and may raise OSError. The descriptor stays the caller's."""
        while self._due and self._due[0][0] <= self._clock.monotonic():
            self._take_turn(heapq.heappop(self._due)[2], read_on)

    @property
    def next_step(self) -> float:
        return self._due[0][0] if self._due else float("inf")

    def _take_turn(self, deletion: PendingDeletion, read_on: ReadOn) -> None:
        with opened_plain(deletion.state.path, os.O_NOFOLLOW) as file:
            # Our own renaming changes the time of change: only at first it shows that nothing happened to the file.
            if file is None or not _is_read(file, deletion.state, as_closed=deletion.saved is None):
                return  # it was removed or moved, or may have new data: then it is planned again when it is closed
            scanned = ScannedFile.of(deletion.state.path, os.fstat(file.fd))
            if not self._is_read_by_all(deletion.state.input, scanned):
                self._put(deletion, OTHERS_AFTER)
                return
            if deletion.saved is None:
                # The position must be on disk first: a crash could lose what was read of the file.
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
                "%s: cannot be deleted (delete.enabled): %s; trying again in %d s",
                state.path,
                error.strerror,
                RETRY_AFTER,
            )
            self._put(deletion, RETRY_AFTER)
            return
        logger.info("%s (file id %s): all of it is acknowledged; deleted", state.path, state.id)
        if not _is_read(file, state):
            self._rescue(file.fd, state, read_on)

    def _remove(self, state: FileState) -> bool:
        """Return False if another file is at the path, which keeps its name. Raises OSError."""
        aside = os.path.join(os.path.dirname(state.path), f"{ASIDE}{state.id}")
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
        size = os.fstat(fd).st_size
        try:
            if read_on(fd, state):
                logger.info(
                    "%s (file id %s): was written to while it was deleted; that is read now", state.path, state.id
                )
                return
            why = "it belongs to no input any more"
        except OSError as error:
            why = f"it cannot be read: {error.strerror}"
        self._metrics.bytes_lost += max(size - state.position, 0)
        logger.error(
            "%s (file id %s): was written to while it was deleted, and %s: what lies beyond offset %d of %d is lost",
            state.path,
            state.id,
            why,
            state.position,
            size,
            extra=EACH,
        )

    def _put(self, deletion: PendingDeletion, after: float) -> None:
        heapq.heappush(self._due, (self._clock.monotonic() + after, next(self._number), deletion))


def _put_back(aside: str, path: str) -> None:
    """Give a file its name back, unless that is taken by now."""
    try:
        os.link(aside, path, follow_symlinks=False)
        os.unlink(aside)
    except OSError as error:
        logger.error(
            "%s: cannot get its name back (delete.enabled): %s; it is %s now. Nothing of it is lost; rename it if the "
            "paths of its input do not match that name",
            path,
            error.strerror,
            aside,
            extra=EACH,
        )


def _is_read(file: Plain, state: FileState, *, as_closed: bool = False) -> bool:
    """True if the file has the bytes that were read, and no others. `as_closed`: and nothing at all happened to it
    since it was closed."""
    try:
        status = os.fstat(file.fd)
        if (status.st_dev, status.st_ino, status.st_mtime_ns) != (state.device, state.inode, state.modified):
            return False
        if as_closed and status.st_ctime_ns != state.changed:
            return False
        if state.compressed:
            return status.st_size == state.compressed
        # Behind the position may be NULs, which are not content.
        is_at_end = status.st_size == state.position or status.st_size > state.position >= file.size
        return is_at_end and file.matches(state)
    except OSError:
        return False
