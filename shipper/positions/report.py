"""Print the output of `shipper registry import`: the result for each position, and the progress at a terminal."""

import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.positions.heads import PositionRefused

INTERVAL = 0.2  # seconds between two updates of the progress


def _terminal() -> TerminalHandler | None:
    return TerminalHandler(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None


@dataclass(slots=True)
class ImportReport:
    taken: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    left: int = 0  # skipped although the file exists
    _progress: TerminalHandler | None = field(default_factory=_terminal)
    _due: float = 0.0

    def print(self, line: str) -> None:
        if self._progress is not None:
            self._progress.show("")
        print(visible(line))  # noqa: T201

    def skip(self, name: str, refusal: PositionRefused) -> None:
        self.print(f"skipped {name}: {refusal}")
        self.skipped[refusal.reason] += 1
        self.left += not refusal.harmless

    def look_at(self, number: int, count: int) -> None:
        """Show the progress from time to time: reading each file may take long."""
        if self._progress is not None and time.monotonic() >= self._due:
            self._due = time.monotonic() + INTERVAL
            self._progress.show(f"{number:,} of {count:,} positions")

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.skipped.most_common())
        return f"{self.taken} positions taken, {self.skipped.total()} skipped" + (f" ({reasons})" if reasons else "")
