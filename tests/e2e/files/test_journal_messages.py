"""Messages of several entries of a real journal, while agent and journalctl are killed: none is missing or torn."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true
from tests.real_journald import JOURNALD, RealJournal, journalctls

pytestmark = [
    pytest.mark.slow("starts a journald, and kills what reads it at random moments"),
    pytest.mark.skipif(JOURNALD is None, reason="systemd is not installed"),
]
OURS = "joined"  # journald writes entries of its own between those of a message
TURNS = 16


class JournalMessagesLab:
    """`messages` are those that were logged, each with its entries."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self.journal = RealJournal()
        self.agent = LocalAgent(directory)
        self.messages: list[list[str]] = []
        self._chance = chance

    def configure(self, timeout: str) -> None:
        joined = {"type": "pattern", "pattern": "^ ", "match": "after", "timeout": timeout}
        section = {
            "type": "journald",
            "id": "sys",
            "paths": [str(self.journal.directory)],
            "syslog_identifiers": [OURS],
            "parsers": [{"multiline": joined}],
        }
        self.agent.settings = {"shipper.inputs": [section]}
        self.agent.configure()

    def log(self, count: int, pause: Callable[[], None]) -> None:
        """Log so many messages. `pause` is called between the entries of one."""
        for _ in range(count):
            number = len(self.messages)
            entries = [f"line {number}", *(f" {number}.{part}" for part in range(self._chance.randrange(5)))]
            for entry in entries:
                self.journal.log(entry, SYSLOG_IDENTIFIER=OURS)
                pause()
            self.messages.append(entries)

    def log_slowly(self) -> None:
        """Log a message whose second entry comes when time has ended the first."""
        number = len(self.messages)
        entries = [f"line {number}", f" {number}.0"]
        self.journal.log(entries[0], SYSLOG_IDENTIFIER=OURS)
        await_true(lambda: entries[0] in self.agent.messages, "the piece that time ended")
        self.journal.log(entries[1], SYSLOG_IDENTIFIER=OURS)
        self.messages.append(entries)

    def disturb(self) -> None:
        match self._chance.randrange(4):
            case 0 | 1:
                self.agent.kill()
                self.agent.start()
            case 2:
                for pid in journalctls(self.journal.directory):
                    os.kill(pid, signal.SIGKILL)
            case 3:
                self.journal.rotate()

    def end(self) -> None:
        """Log a last message, and wait until it is there: what was before it is delivered."""
        self.journal.log("end", "behind it", SYSLOG_IDENTIFIER=OURS)
        await_true(lambda: "end" in self.agent.messages, "the last message")
        assert self.agent.stop() == 0

    @property
    def delivered(self) -> list[str]:
        """In the order of the journal: what is read again after a kill may come behind what followed it."""
        events = [event for event in self.agent.events if event["message"] not in ("end", "behind it")]
        return [event["message"] for event in sorted(events, key=number)]


def number(event: dict[str, Any]) -> int:
    return int(event["log"]["offset"])


@pytest.fixture
def lab(tmp_path: Path, seed: int) -> Iterator[JournalMessagesLab]:
    lab = JournalMessagesLab(tmp_path, random.Random(seed))
    yield lab
    lab.agent.end()
    lab.journal.close()


def test_messages_are_whole_and_none_is_missing_whatever_is_killed(lab: JournalMessagesLab, seed: int) -> None:
    chance = random.Random(f"{seed} whole")
    lab.configure("1h")
    lab.agent.start()
    for _ in range(TURNS):
        lab.log(chance.randrange(1, 200), lambda: None)
        time.sleep(chance.random() * 0.3)
        lab.disturb()
    lab.end()
    assert lab.delivered == ["\n".join(entries) for entries in lab.messages]


def test_the_pieces_of_messages_that_time_ended_make_up_all_that_was_logged(lab: JournalMessagesLab, seed: int) -> None:
    chance = random.Random(f"{seed} cut")

    def pause() -> None:
        if chance.random() < 0.05:
            time.sleep(0.1)

    lab.configure("50ms")
    lab.agent.start()
    for turn in range(TURNS):
        time.sleep(chance.random() * 0.5)
        lab.log(chance.randrange(1, 50), pause)
        if turn % 2:
            lab.log_slowly()
        lab.disturb()
    lab.end()
    assert "\n".join(lab.delivered) == "\n".join("\n".join(entries) for entries in lab.messages)
    assert len(lab.delivered) >= len(lab.messages) + TURNS // 2
