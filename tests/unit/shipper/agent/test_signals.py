"""In processes of their own: what a signal does to the process is the point."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.agent.signals import STOPPING, Signals

ROOT = Path(__file__).parents[3]
PROGRAM = """
from log_shipper.shipper.agent.signals import Signals
from log_shipper.shipper.wake import Wake
wake = Wake()
with Signals(wake.set, reloads={reloads}) as signals:
    print("ready", flush=True)
    wake.wait(60)
    while signals.hung_up():
        wake.clear()
        print("reload", signals.hung_up(), flush=True)
        wake.wait(60)
    print("stopping" if signals.stopping else "not stopping", flush=True)
    wake.clear()
    wake.wait(60 if {patient} else 0)
print("ended", flush=True)
"""


class Program:
    def __init__(self, *, patient: bool, reloads: bool = True) -> None:
        command = [sys.executable, "-c", PROGRAM.format(patient=patient, reloads=reloads)]
        # Whoever runs the tests may ignore SIGHUP (nohup), and a program inherits that.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        signal.signal(signal.SIGHUP, before)

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def exit_code(self) -> int:
        return self._process.wait(60)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def patient() -> Iterator[Program]:
    """It takes its time after the first signal."""
    program = Program(patient=True)
    yield program
    program.close()


@pytest.fixture
def prompt() -> Iterator[Program]:
    program = Program(patient=False)
    yield program
    program.close()


def test_the_first_signal_wakes_the_program_which_ends_in_its_own_way(prompt: Program) -> None:
    assert prompt.line() == "ready"
    prompt.signal(signal.SIGTERM)
    assert [prompt.line(), prompt.line()] == ["stopping", "ended"]
    assert prompt.exit_code() == 0


@pytest.mark.parametrize("second", STOPPING)
def test_the_second_signal_ends_the_program_at_once(patient: Program, second: signal.Signals) -> None:
    assert patient.line() == "ready"
    patient.signal(signal.SIGINT)
    assert patient.line() == "stopping"
    patient.signal(second)
    assert patient.exit_code() == 128 + second
    assert patient.line() == ""


def test_sighup_wakes_the_program_and_is_reported_once_each_time(prompt: Program) -> None:
    assert prompt.line() == "ready"
    for _ in range(2):
        prompt.signal(signal.SIGHUP)
        assert prompt.line() == "reload False"
    prompt.signal(signal.SIGTERM)
    assert [prompt.line(), prompt.line()] == ["stopping", "ended"]


def test_where_nothing_can_be_read_again_sighup_ends_the_program() -> None:
    program = Program(patient=True, reloads=False)
    assert program.line() == "ready"
    program.signal(signal.SIGHUP)
    assert program.exit_code() == -signal.SIGHUP
    program.close()


def test_what_was_there_before_is_there_again() -> None:
    numbers = (*STOPPING, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    with Signals(lambda: None, reloads=True):
        assert not set(before) & {signal.getsignal(number) for number in numbers}
    assert [signal.getsignal(number) for number in numbers] == before
