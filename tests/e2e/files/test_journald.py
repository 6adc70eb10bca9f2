"""A real journal by a real journalctl, while either of them, and the agent, are killed."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true
from tests.real_journald import JOURNALD, RealJournal, journalctls

pytestmark = [
    pytest.mark.slow("starts a journald, and kills it at random moments"),
    pytest.mark.skipif(JOURNALD is None, reason="systemd is not installed"),
]


class JournalAgent(LocalAgent):
    journal: RealJournal

    def configure(self, paths: list[str] | None = None, **input_options: Any) -> None:
        path = str(self.journal.directory) if hasattr(self, "journal") else "/none"
        section = {"type": "journald", "id": "sys", "paths": [path], **input_options}
        self.settings = {"shipper.inputs": [section], "shipper.registry.flush": "100ms"}
        super().configure(paths)

    @property
    def journalctls(self) -> list[int]:
        """The processes that read this journal."""
        return journalctls(self.journal.directory)

    @property
    def lines(self) -> list[str]:
        """The messages of the test without repeats, in order."""
        return [event["message"] for event in self.events if event.get("message", "").startswith("line ")]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[JournalAgent]:
    agent = JournalAgent(tmp_path)
    agent.journal = RealJournal()
    agent.configure()
    yield agent
    agent.end()
    agent.journal.close()


def test_nothing_is_lost_or_repeated_whatever_is_killed(agent: JournalAgent, seed: int) -> None:
    chance = random.Random(seed)
    logged = 0
    agent.start()
    for _ in range(25):
        for _ in range(chance.randrange(1, 300)):
            agent.journal.log(f"line {logged}", NUMBER=logged)
            logged += 1
        time.sleep(chance.random() * 0.3)
        match chance.randrange(4):
            case 0:
                agent.kill()
                await_true(lambda: not agent.journalctls, "no journalctl without an agent")
                agent.start()
            case 1:
                agent.stop()
                assert not agent.journalctls
                agent.start()
            case 2:
                for pid in agent.journalctls:
                    os.kill(pid, signal.SIGKILL)
            case 3:
                agent.journal.rotate()
    expected = [f"line {number}" for number in range(logged)]
    await_true(lambda: len(agent.lines) >= logged, "all lines", 60)
    assert agent.lines == expected
    agent.stop()


def test_a_vacuum_while_nothing_is_read_is_counted(agent: JournalAgent) -> None:
    agent.journal.log("line 0")
    agent.start()
    await_true(lambda: agent.lines == ["line 0"], "the first line")
    agent.stop()
    agent.journal.log("line 1", "line 2")
    agent.journal.rotate()
    agent.journal.log("line 3")
    agent.journal.rotate()
    agent.journal.vacuum()
    agent.journal.log("line 4")
    agent.start()
    await_true(lambda: agent.lines[-1] == "line 4", "the line after the vacuum")
    agent.await_log("are missing: vacuumed before they were read")
    agent.stop()


def test_a_vacuum_before_anything_was_delivered_is_counted_after_a_kill(agent: JournalAgent) -> None:
    agent.journal.log("line 0")
    # No file of the agent can grow past what the destination has now: nothing is delivered.
    agent.start(before=("prlimit", f"--fsize={agent.destination.stat().st_size}:unlimited"))
    await_true(lambda: any(b"^s=" in path.read_bytes() for path in registry_files(agent)), "the first entry is saved")
    agent.kill()
    agent.journal.log("line 1")
    agent.journal.rotate()
    agent.journal.log("line 2")
    agent.journal.rotate()
    agent.journal.vacuum()
    agent.journal.log("line 3")
    agent.start()
    await_true(lambda: agent.lines[-1:] == ["line 3"], "the line after the vacuum")
    assert agent.lines[0] != "line 0"
    agent.await_log(" entries (sequence numbers 1 to ")
    agent.stop()


def registry_files(agent: JournalAgent) -> list[Path]:
    return [path for path in (agent.data / "registry").rglob("*") if path.is_file()]


def test_journalctl_runs_in_the_root_directory_of_the_host(agent: JournalAgent, tmp_path: Path) -> None:
    """As in a container that has the host's root directory mounted. Both programs see the test's directories below
    it."""
    host = tmp_path / "host"
    host.mkdir()
    agent.configure(chroot=str(host))
    agent.journal.log("line 0", "line 1")
    mounted = ("unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --rbind / "$0" && exec "$@"')
    agent.start(before=(*mounted, str(host)))
    await_true(lambda: agent.lines == ["line 0", "line 1"], "the lines")
    assert [Path(f"/proc/{pid}/root").readlink() for pid in agent.journalctls] == [host]
    agent.stop()
