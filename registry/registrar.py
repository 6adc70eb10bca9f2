"""Write the registry, on one thread, so that the reading loop never waits for the disk."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable, Sequence

from log_shipper.registry.errors import RegistryError
from log_shipper.registry.pending import Pending, SaveTicket, Taken
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store, split
from log_shipper.runtime.disk_errors import advice_for
from log_shipper.runtime.logs.folding import END
from log_shipper.runtime.logs.throttle import Throttle

__all__ = ["Registrar", "SaveTicket"]

_logger = logging.getLogger(__name__)

CHECK_EVERY = 10.0  # seconds between two checks of the registry's path, while there is nothing to write


class Registrar:
    """The only writer of the registry, with its own thread. `note`, `save` and `remove` are thread-safe and never block
    on the disk.

    A removed directory is re-created. If another registry has replaced it, `failure` is RegistryReplaced.

    Entries are written in the order of the calls; for one id, the last call wins. After `close` nothing is written.
    """

    def __init__(
        self,
        store: Store,
        flush_interval: float = 1.0,
        on_saved: Callable[[], None] = lambda: None,
        on_removed: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        retry_interval: float = 1.0,
    ) -> None:
        """Take the store. `on_saved` is called on the registrar's thread after tickets were resolved; `on_removed` by
        the caller of `remove`, with the id."""
        self.states = dict(store.states)  # as loaded: the store's own dictionary belongs to the thread
        self.failure: Exception | None = None  # why the thread has ended; nothing is saved after that
        self._store = store
        self._on_saved = on_saved
        self._on_removed = on_removed
        self._clock = clock
        self._pending = Pending(flush_interval, retry_interval)
        self._changed = threading.Condition()  # guards _pending
        self._throttle = Throttle(clock)
        self.saves = store.saves
        self._thread = threading.Thread(target=self._run, name="registrar", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def note(self, *states: FileState) -> None:
        """Write the states soon, so that a kill does not lose them, and flush them within `flush_interval`, together
        with other changes.

        The states of one call are in the same group: after a crash, either all of them are on disk or none.
        """
        self._note({state.id: state for state in states})

    def remove(self, file_id: str) -> None:
        """Remove the entry, within the same time as `note`."""
        self._note({file_id: None})
        if self._on_removed is not None:
            self._on_removed(file_id)

    def adopt(self, states: Sequence[FileState]) -> None:
        """Add entries to the loaded ones, before anything uses them."""
        self.states.update((state.id, state) for state in states)
        if states:
            self.note(*states)

    def _note(self, entries: dict[str, FileState | None]) -> None:
        with self._changed:
            if self._pending.note(entries, self._clock()):
                self._changed.notify()

    def save(self, states: Sequence[FileState]) -> SaveTicket:
        """Write the states at once, with everything pending. A write that fails is retried until it succeeds."""
        with self._changed:
            ticket = self._pending.urge(states, self._clock())
            self._changed.notify()
        return ticket

    def close(self, timeout: float) -> bool:
        """Flush, and end the thread. Return False if the flush did not succeed within `timeout` seconds."""
        with self._changed:
            now = self._clock()
            self._pending.close(now + timeout, now)
            self._changed.notify()
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(timeout)
        with self._changed:
            return not self._thread.is_alive() and self.failure is None and self._pending.empty

    @property
    def entries(self) -> int:
        """Return the number of entries on disk."""
        return len(self._store.states)

    def _run(self) -> None:
        try:
            while self._wait():
                if not self.step():
                    self.check_place()
        except RegistryError as error:
            _logger.critical("%s", error)
            self.failure = error
            self._on_saved()
        except Exception as error:
            # The thread's outermost frame: the threads that wait for a save must learn that none will come.
            _logger.critical("the registrar stopped because of an internal error", exc_info=error)
            self.failure = error
            self._on_saved()

    def _wait(self) -> bool:
        with self._changed:
            while not self._pending.finished(self._clock()):
                wait = self._pending.wait(self._clock())
                if wait == 0:
                    return True
                patience = CHECK_EVERY if wait is None else min(wait, CHECK_EVERY)
                if not self._changed.wait(patience) and patience == CHECK_EVERY:
                    return True
        return False

    def check_place(self) -> None:
        """Re-create the registry if it was removed. Raises RegistryReplaced."""
        try:
            self._store.ensure_in_place()
        except OSError as error:
            self._report(error)

    def step(self) -> bool:
        """Write the pending entries if they are due; return False if nothing is. Never sleeps. Raises
        RegistryReplaced."""
        with self._changed:
            now = self._clock()
            if self._pending.wait(now) != 0:
                return False
            unwritten = self._pending.take_unwritten(now)
            taken = self._pending.pop_all() if unwritten is None else None
        if taken is None:
            self._write_recent(unwritten or {}, now)
            return True
        try:
            self._append(taken)
        except OSError as error:
            self.saves.failed += 1
            with self._changed:
                self._pending.failed(taken, self._clock())
            self._report(error)
            return True
        self._confirm(taken)
        return True

    def _write_recent(self, entries: dict[str, FileState | None], started: float) -> None:
        try:
            self._store.write_recent(*split(entries))
        except OSError:  # the next flush is refused too, and reports it
            with self._changed:
                self._pending.refused()
        else:
            with self._changed:
                self._pending.written(started, self._clock())

    def _append(self, taken: Taken) -> None:
        self._store.write(*split(taken.entries))
        _logger.debug("%d entries are on disk", len(taken.entries))
        with self._changed:
            self._pending.flushed()

    def _confirm(self, taken: Taken) -> None:
        self.saves.ok += 1
        if self.saves.is_failing:
            self.saves.is_failing = False
            self._throttle.reset()
            _logger.info("registry %s: saved again", self._store.directory, extra=END)
        for ticket in taken.tickets:
            ticket.resolve()
        if taken.tickets:
            self._on_saved()

    def _report(self, error: OSError) -> None:
        self.saves.is_failing = True
        if not self._throttle.is_due():
            return
        _logger.error(
            "registry %s: cannot save positions: %s (%s); %s. Retrying until it succeeds. New files are not read "
            "until then; open files are, and a restart would send some of their lines again",
            self._store.directory,
            error.strerror or error,
            errno.errorcode.get(error.errno or 0, "no errno"),
            advice_for(error),
        )
