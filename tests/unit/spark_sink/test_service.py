"""When the sink reports to the service manager, and what."""

from collections.abc import Iterator

import pytest

from service.notify import Notifier
from spark_sink.service import INTERVAL, WAITING, Service
from tests.service_manager import ServiceManager

LIMIT = 300.0


class Bench:
    def __init__(self, manager: ServiceManager) -> None:
        self._manager = manager
        self._now = 100.0
        self.silent = 0.0
        self.text = "10 rows landed"
        notifier = Notifier.from_environment(manager.environment)
        self.service = Service(notifier, lambda: self.silent, LIMIT, lambda: self._now)

    def step(self, seconds: float = 0.0) -> list[str]:
        self._now += seconds
        self.service.step(lambda: self.text)
        return self.lines()

    def lines(self) -> list[str]:
        return [line for report in self._manager.reports() for line in report]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ServiceManager(watchdog=120.0) as manager:
        yield Bench(manager)


def test_the_sink_is_ready_when_its_query_runs_and_reports_its_state_when_it_changed(bench: Bench) -> None:
    assert bench.step() == ["READY=1", "WATCHDOG=1", "STATUS=10 rows landed"]
    assert bench.step(INTERVAL / 2) == []
    assert bench.step(INTERVAL / 2) == ["WATCHDOG=1"]
    bench.text = "20 rows landed"
    assert bench.step(INTERVAL) == ["WATCHDOG=1", "STATUS=20 rows landed"]


def test_a_query_that_is_silent_for_too_long_is_not_alive(bench: Bench) -> None:
    bench.step()
    bench.silent = LIMIT + 1
    assert bench.step(INTERVAL) == []
    bench.silent = 0
    assert bench.step(INTERVAL) == ["WATCHDOG=1"]


def test_a_start_that_waits_for_topics_counts_as_done(bench: Bench) -> None:
    bench.service.waiting()
    assert bench.lines() == ["READY=1", "WATCHDOG=1", f"STATUS={WAITING}"]


def test_the_last_batch_may_take_its_time(bench: Bench) -> None:
    bench.service.ended()
    assert bench.lines() == ["WATCHDOG_USEC=0"]
    bench.service.stopping()
    assert bench.lines() == ["STOPPING=1", "WATCHDOG_USEC=0"]


def test_without_a_service_manager_nothing_is_described() -> None:
    def refuse() -> str:
        raise AssertionError("no one reads it")

    service = Service(Notifier(), lambda: 0.0, LIMIT)
    service.waiting()
    service.step(refuse)
    service.stopping()
