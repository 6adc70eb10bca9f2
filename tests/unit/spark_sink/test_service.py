"""When the sink reports to the service manager, and what."""

from collections.abc import Iterator, Mapping

import pytest

from log_shipper.runtime.systemd import Notifier
from log_shipper.spark_sink.service import EXTENSION, INTERVAL, WAITING, Service
from tests.service_manager import ServiceManager

LIMIT = 300.0
EXTENDED = f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"


class SinkServiceLab:
    def __init__(self, manager: ServiceManager) -> None:
        self._manager = manager
        self._now = 100.0
        self.stalled = 0.0
        self.text = "10 rows landed"
        self.service = self._service(manager.environment)

    def _service(self, environ: Mapping[str, str]) -> Service:
        return Service(Notifier.from_environment(environ), lambda: self.stalled, LIMIT, lambda: self._now)

    def step(self, seconds: float = 0.0) -> list[str]:
        """Return what the job's thread reports, so many seconds later."""
        self._now += seconds
        self.service.step(lambda: self.text)
        return self.lines()

    def watch(self) -> list[str]:
        """Return what the thread reports that watches."""
        self.service.watch()
        return self.lines()

    def lines(self) -> list[str]:
        return [line for report in self._manager.reports() for line in report]


@pytest.fixture
def lab() -> Iterator[SinkServiceLab]:
    with ServiceManager(watchdog=120.0) as manager:
        yield SinkServiceLab(manager)


def test_the_sink_is_ready_when_its_query_runs_and_reports_its_state_when_it_changed(lab: SinkServiceLab) -> None:
    assert lab.step() == ["READY=1", "STATUS=10 rows landed"]
    lab.text = "20 rows landed"
    assert lab.step(INTERVAL / 2) == []
    assert lab.step(INTERVAL / 2) == ["STATUS=20 rows landed"]
    assert lab.step(INTERVAL) == []


def test_a_sink_that_makes_no_progress_for_too_long_is_not_alive(lab: SinkServiceLab) -> None:
    lab.step()
    assert lab.watch() == ["WATCHDOG=1"]
    lab.stalled = LIMIT + 1
    assert lab.watch() == []
    lab.stalled = LIMIT
    assert lab.watch() == ["WATCHDOG=1"]


def test_a_start_asks_for_time_as_long_as_it_makes_progress(lab: SinkServiceLab) -> None:
    assert lab.watch() == [EXTENDED]
    lab.stalled = LIMIT + 1
    assert lab.watch() == []


def test_a_start_that_waits_for_topics_counts_as_done_and_what_follows_is_watched(lab: SinkServiceLab) -> None:
    lab.service.report_waiting()
    assert lab.lines() == ["READY=1", f"STATUS={WAITING}"]
    assert lab.watch() == ["WATCHDOG=1"], "the thread of the job may read tables for as long as it takes"


def test_the_last_batch_may_take_its_time(lab: SinkServiceLab) -> None:
    lab.step()
    lab.service.ended()
    assert lab.lines() == ["WATCHDOG_USEC=0"]
    lab.service.stopping()
    assert lab.lines() == ["STOPPING=1", "WATCHDOG_USEC=0"]
    assert lab.watch() == []


@pytest.mark.parametrize(("watchdog", "interval"), [(None, INTERVAL), (0.0, INTERVAL), (2.0, 1.0), (120.0, INTERVAL)])
def test_the_watchdog_gets_two_reports_in_its_time(watchdog: float | None, interval: float) -> None:
    with ServiceManager(watchdog=watchdog) as manager:
        assert SinkServiceLab(manager).service.interval == interval


def test_without_a_service_manager_nothing_is_described() -> None:
    def refuse() -> str:
        raise AssertionError("no one reads it")

    service = Service(Notifier(), lambda: 0.0, LIMIT)
    service.report_waiting()
    service.step(refuse)
    service.watch()
    service.stopping()
