"""A broker that answers garbage: the agent neither ends nor grows, and its position does not move."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.files.test_hostile import MIB, most_memory
from tests.e2e.running import Agent, await_true

MAX_MEMORY = 250 * MIB
# To each connection one of these: noise, a size beyond all limits, a negative one, an answer that was cut off, HTTP.
ANSWERS = (
    bytes(range(256)) * 16,
    struct.pack(">i", 2**31 - 1) + b"x" * 1000,
    struct.pack(">i", -5) + b"x" * 1000,
    struct.pack(">ii", 40, 1) + b"\xff" * 10,
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
)


class GarbageBroker:
    """`answered` is the number of connections that got an answer."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.answered = 0

    def serve(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                self._answer(self._socket.accept()[0])

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(1)
            connection.recv(4096)
            connection.sendall(ANSWERS[self.answered % len(ANSWERS)])
            self.answered += 1
            connection.recv(4096)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def garbage_broker() -> Iterator[GarbageBroker]:
    broker = GarbageBroker()
    thread = threading.Thread(target=broker.serve)
    thread.start()
    try:
        yield broker
    finally:
        broker.close()
        thread.join()


@pytest.fixture
def hostile_broker() -> Iterator[GarbageBroker]:
    with garbage_broker() as broker:
        yield broker


@pytest.fixture
def kafka_agent(hostile_broker: GarbageBroker, agent: LocalAgent, tmp_path: Path) -> Iterator[Agent]:
    """An agent that ships to that broker, with the files and positions of `agent`."""
    made = Agent(tmp_path / "kafka", hostile_broker.address, "logs")
    made.data, made.logs = agent.data, agent.logs
    made.kafka = {"backoff.init": "10ms", "backoff.max": "50ms"}
    made.settings["shipper.shutdown_timeout"] = "500ms"
    made.configure([f"{agent.logs}/*.log*"])
    yield made
    made.end()


@pytest.mark.slow("librdkafka connects again twice a second")
def test_a_broker_that_answers_garbage_costs_bounded_memory_and_no_line(
    hostile_broker: GarbageBroker, kafka_agent: Agent, agent: LocalAgent
) -> None:
    agent.append("one")
    kafka_agent.start()
    await_true(lambda: hostile_broker.answered > 2 * len(ANSWERS), "answers to its connections")
    memory = most_memory(kafka_agent.process.pid)
    assert kafka_agent.stop() == 0
    assert memory < MAX_MEMORY, f"{memory // MIB} MiB"
    agent.start()
    agent.expect("one")
