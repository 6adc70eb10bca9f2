"""Map file names to the inputs that depend on them, so that a hint scans these inputs and not thousands of others."""

from collections.abc import Iterable

from log_shipper.shipper.inputs.files.discovery.scanner import ScanResult
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.discovery.symlinks import Place

Specs = dict[InputSpec, None]  # in order of arrival


class Dependents:
    """The dependencies found by the last listing of each input. `names`: names to watch, by directory."""

    def __init__(self) -> None:
        self.names: dict[str, dict[str, Specs]] = {}
        self._by_ending: dict[int, dict[str, dict[str, Specs]]] = {}  # by the length of the ending

    def replace(self, spec: InputSpec, before: ScanResult, now: ScanResult) -> None:
        """Replace the listing of an input."""
        for directory, name in before.places - now.places:
            _discard(self.names, directory, name, spec)
        for directory, name in now.places - before.places:
            self.names.setdefault(directory, {}).setdefault(name, {})[spec] = None
        for directory, ending in before.endings - now.endings:
            _discard(self._by_ending[len(ending)], directory, ending, spec)
        for directory, ending in now.endings - before.endings:
            of_length = self._by_ending.setdefault(len(ending), {})
            of_length.setdefault(directory, {}).setdefault(ending, {})[spec] = None

    def inputs_for(self, hints: Iterable[Place]) -> Specs:
        """Return the inputs that a change may affect."""
        specs: Specs = {}
        for directory, name in hints:
            specs |= self.names.get(directory, {}).get(name, {})
            for length, directories in self._by_ending.items():
                specs |= directories.get(directory, {}).get(name[-length:] if length else "", {})
        return specs


def _discard(directories: dict[str, dict[str, Specs]], directory: str, name: str, spec: InputSpec) -> None:
    specs = directories[directory][name]
    del specs[spec]
    if not specs:
        del directories[directory][name]
        if not directories[directory]:
            del directories[directory]
