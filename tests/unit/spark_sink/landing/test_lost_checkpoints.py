"""Checkpoints that are lost, or brought back from a backup, between batches and kills at random: each line and each bad
record lands once."""

import shutil
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab

MOMENTS = ["before rows", "after rows", "after bad", "after marks", "before commit"]
ACTIONS = ["land", "land", "kill", "back up", "bring back", "lose", "restart"]


class Program:
    """A sink, and what was sent to it: lines of two files in any of three partitions, some twice, and bad records."""

    def __init__(self, directory: Path, dice: Random) -> None:
        self.dice = dice
        self.lab = LandingLab(directory)
        self.checkpoint = Path(self.lab.config.checkpoint.path)
        self.backups: list[Path] = []
        self.lines = self.bad = 0
        self.lab.start()
        self.send()
        self.lab.start()  # the partitions are known from here on
        self.lab.land()

    def send(self) -> None:
        for _ in range(self.dice.randint(1, 4)):
            partition = self.dice.randrange(3)
            match self.dice.choice(["line", "line", "line", "again", "bad"]):
                case "bad":
                    self.lab.send(b"no JSON", partition=partition)
                    self.bad += 1
                case "again" if self.lines:
                    self.send_line(self.dice.randrange(self.lines), partition)
                case _:
                    self.send_line(self.lines, partition)
                    self.lines += 1

    def send_line(self, number: int, partition: int) -> None:
        self.lab.send_lines(10 * number, file=f"f{number % 2}", partition=partition)

    def act(self, action: str) -> None:
        match action:
            case "land":
                self.send()
                self.lab.land()
                return
            case "kill":
                self.send()
                with suppress(Killed):  # a batch without lines has no such moment
                    self.lab.land(self.dice.choice(MOMENTS))
            case "back up":
                self.backups.append(self.checkpoint.with_name(f"backup {len(self.backups)}"))
                shutil.copytree(self.checkpoint, self.backups[-1])
            case "bring back" if self.backups:
                shutil.rmtree(self.checkpoint)
                shutil.copytree(self.dice.choice(self.backups), self.checkpoint)
            case "lose":
                shutil.rmtree(self.checkpoint)
        self.lab.start()
        self.lab.catch_up()


def play(directory: Path, seed: str) -> None:
    dice = Random(seed)
    program = Program(directory, dice)
    for action in dice.choices(ACTIONS, k=25):
        program.act(action)
    for _ in range(3):  # what was planned, and what was sent since
        program.lab.land()
    wanted = sorted((f"f{number % 2}", 10 * number) for number in range(program.lines))
    assert (program.lab.lines(), sum(program.lab.reasons().values())) == (wanted, program.bad), f"seed {seed}"


@pytest.mark.parametrize("programs", [3, pytest.param(20, marks=pytest.mark.slow("three programs are in the gate"))])
def test_whatever_becomes_of_the_checkpoint_everything_lands_once(tmp_path: Path, programs: int, seed: int) -> None:
    for number in range(programs):
        directory = tmp_path / str(number)
        directory.mkdir()
        play(directory, f"{seed} {programs} {number}")
