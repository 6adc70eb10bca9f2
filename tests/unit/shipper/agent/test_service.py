"""When the agent reports to the service manager, and what."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from log_shipper.runtime.systemd import Notifier
from log_shipper.shipper.agent.app import build
from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.agent.service import (
    EXTENSION,
    PULSE_INTERVAL,
    START_PATIENCE,
    STATUS_INTERVAL,
    WAITING,
    LoopFigures,
    Pulse,
    Service,
)
from log_shipper.shipper.inputs.base import SourceStatus
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import OutputConfig, ShipperConfig
from log_shipper.shipper.outputs.console import ConsoleOutputConfig
from log_shipper.shipper.wake import Wake
from tests.builders import input_config
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


class ServiceLab:
    def __init__(self, manager: ServiceManager) -> None:
        self.manager = manager
        self.clock = ManualClock()
        self.files = Files()
        self.metrics = Metrics()
        self.service = Service(Notifier.from_environment(manager.environment), self.clock)

    def step(self, seconds: float = 0.0) -> list[str]:
        """Return the lines that a step of the loop reports, so many seconds later."""
        self.clock.advance(seconds)
        self.service.step(LoopFigures(self.metrics, cast("BatchSources", self.files)))
        return self.lines()

    def lines(self) -> list[str]:
        return [line for report in self.manager.reports() for line in report]


@pytest.fixture
def lab() -> Iterator[ServiceLab]:
    with ServiceManager(watchdog=LONG_WATCHDOG) as manager:
        yield ServiceLab(manager)


def test_the_agent_is_ready_after_the_first_step_which_does_not_wait(lab: ServiceLab) -> None:
    assert lab.service.max_wait(1.0) == 0.0
    assert lab.lines() == []
    assert lab.step() == ["READY=1", "WATCHDOG=1", "STATUS=0 events/s, 2.0 KiB behind, 2 files open"]
    assert lab.service.max_wait(1.0) == 1.0
    assert "READY=1" not in lab.step(STATUS_INTERVAL)


def test_the_status_has_the_rate_since_the_last_one_and_comes_only_when_it_changed(lab: ServiceLab) -> None:
    lab.step()
    lab.metrics.events_acked = 12_345
    assert lab.step(STATUS_INTERVAL)[-1] == "STATUS=2,469 events/s, 2.0 KiB behind, 2 files open"
    assert lab.step(STATUS_INTERVAL)[-1] == "STATUS=0 events/s, 2.0 KiB behind, 2 files open"
    assert lab.step(STATUS_INTERVAL) == ["WATCHDOG=1"]
    lab.files.now = replace(STATUS, files_open=1, bytes_behind=0, bytes_waiting=0)
    assert lab.step(STATUS_INTERVAL)[-1] == "STATUS=0 events/s, 0 B behind, 1 file open"


def test_a_busy_loop_pays_for_one_report_in_an_interval(lab: ServiceLab) -> None:
    lab.step()
    for _ in range(100):
        lab.metrics.events_acked += 1
        assert lab.step(STATUS_INTERVAL / 200) == []
    assert lab.files.asked == 1


@pytest.mark.parametrize("watchdog", [1.0, 3.0])
def test_the_watchdog_gets_a_report_in_half_its_time_whatever_the_status_does(watchdog: float) -> None:
    with ServiceManager(watchdog=watchdog) as manager:
        lab = ServiceLab(manager)
        lab.step()
        lab.metrics.events_acked = 10
        assert lab.step(watchdog / 2) == ["WATCHDOG=1"]
        assert lab.service.max_wait(1.0) <= watchdog / 2, "an idle loop wakes in time"
        assert lab.step(watchdog / 4) == []


def test_a_start_that_waits_for_kafka_is_given_time_and_then_counts_as_done(lab: ServiceLab) -> None:
    lab.service.waiting()
    assert lab.lines() == [f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"]
    lab.service.waiting()
    assert lab.lines() == []
    lab.clock.advance(START_PATIENCE - 0.1)
    lab.service.waiting()
    assert lab.lines() == [f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"]
    lab.clock.advance(STATUS_INTERVAL)
    lab.service.waiting()
    assert lab.lines() == ["READY=1", "WATCHDOG=1", f"STATUS={WAITING}"]
    lab.clock.advance(STATUS_INTERVAL)
    lab.service.waiting()
    assert lab.lines() == ["WATCHDOG=1"]
    assert lab.step(STATUS_INTERVAL) == ["WATCHDOG=1", "STATUS=0 events/s, 2.0 KiB behind, 2 files open"]


def test_a_reload_is_reported_with_its_time_and_again_when_it_is_over(lab: ServiceLab) -> None:
    lab.clock.advance(1.25)
    lab.service.reloading(True)
    assert lab.lines() == ["RELOADING=1", f"MONOTONIC_USEC={lab.clock.monotonic() * 1_000_000:.0f}"]
    lab.service.reloading(False)
    assert lab.lines() == ["READY=1"]


def test_a_stop_asks_for_time_as_long_as_it_drains(lab: ServiceLab) -> None:
    extended = f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"
    lab.step()
    lab.service.stopping()
    assert lab.lines()[0] == "STOPPING=1"
    for seconds, lines in ((0.0, ["WATCHDOG=1", extended]), (1.0, []), (STATUS_INTERVAL, ["WATCHDOG=1", extended])):
        lab.clock.advance(seconds)
        lab.service.draining()
        assert lab.lines() == lines
    lab.service.saving(100.0)
    assert lab.lines() == [f"EXTEND_TIMEOUT_USEC={(100 + EXTENSION) * 1_000_000:.0f}"]


def test_without_a_service_manager_the_loop_waits_as_before_and_no_file_is_looked_at() -> None:
    clock, files = ManualClock(), Files()
    service = Service(Notifier(), clock)
    assert service.max_wait(1.0) == 1.0
    service.waiting()
    service.step(LoopFigures(Metrics(), cast("BatchSources", files)))
    service.stopping()
    service.draining()
    clock.advance(1000)
    service.step(LoopFigures(Metrics(), cast("BatchSources", files)))
    assert files.asked == 0


def test_a_pulse_reports_at_most_once_an_interval_however_often_it_beats() -> None:
    clock, reports = ManualClock(), list[float]()
    pulse = Pulse(clock, lambda: reports.append(clock.monotonic()))
    started = clock.monotonic()
    for _ in range(13):
        pulse.beat()
        clock.advance(PULSE_INTERVAL / 4)
    assert reports == [started, started + PULSE_INTERVAL, started + 2 * PULSE_INTERVAL, started + 3 * PULSE_INTERVAL]


def test_a_pulse_remembers_when_it_beat_last() -> None:
    clock = ManualClock()
    pulse = Pulse(clock)
    clock.advance(10.0)
    assert clock.monotonic() - pulse.last == 10.0
    pulse.beat()
    assert pulse.last == clock.monotonic()


class SlowStep:
    """A step that calls the system for one thing after the other, each of which takes some seconds."""

    def __init__(self, lab: ServiceLab) -> None:
        self._lab = lab
        self._pulse = Pulse(lab.clock, lab.service.working)

    def run(self, calls: int, seconds: float) -> list[str]:
        """Return the lines that are reported meanwhile."""
        for _ in range(calls):
            self._lab.clock.advance(seconds)
            self._pulse.beat()
        return self._lab.lines()


PATIENCE = f"EXTEND_TIMEOUT_USEC={LONG_WATCHDOG * 1_000_000:.0f}"


def test_a_first_step_asks_for_time_as_long_as_it_does_one_thing_after_the_other(lab: ServiceLab) -> None:
    step = SlowStep(lab)
    assert step.run(2, STATUS_INTERVAL / 4) == [], "a short start reports that it is ready, and no more"
    assert step.run(10, LONG_WATCHDOG / 2) == [PATIENCE] * 10, "each may take as long as the watchdog gives it"
    assert lab.step()[:2] == ["READY=1", "WATCHDOG=1"]


def test_a_long_step_is_alive_as_long_as_it_does_one_thing_after_the_other(lab: ServiceLab) -> None:
    lab.step()
    assert SlowStep(lab).run(40, STATUS_INTERVAL / 4) == ["WATCHDOG=1"] * 10
    lab.clock.advance(10 * LONG_WATCHDOG)
    assert lab.lines() == [], "it hangs in one call of the system"


def test_a_last_scan_asks_for_time_too(lab: ServiceLab) -> None:
    lab.step()
    lab.service.stopping()
    lab.lines()
    assert SlowStep(lab).run(2, STATUS_INTERVAL) == ["WATCHDOG=1", PATIENCE] * 2


def test_the_scan_of_an_agent_reports_to_its_service_manager(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\n")
    console = OutputConfig(console=ConsoleOutputConfig())
    config = ShipperConfig(inputs=(input_config(paths=(f"{tmp_path}/*.log",)),), output=console)
    with ServiceManager() as manager, ExitStack() as stack:
        wake, clock = Wake(), ManualClock()
        stack.callback(wake.close)
        notifier = Notifier.from_environment(manager.environment)
        stack.callback(notifier.close)
        service = Service(notifier, clock)
        app = build(config, Environment(tmp_path / "data", wake, clock, service=service), stack)
        clock.advance(STATUS_INTERVAL)
        app.loop.step()
        app.sources.stop()
        assert manager.reports() == [[f"EXTEND_TIMEOUT_USEC={EXTENSION * 1_000_000:.0f}"]]
