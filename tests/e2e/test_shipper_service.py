"""The process as systemd sees it. No broker answers: what the agent reports of itself does not depend on one."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import Agent
from tests.service_manager import ServiceManager

NO_BROKER = "127.0.0.1:9"


@pytest.fixture
def manager() -> Iterator[ServiceManager]:
    with ServiceManager(watchdog=1.0) as manager:
        yield manager


@pytest.fixture
def lonely(tmp_path: Path, manager: ServiceManager) -> Iterator[Agent]:
    agent = Agent(tmp_path, NO_BROKER, "logs")
    agent.settings = {"shipper.shutdown_timeout": "1s"}
    agent.configure()
    yield agent
    agent.end()


def start(agent: Agent, manager: ServiceManager) -> None:
    agent.start(before=manager.command)


def test_the_service_manager_sees_start_life_reload_and_stop(lonely: Agent, manager: ServiceManager) -> None:
    lonely.append("a line that waits")
    start(lonely, manager)

    ready = manager.await_report("READY=1")
    assert re.fullmatch(r"STATUS=0 events/s, 18 B behind, 1 file open", ready[-1]), ready

    lonely.process.send_signal(signal.SIGHUP)
    assert re.fullmatch(r"MONOTONIC_USEC=\d+", manager.await_report("RELOADING=1")[1])
    assert manager.await_report("READY=1") == ["READY=1"]

    manager.await_report("WATCHDOG=1")
    lonely.process.send_signal(signal.SIGTERM)
    manager.await_report("STOPPING=1")
    manager.await_report("EXTEND_TIMEOUT_USEC=")
    assert lonely.wait() == 0


@pytest.mark.slow("a second process")
def test_a_start_that_waits_for_kafka_asks_for_time(lonely: Agent, manager: ServiceManager) -> None:
    lonely.kafka = {"delivery": "exactly_once"}
    lonely.configure()
    start(lonely, manager)
    manager.await_report("EXTEND_TIMEOUT_USEC=")
    assert lonely.stop() == 0


@pytest.mark.slow("a second process")
def test_on_the_signal_of_the_watchdog_the_log_has_the_place(lonely: Agent, manager: ServiceManager) -> None:
    start(lonely, manager)
    manager.await_report("READY=1")
    lonely.process.send_signal(signal.SIGABRT)
    assert lonely.wait() == -signal.SIGABRT
    assert "most recent call first" in lonely.log
    assert "shipper/agent/running.py" in lonely.log
