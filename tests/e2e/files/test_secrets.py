"""What a running agent shows, logs and writes has none of the secrets of its configuration."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.files.test_http import ask
from tests.e2e.files.test_http_input import HttpAgent, post
from tests.e2e.running import await_true

MARKER = "hunter2-and-more"
SECRETS: dict[str, Any] = {
    "secret": {"header": "X-Secret", "value": MARKER},
    "hmac": {"header": "X-Signature", "key": MARKER},
}
PAGES = ("/", "/stats?pretty", "/inputs", "/status", "/metrics", "/healthz", "/readyz", "/page")


class SecretAgent(HttpAgent):
    def _output(self) -> dict[str, Any]:
        kafka = {
            "hosts": ["127.0.0.1:1"],
            "topic": "logs",
            "username": "me",
            "password": MARKER,
            "headers": [{"key": "authorization", "value": MARKER}],
            "librdkafka": {"ssl.key.password": MARKER},
        }
        return {"output.kafka": kafka, "http": {"enabled": True, "port": 0}, "logging.level": "debug"}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LocalAgent]:
    agent = SecretAgent(tmp_path)
    yield agent
    agent.end()


def test_no_page_no_log_line_and_no_file_of_a_running_agent_has_a_secret(agent: SecretAgent) -> None:
    client = agent.listen(cut_off=True, basic_auth=True, username="me", password=MARKER, **SECRETS)
    assert post(client, "without a secret") == 401
    agent.await_log("http: serving at")
    match = re.search(r"http://localhost:\d+", agent.log)
    assert match is not None
    shown = {page: ask(match[0], page)[1].decode() for page in PAGES}
    assert "xxxxx" in shown["/status"]
    agent.configure(basic_auth=True, username="me", password=MARKER, prefix=[MARKER], **SECRETS)
    seen = len(agent.log)
    agent.process.send_signal(signal.SIGHUP)
    await_true(lambda: "prefix" in agent.log[seen:], "the reload is refused")
    assert agent.stop() == 0
    assert [page for page, text in shown.items() if MARKER in text] == []
    assert MARKER not in agent.log
    written = [path for path in agent.data.rglob("*") if path.is_file() and MARKER.encode() in path.read_bytes()]
    assert written == []
