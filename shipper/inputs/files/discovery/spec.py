"""One configured input, as far as finding and identifying its files needs it."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from log_shipper.config.text.globs import PathPattern, matches, parse
from log_shipper.config.text.patterns import Pattern
from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.directory_tree import Directories
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile, Scanner, ScanOptions
from log_shipper.shipper.options.model import InputConfig

# A file of an input, by the id of the input, device and inode: other inputs may read the same file.
FileKey = tuple[str, int, int]


@dataclass(frozen=True, eq=False)
class InputSpec:
    """`comes_and_goes`: it is a container's, whose files may come later than it, and go before it."""

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

    def matches(self, path: str) -> bool:
        """True if the paths of the input name the path."""
        return any(matches(pattern, path) for pattern in self._patterns)

    def scanner(self, directories: Directories | None = None) -> Scanner:
        """`directories` of scanners that have the same filters."""
        options = self.config.prospector.scanner
        return Scanner(
            self.paths,
            ScanOptions(options.exclude_files, options.include_files, options.symlinks, options.recursive_glob),
            directories=directories,
        )


class Candidate(NamedTuple):
    """A file that the paths of an input name."""

    spec: InputSpec
    file: ScannedFile
    key: FileKey

    @classmethod
    def of(cls, spec: InputSpec, file: ScannedFile) -> "Candidate":
        return cls(spec, file, (spec.id, *file.inode))


def key_of(state: FileState) -> FileKey:
    """Return the key of the file that an entry has."""
    return state.input, state.device, state.inode
