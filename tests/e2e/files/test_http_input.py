"""The input `http` as programs see it: the real process, a real client."""

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import PATIENCE, await_true

UNREACHABLE = {"output.kafka": {"hosts": ["127.0.0.1:1"], "topic": "logs"}}


class HttpAgent(LocalAgent):
    """Listens at a port of the system's choice. While it `is_cut_off`, its output takes nothing."""

    is_cut_off = False
    is_kept_on_disk = True

    def configure(self, paths: list[str] | None = None, **input_options: Any) -> None:
        web = {"type": "http", "id": "web", "listen_port": 0, "prefix": ".", **input_options}
        self.settings = {"shipper.inputs": [web], "queue.disk.enabled": self.is_kept_on_disk}
        super().configure(paths)

    def _output(self) -> dict[str, Any]:
        return UNREACHABLE if self.is_cut_off else super()._output()

    def listen(self, *, cut_off: bool = False, **input_options: Any) -> http.client.HTTPConnection:
        """Start, and return a client of it."""
        self.is_cut_off = cut_off
        self.configure(**input_options)
        seen = len(self.log)
        self.start()
        self.await_log("listening at", after=seen)
        ports = re.findall(r"listening at http 127\.0\.0\.1:(\d+)/", self.log[seen:])
        return http.client.HTTPConnection("127.0.0.1", int(ports[-1]), timeout=PATIENCE)

    def await_log(self, text: str, timeout: float = PATIENCE, after: int = 0) -> None:
        await_true(lambda: text in self.log[after:], lambda: f"{text!r} in the log:\n{self.log[-2000:]}", timeout)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[HttpAgent]:
    agent = HttpAgent(tmp_path)
    yield agent
    agent.end()


def post(client: http.client.HTTPConnection, *messages: str) -> int:
    body = "".join(f'{{"message":"{message}"}}\n' for message in messages)
    client.request("POST", "/", body, {"Content-Type": "application/x-ndjson"})
    response = client.getresponse()
    response.read()
    return response.status


def test_what_was_answered_with_success_arrives_although_the_agent_is_killed_before_it_was_sent(
    agent: HttpAgent,
) -> None:
    client = agent.listen(cut_off=True)
    assert post(client, "one", "two") == 200
    agent.kill()
    client = agent.listen()
    assert post(client, "three") == 200
    agent.await_messages("one", "two", "three")
    assert agent.stop() == 0
    assert sorted(agent.all) == ["one", "three", "two"]


def test_without_a_queue_on_disk_a_client_is_to_send_again_what_the_output_does_not_take(agent: HttpAgent) -> None:
    agent.is_kept_on_disk = False
    client = agent.listen(cut_off=True, response_timeout="200ms")
    assert post(client, "one") == 503
