"""Shows that the sink makes progress, which is what systemd's watchdog and /health ask.

One that hangs is to be restarted. One that has much to do is not, however long that takes: it would begin with the same
batch again, be restarted in the middle of it again, and nothing would ever land. Progress is

- a step of the start, a stage of a batch, and a batch that ended; the wait for a topic; an idle query. Each is noted
  where it happens (`SinkMetrics.progressed`).
- tasks of Spark that begin or end, which is looked at here when nothing else was noted for a while. While tasks run
  and none of them ends, that counts too, for MAX_TASK_SECONDS.
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

LOOK_AFTER = 30.0  # seconds without progress; a tenth of the least limit (`http.silence_limit`)
# Seconds. A task has range_tasks.MAX_OFFSETS offsets at most, so it ends much earlier, unless a store or a disk hangs.
MAX_TASK_SECONDS = 7200.0
MAX_LOOK_SECONDS = 5.0  # seconds that the end waits for a look at the tasks


@dataclass(slots=True)
class TaskProgress:
    """Judges what is seen of the tasks, from one look to the next."""

    _seen: Mapping[int, StageTasks] = field(default_factory=dict)
    _changed: float = float("-inf")

    def is_progress(self, tasks: Mapping[int, StageTasks], now: float) -> bool:
        """Return True if tasks began or ended since the last look, or run for not longer than they may. `now`:
        seconds."""
        if not tasks:
            self._seen = {}
            return False
        if tasks != self._seen:
            self._seen, self._changed = dict(tasks), now
            return True
        return now - self._changed <= MAX_TASK_SECONDS and any(stage.active for stage in tasks.values())


class Liveness:
    """Looks at the tasks and reports, every `interval` seconds while the `with` block runs, on a thread of its own:
    that of the job waits for Spark. `tasks` returns them by stage and may raise anything."""

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
        """Report, and look at the tasks if there was no other progress for a while. Raises what `tasks` raises."""
        self._report()
        if self._metrics.stalled_for() >= LOOK_AFTER and self._progress.is_progress(self._tasks(), self._monotonic()):
            self._metrics.progressed()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self.step()
            except Exception:  # Java may have ended, for instance, by which the job ends
                logger.debug("cannot read the state of Spark's tasks", exc_info=True)
