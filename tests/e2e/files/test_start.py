"""The start of the process: its modules, signals, arguments and descriptors."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from demo.process import SHIPPER_PROGRAM
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import PATIENCE, REPOSITORY

# A module that Python imports first of all.
HELD = """
import os, sys

class Held:
    def find_spec(self, name, path=None, target=None):
        if name == "orjson":
            sys.meta_path.remove(self)
            os.write(1, b"loading\\n")
            os.read(0, 1)

sys.meta_path.insert(0, Held())
"""


def loading(directory: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start a process that waits while it loads its modules, until `communicate` closes its standard input."""
    (directory / "sitecustomize.py").write_text(HELD)
    path = os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [*SHIPPER_PROGRAM, *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    return process


@pytest.mark.parametrize(
    ("options", "number", "code"),
    [((), signal.SIGINT, 0), (("--once",), signal.SIGINT, 1), (("--once",), signal.SIGTERM, 1)],
)
def test_a_signal_while_the_program_is_loaded_is_a_clean_end(
    options: tuple[str, ...], number: signal.Signals, code: int, tmp_path: Path
) -> None:
    process = loading(tmp_path, "run", *options)
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
    process = loading(agent.directory, *command, "-c", str(agent.config))
    process.terminate()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert agent.messages == (["one"] if reads else [])


def test_a_second_signal_while_the_program_is_loaded_ends_it_at_once(tmp_path: Path) -> None:
    process = loading(tmp_path, "run", "-c", "missing.yml")
    process.terminate()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_reload_that_is_asked_for_while_the_program_is_loaded_does_not_end_it(agent: LocalAgent) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the caller of the tests may ignore it (nohup)
    process = loading(agent.directory, "run", "-c", str(agent.logs / "missing.yml"))
    signal.signal(signal.SIGHUP, before)
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


def test_an_agent_with_nothing_to_do_wakes_every_two_seconds_only(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    status = Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/status")

    def wake_ups() -> int:
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("voluntary_ctxt_switches"))
        return int(line.split()[1])

    time.sleep(1)  # what follows the line is over
    before = wake_ups()
    time.sleep(3)
    assert wake_ups() - before < 8
    assert agent.stop() == 0
