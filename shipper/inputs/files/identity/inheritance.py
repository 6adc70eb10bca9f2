"""Assign entries to inputs: an entry belongs to the input that made it, as each input reads a file independently.

The entry of a removed input is taken over by the first input whose paths match the file and that has no entry of it, if

- it has `take_over`, as in Filebeat: of all such inputs, or of those in `from_ids`;
- the ids of both were not configured: they are derived from the paths, and change with these;
- the entry has no input: it was imported.

Any other input reads the file as a new one.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.fingerprint import Name, name_of_entry
from log_shipper.shipper.options.input_ids import is_derived


class Inheritance:
    """The owners of entries. Used by the reading thread only. `inputs` by id; call `update` when they have changed."""

    def __init__(self, inputs: Mapping[str, InputSpec]) -> None:
        self._inputs = inputs
        self.update()

    def update(self) -> None:
        # Hardly any of thousands of containers takes over anything, and the entries of ended ones are many.
        self._takers = [spec for spec in self._inputs.values() if spec.config.take_over.enabled or _is_unnamed(spec)]

    def distributed(self, states: Iterable[FileState]) -> list[FileState]:
        """Return the entries of a registry with their current inputs: those of existing files last, and of these the
        newest last; at the same time, that of the younger file. Of several entries that an input may take over for one
        file, it gets the newest."""
        known: set[Name] = set()
        distributed = []
        for state in sorted(states, key=lambda state: (state.input not in self._inputs, -state.updated)):
            state = self.inherited(state, known)
            if state.ended is None:
                known.add(name_of_entry(state))
            distributed.append(state)
        return sorted(distributed, key=lambda state: (state.ended is None, state.updated, state.birth, state.modified))

    def inherited(self, state: FileState, known: Container[Name]) -> FileState:
        """Return the entry with its current input. `known` are the names of the files with an entry."""
        if state.input in self._inputs:
            return state
        for spec in self._takers if state.input else self._inputs.values():
            if _takes_over(spec, state):
                taken = replace(state, input=spec.id)
                if state.ended is not None or name_of_entry(taken) not in known:
                    return taken
        return state


def _takes_over(spec: InputSpec, state: FileState) -> bool:
    wanted = spec.config.take_over
    return (
        not state.input
        or (wanted.enabled and (not wanted.from_ids or state.input in wanted.from_ids))
        or (_is_unnamed(spec) and is_derived(state.input))
    ) and spec.matches(state.path)


def _is_unnamed(spec: InputSpec) -> bool:
    return not spec.comes_and_goes and is_derived(spec.id)
