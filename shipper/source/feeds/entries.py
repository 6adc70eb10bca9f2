"""The registry's entries of feeds: as they were loaded, and as they have been noted since."""

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState


class FeedEntries:
    """Used by the reading thread only."""

    def __init__(self, registrar: Registrar) -> None:
        self._registrar = registrar
        self._states = {state.id: state for state in registrar.states.values() if state.kind}

    def of(self, input_id: str) -> list[FileState]:
        return [state for state in self._states.values() if state.input == input_id]

    def note(self, state: FileState) -> None:
        """Let the entry be saved, and be found by the next feed of the input."""
        self._states[state.id] = state
        self._registrar.note(state)
