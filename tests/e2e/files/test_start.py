"""The start of the process: its modules, signals, arguments and descriptors."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import PATIENCE, REPOSITORY


def starting(*arguments: str) -> "subprocess.Popen[str]":
    """A process that prints the modules that it has loaded."""
    command = [sys.executable, "-X", "importtime", "-m", "shipper", *arguments]
    return subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)


def await_module(process: "subprocess.Popen[str]", name: str) -> None:
    assert process.stderr is not None
    assert any(line.rstrip().endswith(f" {name}") for line in process.stderr), f"it never loads {name}"


@pytest.mark.parametrize(
    ("options", "number", "code"),
    [((), signal.SIGINT, 0), (("--once",), signal.SIGINT, 1), (("--once",), signal.SIGTERM, 1)],
)
def test_a_signal_while_the_program_is_loaded_is_a_clean_end(
    options: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    process = starting("run", *options)
    await_module(process, "orjson")
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, errors


@pytest.mark.parametrize("command", [("run",), ("-e",)])
@pytest.mark.parametrize("reads", [True, False])
def test_sigterm_while_the_program_is_loaded_ends_it_cleanly_after_what_is_to_be_read_to_its_end(
    agent: LocalAgent, command: tuple[str, ...], *, reads: bool
) -> None:
    agent.append("one")
    options: dict[str, Any] = {"read_until_eof.enabled": reads}
    agent.settings = {"shipper.shutdown_timeout": f"{PATIENCE - 10:.0f}s"}  # all of the start is part of it
    agent.configure(**options)
    process = starting(*command, "-c", str(agent.config))
    await_module(process, "orjson")
    process.terminate()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert agent.messages == (["one"] if reads else [])


def test_a_second_signal_while_the_program_is_loaded_ends_it_at_once() -> None:
    process = starting("run", "-c", "missing.yml")
    await_module(process, "orjson")
    process.terminate()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_reload_that_is_asked_for_while_the_program_is_loaded_does_not_end_it(agent: LocalAgent) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the caller of the tests may ignore it (nohup)
    process = starting("run", "-c", str(agent.logs / "missing.yml"))
    signal.signal(signal.SIGHUP, before)
    await_module(process, "orjson")
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "missing.yml" in errors.splitlines()[-1]


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 1>&- 2>&-"])
def test_standard_streams_that_are_closed_are_no_reason_not_to_start(closed: str, agent: LocalAgent) -> None:
    agent.append("one")
    agent.start(before=("sh", "-c", f'exec "$@" {closed}', "sh"))
    agent.await_messages("one")
    descriptors = {number: os.readlink(f"/proc/{agent.process.pid}/fd/{number}") for number in range(3)}
    assert descriptors[2] == os.devnull, "what a library prints must not go into a file that was opened"
    assert closed == "2>&-" or descriptors == dict.fromkeys(range(3), os.devnull)
    assert agent.stop() == 0


def test_records_for_a_standard_output_that_is_closed_are_not_delivered_to_nowhere(agent: LocalAgent) -> None:
    agent.append("one")
    console = ("-E", "output.file.enabled=false", "-E", "output.console.pretty=false")
    assert agent.once(*console, before=("sh", "-c", 'exec "$@" 1>&-', "sh")) == 1
    assert "standard output is closed" in agent.log
