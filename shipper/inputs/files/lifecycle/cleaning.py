"""Remove registry entries that were kept long enough: those without a file after a day, others by `clean_inactive`. An
existing file that no input includes at present keeps its entry: its container may be started again after a week.

Age is the wall clock minus `updated`, because no other clock survives a restart. Whatever that clock does, the agent
never takes an entry for older than it is while it runs:

- when the clock is set, `updated` of all entries moves along (forward), or to now if it would be in the future (back);
- nothing is removed for its age in the first minutes of the host: one that boots with a wrong clock has set it by then.
  For the time while the agent was stopped, the clock is trusted; setting it during a restart counts as time.

Memory is bounded however short files live: of entries without a file the newest MAX_KEPT are kept, some 2 KB each. A
late copy of an older file is a new file, and is shipped again.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import MISSING, FileState
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.discovery.directory import inode_at
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries

logger = logging.getLogger(__name__)

NEVER = float("inf")
CLEAN_EVERY = 60.0
BOOT_TIME = 600.0  # seconds after the host's boot in which nothing is removed for its age
MAX_KEPT = 20_000


class Cleaning:
    """The cleaning of the registry. Used by the reading thread only. `inputs` by id."""

    def __init__(
        self,
        entries: RegistryEntries,
        registrar: Registrar,
        clock: Clock,
        inputs: Mapping[str, InputSpec],
        most: int = MAX_KEPT,
    ) -> None:
        self._entries = entries
        self._registrar = registrar
        self._clock = clock
        self._inputs = inputs
        self._most = most
        self._warned = False
        # Entries of existing files that were removed from the registry: their last update, by id.
        self._inactive: dict[str, float] = {}
        self._clocks = clock.time(), clock.monotonic()
        self.next_step = clock.monotonic() + CLEAN_EVERY

    def step(self) -> None:
        if self._clock.monotonic() >= self.next_step:
            self.next_step = self._clock.monotonic() + CLEAN_EVERY
            self.clean()

    def clean(self) -> None:
        self._follow_clock()
        self._bound()
        if self._clock.monotonic() >= BOOT_TIME:
            self._forget_old()

    def _follow_clock(self) -> None:
        wall, monotonic = self._clock.time(), self._clock.monotonic()
        step = wall - self._clocks[0] - (monotonic - self._clocks[1])
        self._clocks = wall, monotonic
        if abs(step) < CLEAN_EVERY:
            return
        logger.warning(
            "the system clock was set by %+.0f s: the ages of registry entries now count from the current time", step
        )
        for state in [*self._without_file(), *filter(self._inactive_after, self._entries.closed_entries.values())]:
            updated = min(state.updated + max(step, 0.0), wall)
            if updated != state.updated:
                self._entries.change(replace(state, updated=updated))

    def _bound(self) -> None:
        kept = [state for state in self._without_file() if state.ttl >= 0]
        if len(kept) <= self._most:
            return
        if not self._warned:
            self._warned = True
            logger.warning(
                "more than %d files ended within a day: the oldest entries are removed from the registry, and late "
                "copies of those files are shipped again",
                self._most,
            )
        kept.sort(key=lambda state: state.updated)
        for state in kept[: -self._most]:
            self._forget(state)

    def _forget_old(self) -> None:
        """Remove old entries. That of an existing file is removed from the registry only and kept in memory: while the
        agent runs, none of its lines is read twice."""
        now = self._clock.time()
        for state in self._without_file():
            if self._kept_for(state) < now - state.updated:
                if _is_there(state):
                    self._entries.change(replace(state, updated=now))
                else:
                    self._forget(state)
        closed_entries = [state for state in self._entries.closed_entries.values() if state.ended is None]
        old = {state.id: state.updated for state in closed_entries if self._kept_for(state) < now - state.updated}
        for file_id, updated in old.items():
            if self._inactive.get(file_id) != updated:  # else all of them would be written at each cleaning
                self._registrar.remove(file_id)
        self._inactive = old

    def _kept_for(self, state: FileState) -> float:
        """Return the seconds for which an entry is kept: `clean_removed` after its file has ended; if that is forever,
        or the file exists, `clean_inactive`."""
        if state.ended is not None and state.ttl >= 0:
            return state.ttl
        return self._inactive_after(state) or NEVER

    def _without_file(self) -> list[FileState]:
        closed_entries = [state for state in self._entries.closed_entries.values() if state.ended is not None]
        return [*self._entries.unclaimed.states.values(), *closed_entries]

    def _forget(self, state: FileState) -> None:
        self._entries.forget(state)
        self._registrar.remove(state.id)

    def _inactive_after(self, state: FileState) -> float:
        spec = self._inputs.get(state.input)
        return max(spec.config.clean_inactive, 0.0) if spec is not None else 0.0


def _is_there(state: FileState) -> bool:
    """Return True if the entry's file exists, but has left the paths of the inputs."""
    return state.ended == MISSING and inode_at(state.path) == (state.device, state.inode)
