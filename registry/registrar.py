"""The only writer of the registry: one thread, so that the reading loop never waits for the disk."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable, Sequence

from logs.throttle import Throttle
from registry.errors import RegistryError
from registry.pending import Pending, Saved, Taken
from registry.state import FileState
from registry.store import Store

__all__ = ["Registrar", "Saved"]

_logger = logging.getLogger(__name__)

LOOK_EVERY = 10.0  # seconds between two looks whether the registry is still there, while there is nothing to write

_ADVICE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "raise the quota of the user that runs the shipper",
    errno.EROFS: "make the file system writable again",
    errno.EACCES: "give the user that runs the shipper the right to write there",
    errno.EPERM: "give the user that runs the shipper the right to write there",
    errno.EIO: "look at the disk: the kernel's log has more about it",
}


def _do_nothing() -> None:
    pass


class Registrar:
    """`note`, `save` and `remove` may be called from any thread and never block on the disk.

    A directory that is removed is made again. Where another registry took its place, `failure` is RegistryReplaced.

    Order is the order of the calls; for one id, the last call wins. After `close`, nothing is written any more.
    """

    def __init__(
        self,
        store: Store,
        flush_interval: float = 1.0,
        on_saved: Callable[[], None] = _do_nothing,
        clock: Callable[[], float] = time.monotonic,
        retry_interval: float = 1.0,
    ) -> None:
        """`on_saved` is called from the registrar's thread, after tickets were resolved."""
        self.states = dict(store.states)  # as loaded: the store's own belongs to the thread
        self.failure: Exception | None = None  # the thread has ended: nothing will be saved any more
        self._store = store
        self._on_saved = on_saved
        self._clock = clock
        self._pending = Pending(flush_interval, retry_interval)
        self._changed = threading.Condition()  # guards _pending
        self._throttle = Throttle(clock)
        self._refusing = False  # the disk, since the last write that it took
        self._thread = threading.Thread(target=self._run, name="registrar", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def note(self, *states: FileState) -> None:
        """To be written within `flush_interval`, together with what else changed until then.

        What one call notes is in the same group: after a crash, either all of it is on disk or none."""
        self._note({state.id: state for state in states})

    def remove(self, file_id: str) -> None:
        """As `note`."""
        self._note({file_id: None})

    def _note(self, entries: dict[str, FileState | None]) -> None:
        with self._changed:
            if self._pending.note(entries, self._clock()):
                self._changed.notify()

    def save(self, states: Sequence[FileState]) -> Saved:
        """Written at once, with all that waits; retried until the disk takes it."""
        with self._changed:
            ticket = self._pending.urge(states, self._clock())
            self._changed.notify()
        return ticket

    def close(self, timeout: float) -> bool:
        """The last flush. False when it could not be written within `timeout` seconds."""
        with self._changed:
            now = self._clock()
            self._pending.close(now + timeout, now)
            self._changed.notify()
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(timeout)
        with self._changed:
            return not self._thread.is_alive() and self.failure is None and self._pending.empty

    def _run(self) -> None:
        try:
            while self._wait():
                if not self.step():
                    self.look()
        except RegistryError as error:
            _logger.critical("%s", error)
            self.failure = error
            self._on_saved()
        except Exception as error:
            # The thread's outermost frame: the threads that wait for a save must learn that none will come.
            _logger.critical("the registrar ended by a fault of its own", exc_info=error)
            self.failure = error
            self._on_saved()

    def _wait(self) -> bool:
        with self._changed:
            while not self._pending.finished(self._clock()):
                wait = self._pending.wait(self._clock())
                if wait == 0:
                    return True
                patience = LOOK_EVERY if wait is None else min(wait, LOOK_EVERY)
                if not self._changed.wait(patience) and patience == LOOK_EVERY:
                    return True
        return False

    def look(self) -> None:
        """See that the registry is where it belongs. Raises RegistryReplaced."""
        try:
            self._store.keep_place()
        except OSError as error:
            self._report(error)

    def step(self) -> bool:
        """Writes all that waits if it is due; False when nothing is. Never waits for time to pass. Raises
        RegistryReplaced."""
        with self._changed:
            if self._pending.wait(self._clock()) != 0:
                return False
            taken = self._pending.take()
        try:
            self._append(taken)
        except OSError as error:
            with self._changed:
                self._pending.failed(taken, self._clock())
            self._report(error)
            return True
        self._confirm(taken)
        with self._changed:
            closing = self._pending.closing
        if not closing:  # what was to be saved is saved, and no one waits for a checkpoint
            self._store.checkpoint_if_due()
        return True

    def _append(self, taken: Taken) -> None:
        changed = [state for state in taken.entries.values() if state is not None]
        self._store.write(changed, [file_id for file_id, state in taken.entries.items() if state is None])

    def _confirm(self, taken: Taken) -> None:
        if self._refusing:
            self._refusing = False
            self._throttle.reset()
            _logger.info("registry %s: saved again", self._store.directory)
        for ticket in taken.tickets:
            ticket.resolve()
        if taken.tickets:
            self._on_saved()

    def _report(self, error: OSError) -> None:
        self._refusing = True
        if not self._throttle.is_due():
            return
        _logger.error(
            "registry %s: positions cannot be saved: %s (%s); %s; retried until it works. Until then files newly met"
            " wait, because their id must be saved before a line of theirs is sent; the others continue, and a restart"
            " would ship lines of theirs again",
            self._store.directory,
            error.strerror or error,
            errno.errorcode.get(error.errno or 0, "no errno"),
            _ADVICE.get(error.errno or 0, "look at this file system"),
        )
