"""When the registry forgets an entry: `clean_removed` and `clean_inactive`."""

from collections.abc import Mapping

from registry.registrar import Registrar
from registry.state import FileState
from shipper.clock import Clock
from shipper.source.identity import Name, name_of_entry
from shipper.source.input import Input
from shipper.source.orphans import Orphans

NEVER = float("inf")
EVERY = 60.0  # seconds


class Cleaning:
    """The entry of a file that is there leaves the registry only: while this runs, no line of it is read twice."""

    def __init__(
        self, registrar: Registrar, clock: Clock, inputs: Mapping[str, Input], asleep: dict[Name, FileState],
        orphans: Orphans,
    ) -> None:  # fmt: skip
        """`asleep` and `orphans`: the entries of files that are not open."""
        self._registrar = registrar
        self._clock = clock
        self._inputs = inputs
        self._asleep = asleep
        self._orphans = orphans
        self.next_step = clock.monotonic() + EVERY  # monotonic time
        self._removed: dict[str, float] = {}  # what is asleep and left the registry: when it was updated, by id

    def step(self) -> None:
        if self._clock.monotonic() >= self.next_step:
            self.next_step = self._clock.monotonic() + EVERY
            self.clean()

    def clean(self) -> None:
        """Forget what was kept long enough."""
        now = self._clock.time()
        for state in [each for each in self._orphans.states.values() if self._is_old(each, now)]:
            self._orphans.remove(state.id)
            self._registrar.remove(state.id)
        old = [each for each in self._asleep.values() if self._is_old(each, now)]
        for state in old:
            if self._removed.get(state.id) != state.updated:  # else all of them would be written at each cleaning
                self._registrar.remove(state.id)
            if state.ended is not None:
                del self._asleep[name_of_entry(state)]
        self._removed = {state.id: state.updated for state in old if state.ended is None}

    def _is_old(self, state: FileState, now: float) -> bool:
        """One that has ended is kept as `clean_removed` says; where that is for ever, and while the file is there, as
        `clean_inactive` says."""
        source = self._inputs.get(state.input)
        inactive = source.config.clean_inactive if source is not None else 0.0
        kept_for = state.ttl if state.ended is not None and state.ttl >= 0 else inactive or NEVER
        return kept_for < now - state.updated
