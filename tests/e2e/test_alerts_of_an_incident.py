"""What a real agent serves at /metrics while it has trouble makes the right alerts fire, no others, and they end."""

import os
import re
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.broker import Broker
from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import get
from tests.capabilities import UNPRIVILEGED
from tests.e2e.running import Agent, Topic, await_true, stopped
from tests.promtool import Phase, expect_alerts, needs_promtool

pytestmark = [pytest.mark.kafka, pytest.mark.slow("needs promtool, which script/tools fetches"), needs_promtool]

FAILED_RELOAD = 'shipper_reloads_total{result="failed"} 1.0'


class ScrapedAgent(Agent):
    def scrape(self) -> str:
        """Return what it serves at /metrics, by the socket in path.data."""
        return get(UnixSocket(self.data / "shipper.sock"), "/metrics", 10).decode()

    def scrape_with(self, **expected: float) -> str:
        """Wait until these metrics have these values; return all."""
        latest = ""

        def is_there() -> bool:
            nonlocal latest
            latest = self.scrape()
            return all(_value(latest, name) == value for name, value in expected.items())

        await_true(is_there, lambda: f"{expected}; logged:\n{self.log[-2000:]}")
        return latest


def _value(scraped: str, name: str) -> float | None:
    match = re.search(rf"^shipper_{name}(?:{{[^}}]*}})? (\S+)$", scraped, re.MULTILINE)
    return float(match[1]) if match else None


@pytest.fixture
def agent(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> Iterator[ScrapedAgent]:
    agent = ScrapedAgent(tmp_path, kafka_broker.bootstrap, topic_name)
    yield agent
    agent.end()


def test_an_outage_of_the_broker_a_full_disk_and_the_end(
    agent: ScrapedAgent, topic: Topic, kafka_broker: Broker, tmp_path: Path
) -> None:
    agent.append("before")
    agent.start()
    topic.await_message("before")
    fine = agent.scrape_with(output_reached=1, queue_events=0)
    with stopped(kafka_broker):
        agent.append("meanwhile")
        outage = agent.scrape_with(output_failing=1, queue_events=1)
    topic.await_message("meanwhile")
    after = agent.scrape_with(output_failing=0, queue_events=0)
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    agent.append("on a full disk")
    full = agent.scrape_with(registry_failing=1)
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    agent.append("there is room")
    topic.await_message("there is room")
    room = agent.scrape_with(registry_failing=0, queue_events=0)
    assert agent.stop() == 0
    expect_alerts(
        tmp_path,
        [
            Phase(fine, 20),
            Phase(outage, 8, ["ShipperOutputFailing"]),
            Phase(after, 20),
            Phase(full, 5, ["ShipperRegistryFailing"]),
            Phase(room, 20),
            Phase("", 10, ["ShipperDown"]),
        ],
    )


def test_an_unreadable_file_a_refused_event_and_a_configuration_with_a_mistake(
    agent: ScrapedAgent, topic: Topic, tmp_path: Path
) -> None:
    agent.kafka = {"max_message_bytes": 2000, "oversized": "dead_letter"}
    agent.configure()
    agent.append("before")
    agent.start(before=UNPRIVILEGED)
    topic.await_message("before")
    fine = agent.scrape_with(output_reached=1, queue_events=0)
    hidden, secret = tmp_path / "hidden", agent.logs / "secret.log"
    agent.append("not for us", path=hidden)
    hidden.chmod(0)  # before it has a name that the agent looks for: it would be open already
    hidden.rename(secret)
    unreadable = agent.scrape_with(file_problems=1)
    secret.chmod(0o600)
    topic.await_message("not for us")
    readable = agent.scrape_with(file_problems=0, queue_events=0)
    agent.append("x" * 3000)
    refused = agent.scrape_with(events_dead_lettered_total=1, queue_events=0)
    agent.settings["no.such.option"] = 1
    agent.configure()
    agent.process.send_signal(signal.SIGHUP)
    await_true(lambda: FAILED_RELOAD in agent.scrape(), "a reload that failed")
    mistake = agent.scrape()
    assert agent.stop() == 0
    expect_alerts(
        tmp_path,
        [
            Phase(fine, 20),
            Phase(unreadable, 20, ["ShipperFilesUnreadable"]),
            Phase(readable, 20),
            Phase(refused, 5, ["ShipperDeadLetters"]),
            Phase(refused, 15),
            Phase(mistake, 5, ["ShipperReloadFailed"]),
            Phase(mistake, 15),
        ],
    )


def test_a_topic_that_does_not_exist_and_a_file_that_is_truncated_before_it_was_read(
    agent: ScrapedAgent, kafka_broker: Broker, topic: Topic, topic_name: str, tmp_path: Path
) -> None:
    missing = f"{topic_name}-missing"
    agent.kafka = {"topic": "", "backoff.max": "1s"}
    agent.kafka["topics"] = [{"topic": missing, "when.contains.message": "astray"}, {"topic": topic_name}]
    agent.configure()
    agent.path.write_text("before\nunfinished")
    agent.start()
    topic.await_message("before")
    fine = agent.scrape_with(output_reached=1, queue_events=0)
    agent.append("astray", path=agent.logs / "astray.log")
    waiting = agent.scrape_with(topics_waiting=1)
    kafka_broker.create_topic(missing, 1)
    created = agent.scrape_with(topics_waiting=0, queue_events=0)
    agent.process.send_signal(signal.SIGSTOP)
    os.truncate(agent.path, 0)  # with a line in it whose end was never written
    agent.append("after")
    agent.process.send_signal(signal.SIGCONT)
    topic.await_message("after")
    lost = agent.scrape_with(bytes_lost_total=len("unfinished"), queue_events=0)
    assert agent.stop() == 0
    expect_alerts(
        tmp_path,
        [
            Phase(fine, 20),
            Phase(waiting, 15, ["ShipperTopicsWaiting"]),
            Phase(created, 5),
            Phase(lost, 55, ["ShipperBytesLost"]),
            Phase(lost, 10),
        ],
    )
