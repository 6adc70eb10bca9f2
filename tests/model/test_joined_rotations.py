"""Messages of several lines across rotations that the agent did not see one by one, as stories.

Half a message joined with a line of another file is worse than two halves: it never was in any log. So a file is
followed only where its name and its age show by which file.
"""

import gzip
from collections.abc import Callable

import pytest

from log_shipper.registry.load import read
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
    lab.wait_until(lambda: lab.messages[-len(messages) :] == list(messages), seconds=SOON)
    lab.wait_until(lambda: is_saved(lab), seconds=SOON)


def is_saved(lab: Lab) -> bool:
    """Return True if the registry on disk has the state of each file, so that a kill takes none."""
    saved = dict(read(lab.data / "registry"))
    states = [harvester.state for harvester in lab.crawler.running.values()]
    return all(saved.get(state.id) == state and state.position for state in states)


@pytest.mark.parametrize("end", [stay, stop, kill])
@pytest.mark.parametrize("rotate", [numbered, numbered_before_extension, dated])
def test_a_file_is_followed_by_the_one_that_followed_it(joining: Lab, rotate: Rotate, end: End) -> None:
    lab = joining
    for line in ("old\nlonely\n", "older\nlonely\n"):
        lab.append("a.log", line)
        rotate(lab)
    lab.append("a.log", "first\nn1\n")
    lab.start()
    lab.wait_until(lambda: {"old", "older", "first"} == set(lab.messages), seconds=SOON)
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


def numbered_and_compressed(lab: Lab) -> None:
    """As logrotate without delaycompress."""
    for generation in range(4, 0, -1):
        if (lab.logs / f"a.log.{generation}.gz").exists():
            lab.rotate(f"a.log.{generation}.gz", f"a.log.{generation + 1}.gz")
    lab.rotate("a.log", "a.log.1")
    compress(lab, "a.log.1")


def dated_and_compressed(lab: Lab) -> None:
    """As Logback and Log4j, where the pattern ends with .gz."""
    name = f"a.2026-11-21.{len(list(lab.logs.iterdir()))}.log"
    lab.rotate("a.log", name)
    compress(lab, name)


COMPRESSED = pytest.mark.parametrize("rotate", [numbered_and_compressed, dated_and_compressed])


@pytest.mark.parametrize("end", [stop, kill])
@COMPRESSED
def test_a_message_is_one_over_files_that_were_compressed_at_once(joining: Lab, rotate: Rotate, end: End) -> None:
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    end(lab)
    rotate(lab)
    lab.append("a.log", " +\nthree\n")
    rotate(lab)
    lab.append("a.log", " ++\n")
    rotate(lab)
    lab.append("a.log", " +++\nfour\n")
    lab.start()
    lab.take_steps(40)
    lab.scan()
    assert lab.messages == ["one", "two\n +", "three\n ++\n +++", "four"]


@pytest.mark.parametrize("end", [stop, kill])
@pytest.mark.parametrize("compressed", [("a.log.2",), ("a.log.1",)])
def test_so_it_is_where_one_of_them_was(joining: Lab, compressed: tuple[str, ...], end: End) -> None:
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
    lab.start()
    lab.take_steps(40)
    lab.scan()
    assert lab.messages == ["one", "two\n +", "three\n ++", "four"]


def test_a_message_is_the_same_after_a_kill_though_its_file_is_compressed_by_then(joining: Lab) -> None:
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    lab.destination.holding = True
    lab.rotate("a.log", "a.log.1")
    lab.append("a.log", " +\nthree\n")
    lab.wait_until(lambda: lab.destination.in_flight, seconds=SOON)
    lab.destination.arrive()
    assert lab.messages[1:] == ["two\n +"]
    lab.kill()
    compress(lab, "a.log.1")
    lab.start()
    lab.take_steps(40)
    lab.scan()
    assert lab.messages == ["one", "two\n +", "two\n +", "three"]


def test_a_message_that_was_pending_at_the_end_of_a_gz_at_a_stop_is_not_lost(joining: Lab) -> None:
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    lab.stop()
    numbered_and_compressed(lab)
    lab.append("a.log", "")
    lab.start()
    for _ in range(20):
        lab.step(seconds=SOON, wait=0.002)
    lab.stop()
    assert lab.messages == ["one"]
    lab.append("a.log", " +\nthree\n")
    lab.start()
    lab.take_steps(40)
    lab.scan()
    assert lab.messages == ["one", "two\n +", "three"]


@COMPRESSED
def test_between_two_looks_of_a_running_agent_it_comes_in_two_parts(joining: Lab, rotate: Rotate) -> None:
    """It has the file without its name, and the .gz is no more than a suspected copy: nothing shows which file
    followed."""
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    rotate(lab)
    lab.append("a.log", " +\nthree\n")
    lab.take_steps(40)
    lab.scan()
    assert sorted(lab.messages) == [" +", "one", "three", "two"]


def test_it_is_one_where_the_agent_sees_the_file_renamed_before_it_is_compressed(joining: Lab) -> None:
    lab = joining
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    lab.rotate("a.log", "a.log.1")
    lab.wait_until(lambda: [file.state.path[-2:] for file in lab.crawler.running.values()] == [".1"], seconds=0.001)
    compress(lab, "a.log.1")
    lab.append("a.log", " +\nthree\n")
    lab.take_steps(40)
    lab.scan()
    assert lab.messages == ["one", "two\n +", "three"]


@pytest.mark.parametrize("end", [stop, kill])
def test_no_message_of_a_generation_is_joined_with_an_older_one_because_it_is_compressed(
    joining: Lab, end: End
) -> None:
    lab = joining
    lab.append("a.log.1", "one\ntwo\n")
    lab.start()
    wait_for(lab, "one")
    end(lab)
    compress(lab, "a.log.1")
    lab.append("a.log.2", " +\nthree\n")
    lab.start()
    lab.take_steps(40)
    lab.scan()
    assert sorted(lab.messages) == [" +", "one", "three", "two"]
