"""Containers that come and go: what the agent keeps of them must not add up."""

import hashlib
from collections.abc import Iterator, Sized
from functools import partial
from pathlib import Path

import pytest

from shipper.autodiscover.containers import Container
from tests.containers import container
from tests.model.discovering import DiscoveringLab

THERE = 12  # containers at a time
CHURNED = 6  # of them in each round
ROUND = 360.0  # seconds


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
        "layers": lab.crawlers._layer_of,
        "built": factory._discovered,
        "counts": factory._counts,
        "limits": crawler._open_limits._limits,
        "closing": crawler._closer._rules,
        "deleting": crawler._deletions._rules,
        "of input": files.of_input,
        "scanners": crawler._survey._scanners,
        "listings": crawler._survey._listings,
        "scan problems": crawler.problems._of_scans,
    }
    return {name: len(table) for name, table in tables.items()}


def has_arrived(lab: DiscoveringLab, lines: int) -> bool:
    return len(lab.messages) >= lines


def churn(lab: DiscoveringLab, rounds: range, present: list[Container]) -> None:
    for number in rounds:
        for index in range(CHURNED):
            ended = present.pop(0)
            lab.go(ended)
            present.append(numbered(THERE + number * CHURNED + index))
            lab.write(present[-1], f"line of {present[-1].id}")
            lab.come(present[-1])
        lab.until(partial(has_arrived, lab, THERE + (number + 1) * CHURNED), seconds=0.5)
        for ended in [numbered(number * CHURNED + index) for index in range(CHURNED)]:
            path = lab.logs / f"web-1-{ended.id}.log"
            lab.release(path)
            path.unlink()
        lab.pass_time(ROUND, steps=8)


def test_what_is_kept_of_containers_does_not_add_up(lab: DiscoveringLab) -> None:
    present = [numbered(number) for number in range(THERE)]
    lab.present = list(present)
    for item in present:
        lab.write(item, f"line of {item.id}")
    lab.start()
    churn(lab, range(4), present)
    before = kept(lab)
    churn(lab, range(4, 14), present)  # an hour
    assert kept(lab) == before
    assert before["inputs"] == before["layers"] == before["scanners"] == THERE
    assert len(lab.messages) == len(set(lab.messages)) == THERE + 14 * CHURNED
