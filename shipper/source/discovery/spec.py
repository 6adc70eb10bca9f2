"""One configured input, as far as finding and identifying its files needs it."""

from dataclasses import dataclass

from log_shipper.config.shipper.model import InputConfig
from log_shipper.config.text.patterns import Pattern
from log_shipper.shipper.source.discovery.directory_tree import Directories
from log_shipper.shipper.source.discovery.scanner import Scanner, ScanOptions


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

    def scanner(self, directories: Directories | None = None) -> Scanner:
        """`directories` of scanners that have the same filters."""
        options = self.config.prospector.scanner
        return Scanner(
            self.paths,
            ScanOptions(options.exclude_files, options.include_files, options.symlinks, options.recursive_glob),
            directories=directories,
        )
