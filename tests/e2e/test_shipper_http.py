"""The probes and metrics of an agent while the real broker is away, and when it is back."""

import json
from typing import Any

import pytest

from demo.broker import Broker
from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import Refused, get
from tests.e2e.running import Agent, Topic, await_true, stopped

pytestmark = [pytest.mark.kafka, pytest.mark.slow("stops the broker twice")]


def ask(agent: Agent, path: str) -> tuple[int, str]:
    try:
        return 200, get(UnixSocket(agent.data / "shipper.sock"), path, 10).decode()
    except Refused as refused:
        return refused.status, str(refused)
    except (FileNotFoundError, ConnectionRefusedError):
        return 0, ""


def metric(agent: Agent, name: str) -> float:
    lines = ask(agent, "/metrics")[1].splitlines()
    return next((float(line.split(" ")[1]) for line in lines if line.startswith(f"{name} ")), -1.0)


def await_health(agent: Agent, state: str) -> None:
    seen: Any = None

    def reached() -> bool:
        nonlocal seen
        body = ask(agent, "/status")[1]
        seen = json.loads(body)["health"] if body else None
        return bool(seen) and seen["state"] == state

    try:
        await_true(reached, state)
    except AssertionError as error:
        raise AssertionError(seen) from error


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_it_is_ready_when_the_broker_has_answered_and_fails_while_it_is_away(
    agent: Agent, topic: Topic, kafka_broker: Broker, delivery: str
) -> None:
    agent.kafka = {"delivery": delivery}
    agent.configure()
    with stopped(kafka_broker):
        agent.start()
        await_true(lambda: ask(agent, "/readyz")[0] == 503, "not ready")
        assert json.loads(ask(agent, "/readyz")[1])["missing"] == ["output"]
        assert ask(agent, "/healthz")[0] == 200
    await_true(lambda: ask(agent, "/readyz")[0] == 200, "ready without an event")
    await_health(agent, "ok")

    agent.append("one")
    topic.await_message("one")
    with stopped(kafka_broker):
        agent.append("two")
        await_true(lambda: metric(agent, "shipper_output_failing") == 1, "failing")
        await_health(agent, "failing")
        await_true(lambda: metric(agent, "shipper_lag_bytes") == 4, "behind")
        assert ask(agent, "/readyz")[0] == 200, "it was reached once"
    topic.await_message("two")
    await_true(lambda: metric(agent, "shipper_output_failing") == 0, "over")
    await_true(lambda: metric(agent, "shipper_lag_bytes") == 0, "delivered")
    assert metric(agent, "shipper_produce_seconds_count") >= 2
    assert agent.stop() == 0
