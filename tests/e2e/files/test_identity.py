"""Which file is which, when names, inodes and first lines are equal."""

import os

import pytest

from tests.e2e.files.local import LocalAgent, numbered


def test_a_file_that_is_renamed_over_another_is_not_taken_for_it(agent: LocalAgent) -> None:
    other = agent.logs / "other.log"
    agent.append("of the one that goes")
    agent.append("of the other", path=other)
    agent.start()
    agent.await_messages("of the one that goes", "of the other")
    other.rename(agent.path)
    agent.append("after the rename")
    agent.expect("of the one that goes", "of the other", "after the rename")
    gone, other_id, after = agent.ids("of the one that goes", "of the other", "after the rename")
    assert gone != other_id == after


def test_a_file_that_is_deleted_and_made_anew_is_a_new_one_from_its_start(agent: LocalAgent) -> None:
    agent.append("header", "one")
    agent.start()
    agent.await_messages("header", "one")
    for number in range(3):
        agent.path.unlink()
        agent.append(f"again {number}", "and more than before")
        agent.await_messages(f"again {number}")
    agent.expect("header", "one", "again 0", "again 1", "again 2", *["and more than before"] * 3)


def test_a_file_that_was_cut_and_has_grown_past_the_old_position_behind_an_equal_header_is_new(
    agent: LocalAgent,
) -> None:
    header = "h" * 2000
    agent.append(header, "one")
    agent.start()
    agent.await_messages("one")
    agent.stop()
    os.truncate(agent.path, 0)
    agent.append(header, *numbered("new", 100))
    agent.start()
    agent.expect(header, "one", header, *numbered("new", 100))


def test_files_with_equal_headers_are_different_files(agent: LocalAgent) -> None:
    header = "h" * 2000
    other = agent.logs / "other.log"
    agent.append(header, "one")
    agent.append(header, "two", path=other)
    agent.start()
    agent.expect(header, header, "one", "two")
    one, two = agent.ids("one", "two")
    assert one != two


def test_a_new_file_with_the_inode_of_one_that_went_is_new(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    agent.stop()
    inode = agent.path.stat().st_ino
    agent.path.unlink()
    spares = []
    for number in range(100):
        spares.append(agent.logs / f"spare-{number}")
        spares[-1].touch()
        if spares[-1].stat().st_ino == inode:
            break
    else:
        pytest.skip("this file system does not use an inode again so soon")
    spares[-1].rename(agent.path)
    agent.append("two, longer than before")
    agent.start()
    agent.expect("one", "two, longer than before")
    one, two = agent.ids("one", "two, longer than before")
    assert one != two
