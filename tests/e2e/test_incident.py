"""One incident, as whoever is on duty sees it: the page's document, `shipper top`, the metrics with their alerts, and
the log each name what is wrong, and say when it is over.

The broker is down, a file is truncated before it was read, a topic does not exist, and the disk is nearly full.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM
from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import get
from tests.e2e.running import REPOSITORY, Agent, Topic, await_true, stopped
from tests.promtool import Phase, expect_alerts, needs_promtool

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow("an outage of the broker, and a disk that fills"),
    needs_promtool,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk for path.data needs root"),
]

QUEUE_EVENTS = 100
LINES = [
    f"line {number} of an order that someone waits for" for number in range(50_000)
]  # more than are read while the queue is full
DISK = 700 * 1024**2  # above the 500 MB of the alert
FILLED = 620 * 1024**2  # leaves less than 100 MB


@pytest.fixture
def agent(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> Iterator[Agent]:
    """Its path.data is a disk of its own; events of `bad.log` go to a topic that does not exist."""
    agent = Agent(tmp_path, kafka_broker.bootstrap, "")
    agent.data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", agent.data], check=True)
    agent.settings = {"queue.mem.events": QUEUE_EVENTS}
    missing = {"topic": f"{topic_name}-missing", "when.contains": {"log.file.path": "bad.log"}}
    agent.kafka = {"topic": topic_name, "topics": [missing], "backoff.max": "1s"}
    agent.configure()
    yield agent
    agent.end()
    subprocess.run(["umount", agent.data], check=True)


class OnDuty:
    """Whoever looks at a running agent. `phases`: what was scraped, for the alerts."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._socket = UnixSocket(agent.data / "shipper.sock")
        self.phases: list[Phase] = []

    def document(self) -> dict[str, Any]:
        return json.loads(get(self._socket, "/status"))  # type: ignore[no-any-return]

    def metrics(self) -> str:
        return get(self._socket, "/metrics").decode()

    def top(self) -> str:
        command = [*SHIPPER_PROGRAM, "top", "--once", "-c", str(self._agent.data.parent / "shipper.yml")]
        ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def sees(self, state: str, words: str, metric: str, *, minutes: int, firing: Sequence[str]) -> None:
        """Wait until the health is `state` and in these words, and the metric has this line; then top must have them,
        too. For so many minutes, at the end of which these alerts fire."""

        def seen() -> bool:
            health = self.document()["health"]
            return health["state"] == state and words in health["text"] and f"\n{metric}\n" in self.metrics()

        def seen_in_top() -> bool:  # other words may be the newest by then
            text = folded(self.document()["health"]["text"])
            return words in text and text in folded(self.top())

        await_true(seen, f"{state}, {words}, {metric}")
        await_true(seen_in_top, f"{words} in top")
        self.phases.append(Phase(self.metrics(), minutes, firing))

    def figure(self, name: str) -> float:
        return next(float(figure["value"]) for figure in self.document()["figures"] if figure["id"] == name)

    def logged(self, words: str) -> bool:
        """Return True if it is in the log, and in the page's table of warnings and errors."""
        rows = next(table["rows"] for table in self.document()["tables"] if table["id"] == "errors")
        return words in self._agent.log and any(words in str(row) for row in rows)


def folded(text: str) -> str:
    return " ".join(text.split())


def test_each_part_of_an_incident_is_seen_and_its_end_too(
    agent: Agent, topic: Topic, topic_name: str, kafka_broker: Broker, tmp_path: Path
) -> None:
    agent.append("before")
    agent.start()
    topic.await_message("before")
    duty = OnDuty(agent)
    duty.sees("ok", "Kafka accepts records.", "shipper_output_failing 0.0", minutes=10, firing=[])

    with stopped(kafka_broker):
        agent.append(*LINES)
        outage = ["ShipperOutputFailing"]
        duty.sees("failing", "Events are kept and sent later.", "shipper_output_failing 1.0", minutes=10, firing=outage)
        assert duty.logged("nothing is lost")
        os.truncate(agent.path, 0)
    lost = ["ShipperBytesLost"]  # for an hour
    duty.sees("ok", "Kafka accepts records.", "shipper_files_truncated_total 1.0", minutes=10, firing=lost)
    agent.await_log("events are delivered again")
    assert duty.logged("was truncated")
    assert duty.figure("bytes_lost") > 0
    agent.append("after")
    topic.await_message("after")

    agent.append("held up", path=agent.logs / "bad.log")
    waiting = [*lost, "ShipperTopicsWaiting"]
    duty.sees("degraded", f"{topic_name}-missing", "shipper_topics_waiting 1.0", minutes=15, firing=waiting)
    assert duty.logged("the topic does not exist")
    kafka_broker.create_topic(f"{topic_name}-missing", 2)
    duty.sees("ok", "Kafka accepts records.", "shipper_topics_waiting 0.0", minutes=5, firing=lost)

    filler = agent.data / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, FILLED)
    full = [*lost, "ShipperDataDiskNearlyFull"]
    duty.sees(
        "degraded", "The disk of path.data is nearly full", "shipper_registry_failing 0.0", minutes=15, firing=full
    )
    assert duty.logged("is nearly full")
    filler.unlink()
    duty.sees("ok", "Kafka accepts records.", "shipper_topics_waiting 0.0", minutes=90, firing=[])
    assert "has enough space again" in agent.log

    expect_alerts(tmp_path, duty.phases)
    assert agent.stop() == 0
