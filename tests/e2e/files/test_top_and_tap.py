"""`shipper top` and `shipper tap`, in a real terminal and beside a real agent."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from demo.process import SHIPPER_PROGRAM
from tests.e2e.files.local import LocalAgent
from tests.e2e.files.terminal import Terminal
from tests.e2e.running import REPOSITORY, await_true
from tests.e2e.tapping import Tapped, of_data
from tests.status_documents import document, serving, status_of

pytestmark = pytest.mark.slow("each test starts processes")


def shipper(*arguments: str, timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
    command = [*SHIPPER_PROGRAM, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=timeout, check=False)


def test_the_keys_change_what_is_seen(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", status_of(document())),
        Terminal(["top", *of_data(tmp_path)], 80, 24) as terminal,
    ):
        terminal.await_screen("DEGRADED The topic logs-b", "Events acknowledged", "service-01/app.log", "q quit")
        terminal.press("\t")
        terminal.await_screen("cannot deliver to the topic", without="service-01/app.log")
        terminal.press("\x1b[Z")  # shift-tab
        terminal.await_screen("service-01/app.log")
        terminal.press("\x1bOB" * 3)  # down
        terminal.await_screen("service-04/app.log", without="service-01/app.log")
        terminal.press("p")
        terminal.await_screen("PAUSED")
        terminal.press("?")
        terminal.await_screen("next table; shift-tab, left: previous")
        terminal.press("x")
        terminal.await_screen("service-04/app.log", without="next table; shift-tab, left: previous")
        terminal.press("q")
        assert terminal.await_end() == 0


def test_a_terminal_that_is_resized_is_filled(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", status_of(document())),
        Terminal(["top", *of_data(tmp_path)], 80, 24) as terminal,
    ):
        terminal.await_screen("service-01/app.log", without="Message size too large")
        terminal.resize(120, 40)
        terminal.await_screen("Message size too large")
        assert "q quit" in terminal.screen.splitlines()[39]
        terminal.resize(60, 20)
        terminal.await_screen("q quit", without="Message size too large")
        terminal.signal(signal.SIGINT)
        assert terminal.await_end() == 0
        assert "Traceback" not in terminal.screen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_terminal_that_a_shell_can_use(number: signal.Signals, tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", status_of(document())),
        Terminal(["top", *of_data(tmp_path)], 80, 24) as terminal,
    ):
        terminal.await_screen("DEGRADED", "q quit")
        assert not terminal.echoes
        terminal.signal(number)
        assert terminal.await_end() == 1
        assert terminal.echoes


@pytest.mark.parametrize(("name", "chart"), [("xterm", "▁"), ("screen", "▁"), ("linux", "▄"), ("vt100", "#")])
def test_it_works_in_the_terminals_that_there_are(name: str, chart: str, tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", status_of(document())),
        Terminal(["top", *of_data(tmp_path)], 80, 24, TERM=name) as terminal,
    ):
        terminal.await_screen("DEGRADED", "service-01/app.log", chart)
        terminal.press("q")
        assert terminal.await_end() == 0


def test_a_terminal_that_is_not_known_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with Terminal(["top", *of_data(tmp_path)], 80, 24, TERM="no-such-terminal") as terminal:
        terminal.await_screen("TERM=no-such-terminal", "--once")
        assert terminal.await_end() == 1


def test_a_terminal_that_cannot_draw_gets_one_frame_as_text(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", status_of(document())),
        Terminal(["top", *of_data(tmp_path)], 80, 100, TERM="dumb") as terminal,
    ):
        terminal.await_screen("DEGRADED", "service-20/app.log")
        assert terminal.await_end() == 0


@pytest.mark.parametrize(("environ", "has_colours"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_optional(environ: dict[str, str], has_colours: bool, tmp_path: Path) -> None:
    with (
        serving(tmp_path / "shipper.sock", status_of(document())),
        Terminal(["top", *of_data(tmp_path)], 80, 24, **environ) as terminal,
    ):
        terminal.await_screen("DEGRADED", "q quit")
        assert bool(terminal.colours - {"default"}) == has_colours


def test_an_agent_that_ends_and_comes_back_is_seen(tmp_path: Path) -> None:
    missing = f"NOT RESPONDING no {tmp_path}/shipper.sock: the shipper with this path.data is not running"
    with Terminal(["top", *of_data(tmp_path)], 500, 24) as terminal:  # wide enough for the message on one line
        terminal.await_screen(missing, "Next attempt every 1 s.")
        with serving(tmp_path / "shipper.sock", status_of(document())):
            terminal.await_screen("DEGRADED", "up 1d 02h", without="NOT RESPONDING")
        terminal.await_screen("NOT RESPONDING", "Shown below", "service-01/app.log")
        with serving(tmp_path / "shipper.sock", status_of(document(started=document()["now"]))):
            terminal.await_screen("DEGRADED", "up 0 s", without="NOT RESPONDING")


def test_top_and_tap_beside_a_real_agent_that_is_then_killed(agent: LocalAgent) -> None:
    options = of_data(agent.data)
    agent.start()
    agent.append("first")
    agent.await_messages("first")
    await_true(lambda: (agent.data / "shipper.sock").exists(), "the socket")
    with Tapped(*options, "--rate", "100", "--count", "3") as tap:
        agent.append("one \x1b[2J", "two", "three")
        shown, notes = tap.process.communicate(timeout=30)
    events = [json.loads(line) for line in shown.splitlines()]
    assert [event["message"] for event in events] == ["one \x1b[2J", "two", "three"]
    agent.await_messages("one \x1b[2J", "two", "three")
    assert events == agent.events[-3:]
    assert notes.endswith("tap: 3 events shown\n")

    frame = shipper("top", "--once", *options)
    assert (frame.returncode, frame.stderr) == (0, "")
    assert "shipper" in frame.stdout.splitlines()[0]
    assert "OK" in frame.stdout.splitlines()[1]

    with Tapped(*options) as tap:
        agent.kill()
        _, notes = tap.process.communicate(timeout=30)
    assert tap.process.returncode == 1
    assert "the shipper ended or is restarting, which ends tap; run it again when the shipper is up" in notes
    assert "belongs to a shipper that has ended" in shipper("top", "--once", *options).stderr


def test_a_tap_that_does_not_read_holds_up_nothing(agent: LocalAgent) -> None:
    agent.start()
    await_true(lambda: (agent.data / "shipper.sock").exists(), "the socket")
    with Tapped(*of_data(agent.data), "--rate", "100") as tap:
        lines = [f"{number:06} {'x' * 10_000}" for number in range(2_000)]
        agent.append(*lines)
        agent.await_messages(*lines)
        tap.process.kill()
    agent.append("last")
    agent.await_messages("last")
