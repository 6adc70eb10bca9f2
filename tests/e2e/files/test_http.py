"""The real process is asked while it runs: what a supervisor, Prometheus and Filebeat's tools would see."""

import json
import re
import signal
import urllib.error
import urllib.request
from typing import Any

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import PATIENCE, await_true


def ask(base: str, path: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(base + path, timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def acked(base: str) -> Any:
    status, body = ask(base, "/stats")
    return json.loads(body)["libbeat"]["output"]["events"]["acked"] if status == 200 else None


def test_a_running_agent_answers_until_it_ends(agent: LocalAgent) -> None:
    agent.settings = {"http": {"enabled": True, "port": 0}}
    agent.configure()
    agent.append("one", "two")
    agent.start()
    agent.await_log("http: serving at")
    match = re.search(r"http://localhost:\d+", agent.log)
    assert match is not None
    base = match[0]
    await_true(lambda: ask(base, "/readyz")[0] == 200, "ready")
    await_true(lambda: acked(base) == 2, "two events are acknowledged")
    assert ask(base, "/healthz")[0] == 200
    assert (agent.data / "shipper.sock").is_socket()

    agent.settings = {"http": {"enabled": True, "port": 1}}
    agent.configure(tags=["blue"])
    agent.process.send_signal(signal.SIGHUP)
    agent.await_log("changes that need a restart: http.port")
    await_true(lambda: b'shipper_reloads_total{result="ok"} 1.0' in ask(base, "/metrics")[1], "the reload is counted")
    assert agent.stop() == 0
    assert not (agent.data / "shipper.sock").exists()
