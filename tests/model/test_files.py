"""Seeded programs of file actions against the plainest model: what is in the files is what must arrive, once.

A repeat is allowed only as the same place with the same message. The spans of all messages of a file must tile it, so
that nothing is missing and no byte is in two messages, and each must hold the text that is in its bytes.
"""

import random
import time
from collections import defaultdict

import pytest

from tests.builders import multiline
from tests.lab import LONG, Arrived, Lab
from tests.model.seeds import seeds

LINES = ["one", "a second line", " indented", "\tmore", "", "zwölf €", "x" * 300, "last\r"]
NAMES = ["a.log", "b.log", "c.log"]


class Program:
    """Random actions on files and on the agent; `rotations` makes each rotated name a new one."""

    def __init__(self, lab: Lab, dice: random.Random) -> None:
        self._lab = lab
        self._dice = dice
        self._rotations = 0

    def act(self) -> None:
        lab, dice = self._lab, self._dice
        actions = [self.write, self.write_partly, self.rotate, self.run, lab.kill, self.restart, self.hold]
        action = dice.choices(actions, [8, 3, 1, 10, 1, 1, 2])[0]
        action()
        if lab.app is None:
            if dice.random() < 0.5:
                self.write()
                self.rotate()
            lab.start()

    def write(self) -> None:
        lines = [self._dice.choice(LINES) + "\n" for _ in range(self._dice.randrange(30))]
        self._lab.append(self._dice.choice(NAMES), "".join(lines))

    def write_partly(self) -> None:
        self._lab.append(self._dice.choice(NAMES), self._dice.choice(LINES))

    def rotate(self) -> None:
        name = self._dice.choice(NAMES)
        if (self._lab.logs / name).exists():
            self._rotations += 1
            self._lab.rotate(name, to=f"{name}.{self._rotations}")

    def run(self) -> None:
        for _ in range(self._dice.randrange(12)):
            self._lab.step(self._dice.choice([0, 0.001, 0.005, 0.1, 3, 11, 90]), wait=0.001)
            if self._dice.random() < 0.2 and self._lab.destination.holding:
                self._lab.destination.arrive()

    def restart(self) -> None:
        self._lab.destination.holding = False
        self._lab.stop()

    def hold(self) -> None:
        self._lab.destination.holding = self._dice.random() < 0.6


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")


def places(lab: Lab) -> dict[int, dict[int, Arrived]]:
    """By inode and offset, each with its first arrival, which its repeats must equal; first arrivals are in order."""
    found: dict[int, dict[int, Arrived]] = defaultdict(dict)
    ids: dict[int, str] = {}
    for each in lab.arrived:
        assert ids.setdefault(each.inode, each.file_id) == each.file_id, "two names for one file"
        of_file = found[each.inode]
        assert each.offset in of_file or all(offset < each.offset for offset in of_file), "out of order"
        assert of_file.setdefault(each.offset, each) == each, "two messages at one place"
    return found


def missing(lab: Lab, *, unfinished_too: bool = False) -> list[str]:
    """Each file whose messages do not tile it up to its last terminator (or its end), and how."""
    found = places(lab)
    problems = []
    for inode in lab.inodes:
        content = lab.content(inode)
        end = len(content) if unfinished_too else content.rfind(b"\n") + 1
        position = 0
        for offset, each in sorted(found[inode].items()):
            assert offset >= position, f"{each} overlaps what ends at {position}"
            assert not content[position:offset].strip(b"\r\n"), f"bytes {position} to {offset} of {inode} left out"
            assert each.message == text_of(content[offset : offset + each.length])
            position = offset + each.length
        if content[position:end].strip(b"\r\n"):
            problems.append(f"inode {inode}: {content[position:end][:60]!r} from {position} on")
    return problems


def finish(lab: Lab) -> None:
    lab.destination.holding = False
    deadline = time.monotonic() + LONG
    while missing(lab):
        assert time.monotonic() < deadline, f"missing: {missing(lab)}"
        lab.step(seconds=3, wait=0.002)


@pytest.mark.parametrize("kind", ["lines", "multiline"])
@pytest.mark.parametrize("seed", seeds(25))
def test_every_line_arrives_whatever_happens_to_files_and_agent(seed: int, kind: str, lab: Lab) -> None:
    dice = random.Random(f"{kind} {seed}")
    if kind == "multiline":
        lab.parsers = (multiline(r"^\s"),)
    program = Program(lab, dice)
    lab.start()
    for _ in range(dice.randrange(5, 50)):
        program.act()
    finish(lab)
    lab.stop()
    lab.run_once()
    assert missing(lab, unfinished_too=True) == []
