"""What counts as progress, by a clock of the test, and what the service manager gets of it."""

import threading
from collections.abc import Iterator, Mapping

import pytest

from log_shipper.runtime.systemd import Notifier
from log_shipper.spark_sink.monitor.http import MIN_LIMIT
from log_shipper.spark_sink.monitor.liveness import LOOK_AFTER, MAX_TASK_SECONDS, Liveness, TaskProgress
from log_shipper.spark_sink.monitor.metrics import SinkMetrics
from log_shipper.spark_sink.platform.running_tasks import StageTasks
from log_shipper.spark_sink.service import INTERVAL, Service
from tests.fakes import ManualClock
from tests.service_manager import ServiceManager

BUSY = {1: StageTasks(active=2, ended=0)}
WATCHDOG = 120.0  # as deploy/systemd/spark-sink.service has it


class LivenessLab:
    """A sink that is ready, and what systemd would do with it."""

    def __init__(self, manager: ServiceManager) -> None:
        self._manager = manager
        self.clock = ManualClock()
        self.metrics = SinkMetrics(self.clock.monotonic)
        self.tasks: Mapping[int, StageTasks] = {}
        notifier = Notifier.from_environment(manager.environment)
        service = Service(notifier, self.metrics.stalled_for, MIN_LIMIT, self.clock.monotonic)
        service.report_waiting()
        self._liveness = Liveness(self.metrics, lambda: self.tasks, service.watch, INTERVAL, self.clock.monotonic)
        self._alive_at = self.clock.monotonic()

    def killed_within(self, seconds: float) -> bool:
        """Let time pass; True if the watchdog expired."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.advance(INTERVAL)
            self._liveness.step()
            if ["WATCHDOG=1"] in self._manager.reports():
                self._alive_at = self.clock.monotonic()
            if self.clock.monotonic() - self._alive_at > WATCHDOG:
                return True
        return False


@pytest.fixture
def lab() -> Iterator[LivenessLab]:
    with ServiceManager(watchdog=WATCHDOG) as manager:
        yield LivenessLab(manager)


def test_a_sink_that_does_nothing_is_restarted(lab: LivenessLab) -> None:
    assert not lab.killed_within(MIN_LIMIT)
    assert lab.killed_within(WATCHDOG + 2 * INTERVAL)


def test_a_long_start_is_not_interrupted_while_its_parts_end(lab: LivenessLab) -> None:
    for _ in range(10):
        assert not lab.killed_within(MIN_LIMIT)
        lab.metrics.progressed()


def test_a_batch_whose_tasks_end_one_after_the_other_is_not_interrupted(lab: LivenessLab) -> None:
    for ended in range(10):
        lab.tasks = {7: StageTasks(active=1, ended=ended)}
        assert not lab.killed_within(MAX_TASK_SECONDS)


def test_a_task_may_run_for_hours_and_not_permanently(lab: LivenessLab) -> None:
    lab.tasks = BUSY
    assert not lab.killed_within(MAX_TASK_SECONDS)
    assert lab.killed_within(MIN_LIMIT + WATCHDOG + LOOK_AFTER + 2 * INTERVAL)


def test_tasks_that_wait_for_a_machine_are_no_progress() -> None:
    progress, waiting = TaskProgress(), {1: StageTasks(active=0, ended=3)}
    assert progress.is_progress(waiting, 0.0), "they have just begun"
    assert not progress.is_progress(waiting, 30.0)


def test_the_same_figures_of_another_batch_are_progress() -> None:
    progress = TaskProgress()
    assert progress.is_progress(BUSY, 0.0)
    assert not progress.is_progress({}, MAX_TASK_SECONDS)
    assert progress.is_progress(BUSY, MAX_TASK_SECONDS + 1)


def test_java_that_cannot_be_asked_ends_no_report() -> None:
    reported = threading.Semaphore(0)
    clock = ManualClock()
    metrics = SinkMetrics(clock.monotonic)
    clock.advance(LOOK_AFTER)

    def refuse() -> Mapping[int, StageTasks]:
        raise ConnectionError("Java has ended")

    with Liveness(metrics, refuse, reported.release, 0.001):
        assert all(reported.acquire(timeout=60) for _ in range(3))
