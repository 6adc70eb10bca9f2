"""When the agent reports to the service manager, and what."""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from service.notify import Notifier
from shipper.metrics import Metrics
from shipper.service import EXTENSION, START_PATIENCE, STATUS_INTERVAL, WAITING, Observed, Service
from shipper.source.base import BatchSource, SourceStatus
from tests.fakes import ManualClock
from tests.service_manager import ServiceManager

STATUS = SourceStatus(
    files_open=2,
    reading=1,
    unsettled=0,
    waiting=1,
    bytes_waiting=24,
    bytes_behind=2048,
    is_size_known=True,
    problems={},
)
LONG_WATCHDOG = 60.0


class Files:
    """A source of which only the status is used."""

    def __init__(self) -> None:
        self.now = STATUS
        self.asked = 0

    def status(self) -> SourceStatus:
        self.asked += 1
        return self.now


class Bench:
    def __init__(self, manager: ServiceManager) -> None:
        self.manager = manager
        self.clock = ManualClock()
        self.files = Files()
        self.metrics = Metrics()
        self.service = Service(Notifier.from_environment(manager.environment), self.clock)

    def step(self, seconds: float = 0.0) -> list[str]:
        """Return the lines that a step of the loop reports, so many seconds later."""
        self.clock.advance(seconds)
        self.service.step(Observed(self.metrics, cast("BatchSource", self.files)))
        return self.lines()

    def lines(self) -> list[str]:
        return [line for report in self.manager.reports() for line in report]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ServiceManager(watchdog=LONG_WATCHDOG) as manager:
        yield Bench(manager)


def test_the_agent_is_ready_after_the_first_step_which_does_not_wait(bench: Bench) -> None:
    assert bench.service.longest_wait(1.0) == 0.0
    assert bench.lines() == []
    assert bench.step() == ["READY=1", "WATCHDOG=1", "STATUS=0 events/s, 2.0 KiB behind, 2 files open"]
    assert bench.service.longest_wait(1.0) == 1.0
    assert "READY=1" not in bench.step(STATUS_INTERVAL)


def test_the_status_has_the_rate_since_the_last_one_and_comes_only_when_it_changed(bench: Bench) -> None:
    bench.step()
    bench.metrics.events_acked = 12_345
    assert bench.step(STATUS_INTERVAL)[-1] == "STATUS=2,469 events/s, 2.0 KiB behind, 2 files open"
    assert bench.step(STATUS_INTERVAL)[-1] == "STATUS=0 events/s, 2.0 KiB behind, 2 files open"
    assert bench.step(STATUS_INTERVAL) == ["WATCHDOG=1"]
    bench.files.now = replace(STATUS, files_open=1, bytes_behind=0, bytes_waiting=0)
    assert bench.step(STATUS_INTERVAL)[-1] == "STATUS=0 events/s, 0 B behind, 1 file open"


def test_a_busy_loop_pays_for_one_report_in_an_interval(bench: Bench) -> None:
    bench.step()
    for _ in range(100):
        bench.metrics.events_acked += 1
        assert bench.step(STATUS_INTERVAL / 200) == []
    assert bench.files.asked == 1


@pytest.mark.parametrize("watchdog", [1.0, 3.0])
def test_the_watchdog_gets_a_report_in_half_its_time_whatever_the_status_does(watchdog: float) -> None:
    with ServiceManager(watchdog=watchdog) as manager:
        bench = Bench(manager)
        bench.step()
        bench.metrics.events_acked = 10
        assert bench.step(watchdog / 2) == ["WATCHDOG=1"]
        assert bench.service.longest_wait(1.0) <= watchdog / 2, "an idle loop wakes in time"
        assert bench.step(watchdog / 4) == []


def test_a_start_that_waits_for_kafka_is_given_time_and_then_counts_as_done(bench: Bench) -> None:
    bench.service.waiting()
    assert bench.lines() == [f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"]
    bench.service.waiting()
    assert bench.lines() == []
    bench.clock.advance(START_PATIENCE - 0.1)
    bench.service.waiting()
    assert bench.lines() == [f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"]
    bench.clock.advance(STATUS_INTERVAL)
    bench.service.waiting()
    assert bench.lines() == ["READY=1", "WATCHDOG=1", f"STATUS={WAITING}"]
    bench.clock.advance(STATUS_INTERVAL)
    bench.service.waiting()
    assert bench.lines() == ["WATCHDOG=1"]
    assert bench.step(STATUS_INTERVAL) == ["WATCHDOG=1", "STATUS=0 events/s, 2.0 KiB behind, 2 files open"]


def test_a_reload_is_reported_with_its_time_and_again_when_it_is_over(bench: Bench) -> None:
    bench.clock.advance(1.25)
    bench.service.reloading(True)
    assert bench.lines() == ["RELOADING=1", f"MONOTONIC_USEC={bench.clock.monotonic() * 1_000_000:.0f}"]
    bench.service.reloading(False)
    assert bench.lines() == ["READY=1"]


def test_a_stop_asks_for_time_as_long_as_it_drains(bench: Bench) -> None:
    extended = f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"
    bench.step()
    bench.service.stopping()
    assert bench.lines()[0] == "STOPPING=1"
    for seconds, lines in ((0.0, ["WATCHDOG=1", extended]), (1.0, []), (STATUS_INTERVAL, ["WATCHDOG=1", extended])):
        bench.clock.advance(seconds)
        bench.service.draining()
        assert bench.lines() == lines
    bench.service.saving(100.0)
    assert bench.lines() == [f"EXTEND_TIMEOUT_USEC={(100 + EXTENSION) * 1_000_000:.0f}"]


def test_without_a_service_manager_the_loop_waits_as_before_and_no_file_is_looked_at() -> None:
    clock, files = ManualClock(), Files()
    service = Service(Notifier(), clock)
    assert service.longest_wait(1.0) == 1.0
    service.waiting()
    service.step(Observed(Metrics(), cast("BatchSource", files)))
    service.stopping()
    service.draining()
    clock.advance(1000)
    service.step(Observed(Metrics(), cast("BatchSource", files)))
    assert files.asked == 0
