"""A registrar whose saves can be awaited: the clock of a Lab does not wait for a disk, or for a thread."""

import time
from collections.abc import Callable, Sequence

from log_shipper.registry.registrar import Registrar, SaveTicket
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store


class AwaitedRegistrar(Registrar):
    def __init__(
        self,
        store: Store,
        flush_interval: float,
        on_saved: Callable[[], None],
        on_removed: Callable[[str], None] | None,
    ) -> None:
        super().__init__(store, flush_interval, on_saved, on_removed)
        self._awaited: list[SaveTicket] = []

    def save(self, states: Sequence[FileState]) -> SaveTicket:
        ticket = super().save(states)
        self._awaited.append(ticket)
        return ticket

    def await_saves(self, longest: float) -> None:
        """Wait until all that was to be saved at once is on disk, or the disk refuses it, so many seconds at most."""
        deadline = time.monotonic() + longest
        while self._awaited and time.monotonic() < deadline and not self.saves.is_failing and self.failure is None:
            if self._awaited[-1].wait(0.01):
                self._awaited.pop()
