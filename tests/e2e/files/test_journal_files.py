"""Journal files as they may be found: large, without the right to read them; and a journalctl that is none."""

import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import get
from tests import journal_files
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true
from tests.journal_files import REMOTE

made = pytest.mark.skipif(REMOTE is None, reason="systemd-journal-remote is not installed")
NOBODY = 65534
# Whoever runs the tests may read the agent's files, and with these rights those of others as well.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


class Agent(LocalAgent):
    @property
    def journal(self) -> Path:
        return self.directory / "journal"

    def configure(self, paths: list[str] | None = None, **input_options: Any) -> None:
        section = {"type": "journald", "id": "sys", "paths": [str(self.journal)], **input_options}
        self.settings = {"shipper.inputs": [section]}
        super().configure(paths)

    def write(self, name: str, *messages: str, **options: Any) -> Path:
        path = self.journal / name
        journal_files.write(path, messages, **options)
        return path


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path)
    agent.journal.mkdir()
    yield agent
    agent.end()


def forbid(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files to another user")
    path.chmod(0o600)
    os.chown(path, NOBODY, NOBODY)


@made
@pytest.mark.slow("builds a journal of 100 MB, and reads it")
def test_once_all_that_journalctl_counts_is_delivered_in_little_memory(agent: Agent) -> None:
    agent.write("big.journal", *(f"line {number} {'x' * 100}" for number in range(200_000)))
    entries = subprocess.run(
        ["journalctl", "-D", str(agent.journal), "-o", "json", "--all"], capture_output=True, check=True
    )
    assert len(entries.stdout) > 100e6
    agent.start("--once")
    peak = 0
    while agent.process.poll() is None:
        peak = max(peak, peak_of(agent.process.pid))
        time.sleep(0.05)
    assert agent.wait() == 0
    assert len(agent.messages) == len(agent.all) == entries.stdout.count(b"\n") == 200_000
    assert agent.messages == [f"line {number} {'x' * 100}" for number in range(200_000)]
    assert peak < 128 * 2**20


def peak_of(pid: int) -> int:
    """Return the bytes of memory that a process had at most; 0 if it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


@made
def test_a_journal_that_may_not_be_read_is_read_once_there_are_rights(agent: Agent) -> None:
    path = agent.write("a.journal", "one", "two")
    forbid(path)
    agent.start(before=WITHOUT_RIGHTS)
    agent.await_log("No journal files were opened due to insufficient permissions; restarting it in 1 s")
    agent.await_log(f"1 of 1 journal files are not readable by the shipper's user (for example {path})")
    path.chmod(0o644)
    agent.await_messages("one", "two")
    assert agent.stop() == 0


@made
def test_once_a_file_of_the_journal_that_may_not_be_read_is_a_problem(agent: Agent) -> None:
    agent.write("a.journal", "one", "two")
    forbid(agent.write("b.journal", "three", start=10))
    assert agent.once(before=WITHOUT_RIGHTS) == 1
    assert agent.messages == ["one", "two"]
    assert "1 of 2 journal files are not readable" in agent.log.rpartition("not finished: ")[2]


@made
def test_once_a_file_that_is_truncated_is_a_problem(agent: Agent) -> None:
    agent.write("a.journal", "one")
    path = agent.write("b.journal", "two", start=10)
    os.truncate(path, 100_000)
    assert agent.once() == 1
    assert agent.messages == ["one"]
    assert (
        f"1 of 2 journal files are truncated or not in journal format (for example {path})"
        in agent.log.rpartition("not finished: ")[2]
    )


def host(name: str, numbers: Iterable[int]) -> list[str]:
    return [f"{name} {number}" for number in numbers]


@made
def test_entries_of_a_host_that_is_late_are_read(agent: Agent) -> None:
    """As systemd-journal-remote receives them: one host's arrive when those of another with later times are there."""
    agent.configure(merge=True)
    agent.start()
    for turn in range(3):
        numbers = range(turn * 20, turn * 20 + 20)
        agent.write("remote-a.journal", *host("a", numbers), start=turn * 20 + 150)
        agent.await_messages(*host("a", numbers))
        agent.write("remote-b.journal", *host("b", numbers), start=turn * 20)
    agent.await_messages(*host("b", range(60)))
    assert agent.stop() == 0
    for name in ("a", "b"):
        assert [text for text in agent.messages if text[0] == name] == host(name, range(60))


@made
def test_entries_of_all_boots_are_read(agent: Agent) -> None:
    agent.write("a.journal", *host("a", range(5)), boot="1" * 32)
    agent.write("a.journal", *host("a", range(5, 10)), start=5, boot="2" * 32)
    agent.start()
    agent.await_messages(*host("a", range(10)))
    agent.write("a.journal", *host("a", range(10, 15)), start=10, boot="3" * 32)
    agent.await_messages(*host("a", range(15)))
    assert agent.stop() == 0
    assert agent.messages == host("a", range(15))


@made
def test_the_backlog_of_a_host_after_an_outage_is_read_also_while_the_agent_is_stopped(agent: Agent) -> None:
    agent.configure(merge=True)
    agent.write("remote-a.journal", *host("a", range(5)))
    agent.write("remote-b.journal", *host("b", range(1)))
    assert agent.once() == 0
    agent.write("remote-a.journal", *host("a", range(5, 10)), start=1000)
    assert agent.once() == 0
    agent.write("remote-b.journal", *host("b", range(1, 15)), start=10)
    agent.write("remote-c.journal", *host("c", range(15)), start=1)
    assert agent.once() == 0
    for name, count in (("a", 10), ("b", 15), ("c", 15)):
        assert [text for text in agent.messages if text[0] == name] == host(name, range(count))


@made
def test_a_directory_of_a_machine_that_appears_later_is_read(agent: Agent) -> None:
    agent.write("remote-a.journal", *host("a", range(5)), start=1000)
    agent.start()
    agent.await_messages(*host("a", range(5)))
    (agent.journal / ("1" * 32)).mkdir()
    agent.write(f"{'1' * 32}/system.journal", *host("b", range(5)))
    agent.await_messages(*host("b", range(5)))
    assert agent.stop() == 0
    assert len(agent.messages) == 10


@made
@pytest.mark.slow("journalctl ends and is started again, a second apart")
def test_entries_at_which_journalctl_ends_are_left_out_and_what_follows_is_read(agent: Agent) -> None:
    path = agent.write("a.journal", *(f"line {number:03}" for number in range(100)))
    content = path.read_bytes()
    for number in (50, 51, 70):
        field = b"MESSAGE=line %03d" % number
        assert content.count(field) == 1
        content = content.replace(field, b"\0" + field[1:])  # "Invalid field."
    path.write_bytes(content)
    agent.start()
    expected = [f"line {number:03}" for number in range(100) if number not in (50, 51, 70)]
    agent.await_messages(*expected, timeout=60)
    assert agent.messages == expected
    agent.await_log("A journal file is damaged")
    assert agent.stop() == 0


def test_once_a_journalctl_that_writes_no_entries_is_a_problem(agent: Agent) -> None:
    program = agent.directory / "journalctl"
    program.write_text("#!/bin/sh\necho this is no journal\n")
    program.chmod(0o755)
    agent.configure(journalctl_path=str(program))
    assert agent.once() == 1
    assert "b'this is no journal'" in agent.log.rpartition("not finished: ")[2]


def test_arguments_that_journalctl_refuses_are_a_problem(agent: Agent) -> None:
    program = agent.directory / "journalctl"
    program.write_text("#!/bin/sh\necho \"journalctl: unrecognized option '--boot=all'\" >&2\nexit 1\n")
    program.chmod(0o755)
    agent.configure(journalctl_path=str(program))
    words = "journalctl exited with code 1: journalctl: unrecognized option '--boot=all'"
    assert agent.once() == 1
    assert words in agent.log.rpartition("not finished: ")[2]
    agent.start()
    await_true(lambda: words in status(agent), "the problem")
    assert agent.stop() == 0


def status(agent: Agent) -> str:
    with suppress(FileNotFoundError, ConnectionRefusedError):  # it is starting
        return get(UnixSocket(agent.data / "shipper.sock"), "/status", 10).decode()
    return ""


@made
def test_a_pattern_of_units_need_not_match_in_each_journal(agent: Agent) -> None:
    agent.configure(merge=True, units=["web*"])
    agent.write("remote-a.journal", "one", unit="web-1.service")
    agent.write("remote-b.journal", "not wanted", unit="db.service")
    assert agent.once() == 0
    assert agent.messages == ["one"]
    agent.start()
    agent.write("remote-b.journal", "two", start=10, unit="web-2.service")
    agent.await_messages("two")
    assert agent.stop() == 0
    assert agent.messages == ["one", "two"]
    assert "No data available" not in agent.log


@made
def test_once_a_pattern_of_units_that_matches_in_no_journal_is_a_problem(agent: Agent) -> None:
    agent.configure(merge=True, units=["web*"])
    agent.write("remote-a.journal", "not wanted")
    agent.write("remote-b.journal", "not wanted")
    assert agent.once() == 1
    assert "no unit in the journal matches units (web*)" in agent.log.rpartition("not finished: ")[2]
