"""One configured input, as far as finding and identifying its files needs it."""

from collections.abc import Callable
from dataclasses import dataclass

from config.shipper.model import InputConfig
from shipper.source.discovery.scanner import Scanner, ScanOptions


@dataclass(frozen=True, eq=False)
class InputSpec:
    config: InputConfig

    @property
    def id(self) -> str:
        return self.config.id

    @property
    def paths(self) -> tuple[str, ...]:
        return self.config.paths

    @property
    def check_interval(self) -> float:
        return self.config.prospector.scanner.check_interval

    def scanner(self, progressed: Callable[[], None]) -> Scanner:
        """Return what scans its paths; `progressed` as Scanner has it."""
        options = self.config.prospector.scanner
        return Scanner(
            self.paths,
            ScanOptions(options.exclude_files, options.include_files, options.symlinks, options.recursive_glob),
            progressed=progressed,
        )
