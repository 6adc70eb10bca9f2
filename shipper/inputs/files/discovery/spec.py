"""Hold the part of an input's configuration that finds and identifies its files."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from log_shipper.config.text.globs import PathPattern, matches, parse
from log_shipper.config.text.patterns import Pattern
from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.directory_probe import Filters
from log_shipper.shipper.inputs.files.discovery.directory_tree import Directories
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile, Scanner
from log_shipper.shipper.options.model import InputConfig

# A file of an input: the input's id, device and inode. Other inputs may read the same file.
FileKey = tuple[str, int, int]


@dataclass(frozen=True, eq=False)
class InputSpec:
    """The specification of one input. `comes_and_goes`: of a container, whose files may appear after it and disappear
    before it."""

    config: InputConfig
    comes_and_goes: bool = False

    @property
    def id(self) -> str:
        return self.config.id

    @property
    def paths(self) -> tuple[str, ...]:
        return self.config.paths

    @property
    def check_interval(self) -> float:
        return self.config.prospector.scanner.check_interval

    @property
    def filters(self) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
        """Return the patterns that exclude and include files."""
        options = self.config.prospector.scanner
        return options.exclude_files, options.include_files

    @cached_property
    def _patterns(self) -> list[PathPattern]:
        recursive = self.config.prospector.scanner.recursive_glob
        return [parse(path, recursive=recursive) for path in self.paths if "\0" not in path]  # scanner.py reports it

    @cached_property
    def _filters(self) -> Filters:
        return Filters(*self.filters)

    def matches(self, path: str) -> bool:
        """Return True if the input includes the path: its patterns match it, and its filters let it through."""
        return any(matches(pattern, path) for pattern in self._patterns) and self._filters.let_through(path)

    def scanner(self, directories: Directories | None = None) -> Scanner:
        """Return the scanner of the input. It shares `directories` with scanners of the same filters."""
        return Scanner(self.paths, self.config.prospector.scanner, directories=directories)


class Candidate(NamedTuple):
    """A file that the paths of an input match."""

    spec: InputSpec
    file: ScannedFile
    key: FileKey

    @classmethod
    def from_scan(cls, spec: InputSpec, file: ScannedFile) -> "Candidate":
        return cls(spec, file, (spec.id, *file.inode))


def key_of(state: FileState) -> FileKey:
    """Return the key of the entry's file."""
    return state.input, state.device, state.inode
