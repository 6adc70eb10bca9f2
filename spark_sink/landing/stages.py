"""The stages of a batch, and their durations by a monotonic clock.

    planning │ tasks │ repeats │ commit │ marks │ other

`planning` is known only once Spark reports the batch (`monitor.progress`); the other stages are measured here.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Stage = Literal["planning", "tasks", "repeats", "commit", "marks", "other"]
STAGES: dict[Stage, str] = {
    "planning": "Spark asks where the batch ends, plans it and writes its checkpoint",
    "tasks": "Tasks read Kafka, convert records and write files",
    "repeats": "Rows that have landed before are looked for",
    "commit": "Files are committed to their tables",
    "marks": "The marks are written: the batch has landed",
    "other": "Kafka is asked for the lag, and Spark calls the sink",
}


class Stopwatch:
    """Adds up the seconds of each stage of a batch. Used by one thread. `progressed` is called at the start and end of
    each stage."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, progressed: Callable[[], None] = lambda: None
    ) -> None:
        self._monotonic = monotonic
        self._progressed = progressed
        self._seconds: dict[Stage, float] = {}

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Measure the `with` block. Blocks must not be nested."""
        began = self._monotonic()
        self._progressed()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + self._monotonic() - began
            self._progressed()

    def take_times(self) -> dict[Stage, float]:
        """Return the seconds of each stage since the last call."""
        seconds, self._seconds = self._seconds, {}
        return seconds
