"""A reader that returns the runs that a test gives it."""

from collections.abc import Sequence

from log_shipper.shipper.event import Messages
from tests.builders import messages


class GivenRuns:
    """`finish` returns `ending`, once."""

    pending_since: float | None = None

    def __init__(self, *runs: Messages | Sequence[str], ending: Messages | None = None) -> None:
        self._runs = [run if isinstance(run, Messages) else messages(run) for run in runs]
        self._ending = ending

    def next(self) -> Messages | None:
        return self._runs.pop(0) if self._runs else None

    def finish(self) -> Messages | None:
        ending, self._ending = self._ending, None
        return ending
