"""Messages of several lines across rotations that the agent did not see one by one, as stories.

Half a message joined with a line of another file is worse than two halves: it never was in any log. So a file is
followed only where its name and its age show by which file.
"""

import gzip
from collections.abc import Callable

import pytest

from tests.builders import multiline
from tests.lab import Lab

SOON = 0.0004  # seconds a step: else a pending message would end by its timeout


@pytest.fixture
def joining(lab: Lab) -> Lab:
    lab.parsers = (multiline(r"^\s"),)
    lab.input["compression"] = "auto"
    return lab


def stop(lab: Lab) -> None:
    lab.stop()


def kill(lab: Lab) -> None:
    lab.kill()


def stay(lab: Lab) -> None:
    pass


def start(lab: Lab) -> None:
    if lab.app is None:
        lab.start()


def numbered(lab: Lab) -> None:
    """As logrotate."""
    for generation in range(4, 0, -1):
        if (lab.logs / f"a.log.{generation}").exists():
            lab.rotate(f"a.log.{generation}", f"a.log.{generation + 1}")
    lab.rotate("a.log", "a.log.1")


def numbered_before_extension(lab: Lab) -> None:
    """As Logback's fixed window."""
    for generation in range(4, 0, -1):
        if (lab.logs / f"a.{generation}.log").exists():
            lab.rotate(f"a.{generation}.log", f"a.{generation + 1}.log")
    lab.rotate("a.log", "a.1.log")


def dated(lab: Lab) -> None:
    """As Logback's time and size."""
    number = len(list(lab.logs.iterdir()))
    lab.rotate("a.log", f"a.2026-11-21.{number}.log")


Rotate = Callable[[Lab], None]
End = Callable[[Lab], None]


def wait_for(lab: Lab, *messages: str) -> None:
    lab.until(lambda: lab.messages[-len(messages) :] == list(messages), seconds=SOON)


@pytest.mark.parametrize("end", [stay, stop, kill])
@pytest.mark.parametrize("rotate", [numbered, numbered_before_extension, dated])
def test_a_file_is_followed_by_the_one_that_followed_it(joining: Lab, rotate: Rotate, end: End) -> None:
    lab = joining
    for line in ("old\nlonely\n", "older\nlonely\n"):
        lab.append("a.log", line)
        rotate(lab)
    lab.append("a.log", "first\nn1\n")
    lab.start()
    lab.until(lambda: {"old", "older", "first"} == set(lab.messages), seconds=SOON)
    end(lab)
    rotate(lab)
    lab.append("a.log", " n2\nmiddle\n")
    rotate(lab)
    lab.append("a.log", " z1\nlast\n")
    start(lab)
    lab.take_steps(40)
    lab.scan()
    assert lab.messages.count("lonely") == 2
    of_older = ("old", "older", "first", "lonely")
    assert [text for text in lab.messages if text not in of_older] == ["n1\n n2", "middle\n z1", "last"]


@pytest.mark.parametrize("end", [stay, stop, kill])
@pytest.mark.parametrize("rotate", [numbered, numbered_before_extension, dated])
def test_a_message_over_three_files_is_one(joining: Lab, rotate: Rotate, end: End) -> None:
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    rotate(lab)
    lab.append("a.log", " +\n")
    lab.take_steps()
    end(lab)
    rotate(lab)
    lab.append("a.log", " ++\nthree\nfour\n")
    start(lab)
    lab.take_steps(40)
    lab.scan()
    assert lab.messages == ["one", "two\n +\n ++", "three", "four"]


@pytest.mark.parametrize("end", [stay, stop, kill])
def test_no_message_is_joined_over_a_file_of_a_higher_number(joining: Lab, end: End) -> None:
    """Log4j counts from the oldest file to the youngest by default (fileIndex: max)."""
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    end(lab)
    lab.rotate("a.log", "a.1.log")
    lab.append("a.log", " +\nthree\n")
    lab.rotate("a.log", "a.2.log")
    lab.append("a.log", " ++\nfour\n")
    start(lab)
    lab.take_steps(40)
    lab.scan()
    assert sorted(lab.messages) == [" +", " ++", "four", "one", "three", "two"]


def compress(lab: Lab, name: str) -> None:
    path = lab.logs / name
    packed = path.with_name(f"{name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    lab.keep(packed)
    path.unlink()


@pytest.mark.parametrize("end", [stay, stop, kill])
@pytest.mark.parametrize("compressed", [("a.log.1",), ("a.log.2", "a.log.1")])
def test_no_message_is_joined_over_a_compressed_generation(joining: Lab, compressed: tuple[str, ...], end: End) -> None:
    """What continues in a .gz, or behind one, comes as a message of its own."""
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    end(lab)
    numbered(lab)
    lab.append("a.log", " +\nthree\n")
    numbered(lab)
    lab.append("a.log", " ++\nfour\n")
    for name in compressed:
        compress(lab, name)
    start(lab)
    lab.take_steps(40)
    lab.scan()
    assert sorted(lab.messages) == [" +", " ++", "four", "one", "three", "two"]
