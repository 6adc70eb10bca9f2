"""What was received is on disk soon: a `kill -9` in an outage of the output loses nothing that is older than that."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.ports import free_ports
from tests.e2e.files.local import LocalAgent

pytestmark = pytest.mark.slow("kills an agent that receives for some seconds")

SENDING = 5.0
SAFE_AFTER = 2.0  # seconds: queue.disk.flush is 100 ms, and this machine may be slow
PAUSE = 0.005
Send = Callable[[bytes], None]


class OutageAgent(LocalAgent):
    """Ships to a file, or, while the output is `away`, to a Kafka that does not exist."""

    is_away = True

    def _output(self) -> dict[str, Any]:
        if not self.is_away:
            return super()._output()
        (port,) = free_ports(1)
        return {"output.kafka": {"hosts": [f"127.0.0.1:{port}"], "topic": "t"}}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OutageAgent]:
    agent = OutageAgent(tmp_path)
    yield agent
    agent.end()


@contextmanager
def connected(kind: str, place: str) -> Iterator[Send]:
    """Give what sends a message."""
    if kind == "tcp":
        made, address = socket.socket(socket.AF_INET, socket.SOCK_STREAM), ("127.0.0.1", int(place))
    elif kind == "udp":
        made, address = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), ("127.0.0.1", int(place))
    else:
        made, address = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), place  # type: ignore[assignment]
    with made:
        made.connect(address)
        end = b"\n" if kind == "tcp" else b""
        yield lambda message: made.sendall(message + end)


def section(kind: str, tmp_path: Path) -> tuple[dict[str, Any], str]:
    """Return an input, and the port or path that it listens at."""
    if kind == "unix":
        path = str(tmp_path / "s.sock")
        return {"type": "unix", "id": "in", "path": path, "socket_type": "datagram"}, path
    (port,) = free_ports(1)
    return {"type": kind, "id": "in", "host": f"127.0.0.1:{port}"}, str(port)


@pytest.mark.parametrize("kind", ["tcp", "udp", "unix"])
def test_what_is_older_than_a_flush_survives_a_kill(agent: OutageAgent, tmp_path: Path, kind: str) -> None:
    listening, place = section(kind, tmp_path)
    agent.settings = {"shipper.inputs": [listening]}
    agent.configure()
    agent.start()
    agent.await_log("listening at")
    sent: list[tuple[float, str]] = []
    began = time.monotonic()
    with connected(kind, place) as send:
        while time.monotonic() - began < SENDING:
            message = f"message {len(sent)}"
            send(message.encode())
            sent.append((time.monotonic(), message))
            time.sleep(PAUSE)
        agent.kill()
    killed = time.monotonic()
    safe = [message for moment, message in sent if killed - moment > SAFE_AFTER]
    assert len(safe) > 100
    agent.is_away = False
    agent.configure()
    agent.start()
    agent.await_messages(*safe)
    assert agent.stop() == 0
    assert agent.all[: len(safe)] == safe  # in order, and each once
