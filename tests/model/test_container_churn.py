"""Containers that come and go: what the agent keeps of them must not add up."""

import hashlib
import time
from collections import deque
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from log_shipper.shipper.autodiscover.containers import Container
from log_shipper.shipper.source.lifecycle.cleaning import MOST_KEPT
from tests.containers import container
from tests.descriptors import open_descriptors
from tests.model.discovering import DiscoveringLab

HOUR, DAY = 3600.0, 86_400.0
REGISTRYS = 3  # descriptors that its thread has open from time to time
PATIENCE = 60.0  # real seconds
CLEANED_UP = 120.0  # seconds, after which the inputs of ended containers are removed


@dataclass(frozen=True, slots=True)
class Pace:
    """`at_once`: containers at a time, of which so many are `churned` in each round of so many `seconds`."""

    at_once: int
    churned: int
    seconds: float


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[DiscoveringLab]:
    lab = DiscoveringLab(tmp_path)
    yield lab
    lab.close()


def numbered(number: int) -> Container:
    return container(id=hashlib.sha256(str(number).encode()).hexdigest())


def kept(lab: DiscoveringLab) -> dict[str, int]:
    """How much is in each table that is kept by container, or by its input."""
    discoveries, crawler = lab.discoveries, lab.crawler
    factory, files = lab.running.reloader._inputs, crawler.open_files
    tables: dict[str, Sized] = {
        "lives": discoveries._lives,
        "inputs": discoveries._inputs,
        "users": discoveries._users,
        "problems": discoveries.problems,
        "present": lab.fakes[0].reporter._present,
        "built": factory._discovered,
        "counts": factory._counts,
        "limits": crawler._open_limits._limits,
        "closing": crawler._closer._rules,
        "deleting": crawler._deletions._rules,
        "of input": files.files.running_of,
        "scanners": crawler._survey._scanners,
        "listings": crawler._survey._listings,
        "scan problems": crawler.problems._of_scans,
    }
    return {name: len(table) for name, table in tables.items()}


def remembered(lab: DiscoveringLab) -> int:
    """Return of how many files the registry and the agent keep entries, whichever are more."""
    entries = lab.crawler._entries
    kept_by_agent = len(lab.crawler.running) + len(entries.closed_entries) + len(entries.unclaimed.states)
    return max(kept_by_agent, lab.running.registrar.entries)


def descriptors(lab: DiscoveringLab) -> int:
    """Return how many are open, but for those of the test."""
    return len(open_descriptors()) - len(lab.inodes)


@dataclass(slots=True)
class Churning:
    """Containers that come and go, each with one line in its log, which is deleted when it has arrived."""

    lab: DiscoveringLab
    pace: Pace
    steps: int  # of the agent in a round, beside those that it needs for its work
    present: deque[Container] = field(default_factory=deque)  # the oldest first
    begun: int = 0

    def start(self) -> None:
        for _ in range(self.pace.at_once):
            self._begin()
        self.lab.present = list(self.present)
        self.lab.start()

    def go_on(self, seconds: float) -> None:
        for _ in range(round(seconds / self.pace.seconds)):
            self._round()

    def _begin(self) -> Container:
        begun = numbered(self.begun)
        self.begun += 1
        self.present.append(begun)
        self.lab.write(begun, f"line of {begun.id}")
        return begun

    def _round(self) -> None:
        lab, ended = self.lab, [self.present.popleft() for _ in range(self.pace.churned)]
        for item in ended:
            lab.go(item)
            lab.come(self._begin())
        self._await_lines()
        for item in ended:
            path = lab.logs / f"web-1-{item.id}.log"
            lab.release(path)
            path.unlink()
        lab.pass_time(self.pace.seconds, self.steps)

    def _await_lines(self) -> None:
        """Longer than the Lab waits: here many files are opened at a time."""
        deadline = time.monotonic() + PATIENCE
        while len(self.lab.records) < self.begun:
            assert time.monotonic() < deadline, f"{self.begun - len(self.lab.records)} lines are missing"
            self.lab.step(seconds=0.5, wait=0.002)


def test_what_is_kept_of_containers_does_not_add_up(lab: DiscoveringLab) -> None:
    churning = Churning(lab, Pace(at_once=12, churned=6, seconds=360.0), steps=8)
    churning.start()
    churning.go_on(0.4 * HOUR)
    before = kept(lab)
    churning.go_on(HOUR)
    assert kept(lab) == before
    assert before["inputs"] == before["scanners"] == 12
    assert len(lab.messages) == len(set(lab.messages)) == churning.begun


@pytest.mark.slow("30,000 containers")
def test_an_hour_of_a_thousand_pods_of_which_five_hundred_a_minute_end_leaves_nothing(lab: DiscoveringLab) -> None:
    churning = Churning(lab, Pace(at_once=1000, churned=500, seconds=60.0), steps=6)
    churning.start()
    churning.go_on(HOUR / 12)
    lab.pass_time(CLEANED_UP)
    before, opened = kept(lab), descriptors(lab)
    churning.go_on(HOUR)
    assert remembered(lab) <= MOST_KEPT + 2 * churning.pace.at_once
    lab.pass_time(CLEANED_UP)
    assert kept(lab) == before
    assert descriptors(lab) <= opened + REGISTRYS
    assert before["inputs"] == 1000  # some of the files may have been closed for inactivity
    assert len(lab.messages) == len(set(lab.messages)) == churning.begun
    lab.pass_time(DAY + HOUR)
    lab.until(lambda: remembered(lab) == 1000)
