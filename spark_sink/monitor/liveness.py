"""Detects whether the sink makes progress, for systemd's watchdog and /health.

A sink that hangs must be restarted. A busy one must not be, however long it takes: it would retry the same batch, be
restarted within it again, and nothing would ever land. Progress is

- a step of the start, a stage of a batch, a completed batch, the wait for a topic, and an idle query: reported where
  they happen (`SinkMetrics.progressed`).
- Spark tasks that begin or end: checked here if there was no other progress for a while. Tasks that run count as
  progress for MAX_TASK_SECONDS, even if none ends.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from log_shipper.spark_sink.monitor.metrics import SinkMetrics
from log_shipper.spark_sink.platform.running_tasks import StageTasks

logger = logging.getLogger(__name__)

LOOK_AFTER = 30.0  # seconds without progress; a tenth of the minimum of `http.silence_limit`
# Seconds. A task has at most range_tasks.MAX_OFFSETS offsets, so it ends much earlier, unless a store or disk hangs.
MAX_TASK_SECONDS = 7200.0
MAX_LOOK_SECONDS = 5.0  # maximum wait for a running check of the tasks at the end


@dataclass(slots=True)
class TaskProgress:
    """Detects progress of the tasks between two checks."""

    _seen: Mapping[int, StageTasks] = field(default_factory=dict)
    _changed: float = float("-inf")

    def is_progress(self, tasks: Mapping[int, StageTasks], now: float) -> bool:
        """Return True if tasks began or ended since the last check, or run within MAX_TASK_SECONDS. `now`: seconds."""
        if not tasks:
            self._seen = {}
            return False
        if tasks != self._seen:
            self._seen, self._changed = dict(tasks), now
            return True
        return now - self._changed <= MAX_TASK_SECONDS and any(stage.active for stage in tasks.values())


class Liveness:
    """Calls `report` and checks the tasks, every `interval` seconds during the `with` block, on its own thread: the
    job's thread waits for Spark. `tasks` returns the tasks by stage and may raise anything."""

    def __init__(
        self,
        metrics: SinkMetrics,
        tasks: Callable[[], Mapping[int, StageTasks]],
        report: Callable[[], None],
        interval: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._tasks = tasks
        self._report = report
        self._interval = interval
        self._monotonic = monotonic
        self._progress = TaskProgress()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="liveness", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(MAX_LOOK_SECONDS)

    def step(self) -> None:
        """Report, and check the tasks if there was no other progress for a while. Raises like `tasks`."""
        self._report()
        if self._metrics.stalled_for() >= LOOK_AFTER and self._progress.is_progress(self._tasks(), self._monotonic()):
            self._metrics.progressed()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self.step()
            except Exception:  # for example if Java has ended, which also ends the job
                logger.debug("cannot read the state of Spark's tasks", exc_info=True)
