"""The life of a sidecar, as processes: it starts before its program, and ends after it with nothing left unshipped."""

import subprocess
import sys

import pytest

from tests.e2e.files.local import LocalAgent, numbered
from tests.e2e.running import PATIENCE

PROGRAM = """
import os, sys
path, *lines = sys.argv[1:]
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "a") as file:
    file.write("\\n".join(lines))
"""


def program(agent: LocalAgent, name: str, *lines: str) -> None:
    """Run a program that logs these lines, the last one without its terminator."""
    subprocess.run([sys.executable, "-c", PROGRAM, str(agent.logs / name), *lines], check=True)


def test_the_last_lines_of_a_program_are_shipped_when_sigterm_comes_at_once(agent: LocalAgent) -> None:
    agent.settings = {"shipper.shutdown_timeout": f"{PATIENCE - 10:.0f}s"}
    agent.configure([f"{agent.logs}/**/*.log"], **{"read_until_eof.enabled": True})
    agent.start()
    agent.await_log("started")
    program(agent, "app/app.log", "first", "second", "")
    agent.await_messages("first", "second")

    lines = numbered("line", 5000)
    agent.freeze()  # so that it has seen none of this when the signal comes
    program(agent, "app/other.log", *lines, "the last words")
    agent.process.terminate()
    agent.thaw()
    assert agent.wait() == 0
    assert agent.messages == ["first", "second", *lines, "the last words"]
    assert len(agent.all) == len(agent.messages)


@pytest.mark.slow("waits for a shutdown timeout")
def test_lines_that_the_shutdown_timeout_does_not_suffice_for_are_shipped_by_the_next_run(agent: LocalAgent) -> None:
    agent.settings = {"shipper.shutdown_timeout": "1s"}
    agent.configure(None, **{"read_until_eof.enabled": True})
    agent.append("first")
    agent.start()
    agent.await_messages("first")
    agent.fill_disk()
    lines = numbered("line", 5000)
    agent.append(*lines)
    assert agent.stop() == 0
    assert len(agent.messages) < len(lines)
    agent.start()
    agent.await_messages("first", *lines)
    assert agent.stop() == 0
