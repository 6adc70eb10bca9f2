"""Files and containers that come and go one after the other: what the agent keeps of them must not add up."""

import gzip
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.inputs.files.identity.entries import KEPT_FOR
from log_shipper.shipper.inputs.files.lifecycle.cleaning import BOOT_TIME, MAX_KEPT
from tests.containers import container
from tests.descriptors import open_descriptors
from tests.lab import CHECK_INTERVAL, Lab
from tests.model.discovering import DiscoveringLab
from tests.model.kept import references

CLEANED_UP = 120.0  # seconds, after which the inputs of ended containers are removed
SPARE = 20  # references, in what takes turns
REGISTRYS = 3  # descriptors that its thread has open from time to time


def live_and_die(lab: Lab, number: int, files: int) -> None:
    """Of three files, one is removed when it is read, one is truncated before, and one cannot be read as text."""
    plain, truncated, zipped = (
        [f"{number}-{file}-{kind}.log" for file in range(files)] for kind in ("plain", "truncated", "zipped")
    )
    for file in range(files):
        line = f"line {number} {file}\n"
        (lab.logs / plain[file]).write_text(line)
        (lab.logs / truncated[file]).write_text(line * 5)
        (lab.logs / zipped[file]).write_bytes(gzip.compress(line.encode()) + b"\n")
    lab.calm_down()
    for name in truncated:
        os.truncate(lab.logs / name, 0)
    lab.calm_down()
    for name in (*plain, *truncated, *zipped):
        lab.remove(name)
    lab.calm_down()


def pass_a_day(lab: Lab, entries: int) -> None:
    """Only so many entries are kept then."""
    for seconds in (BOOT_TIME, KEPT_FOR):
        lab.step(seconds)
    lab.wait_until(lambda: lab.running.registrar.entries == entries, seconds=CHECK_INTERVAL)
    for _ in range(20):
        lab.step(CHECK_INTERVAL, wait=0.002)
    assert lab.running.registrar.save([]).wait(60)  # what it has to write is a reference, too


def churn(lab: Lab, rounds: int, files: int) -> None:
    """Twice the same, with a day after it."""
    counted = []
    lab.start()
    for _ in range(2):
        for number in range(rounds):
            live_and_die(lab, number, files)
        assert lab.running.registrar.entries == 4 * rounds * files  # a truncated file has two lives
        pass_a_day(lab, entries=0)
        counted.append(references(lab))
    assert counted[1] <= counted[0] + SPARE


def test_nothing_is_left_of_short_lived_files_but_their_entries_and_of_these_nothing_after_a_day(lab: Lab) -> None:
    churn(lab, 10, 2)


@pytest.mark.slow("long")
def test_nor_of_ten_thousand(lab: Lab) -> None:
    churn(lab, 17, 100)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DiscoveringLab]:
    lab = DiscoveringLab(tmp_path)
    yield lab
    lab.close()


def numbered(number: int) -> DiscoveredContainer:
    return container(id=hashlib.sha256(str(number).encode()).hexdigest())


def replace_containers(lab: DiscoveringLab, number: int, count: int, seconds: float) -> None:
    """So many containers come, each with one line in its log, and those of the time before go, with their logs."""
    come, ended = ([numbered(which) for which in range(first, first + count)] for first in (number, number - count))
    lab.go(*ended)
    for item in come:
        lab.write(item, "line")
    lab.come(*come)
    arrived = len(lab.records)
    lab.wait_until(lambda: len(lab.records) == arrived + count, seconds=0.5)
    for path in [path for item in ended for path in lab.logs.glob(f"*{item.id}.log")]:
        lab.release(path)
        path.unlink()
    lab.pass_time(seconds, 8)
    assert len(lab.records) == arrived + count


def churn_containers(lab: DiscoveringLab, rounds: int, count: int, seconds: float) -> None:
    """Twice the same, with a day after it."""
    counted, opened = [], []
    lab.start()
    for first in (0, rounds):
        for number in range(first, first + rounds):
            replace_containers(lab, number * count, count, seconds)
            assert lab.running.registrar.entries <= MAX_KEPT + 2 * count
        lab.pass_time(CLEANED_UP)
        opened.append(len(open_descriptors()) - len(lab.inodes))
        pass_a_day(lab, entries=count)
        assert len(lab.input_ids) == count
        counted.append(references(lab))
    assert opened[1] <= opened[0] + REGISTRYS
    # One for each container: the id of its input, of which a survey was made (Intake).
    assert counted[1] <= counted[0] + rounds * count + SPARE


def test_nothing_is_left_of_short_lived_containers(node: DiscoveringLab) -> None:
    churn_containers(node, rounds=10, count=6, seconds=360.0)


@pytest.mark.slow("30,000 containers")
def test_nor_of_an_hour_in_which_five_hundred_a_minute_come_and_go(node: DiscoveringLab) -> None:
    churn_containers(node, rounds=30, count=500, seconds=60.0)
