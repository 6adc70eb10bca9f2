"""Which file is which, when the system uses an inode again."""

import pytest

from tests.e2e.files.local import LocalAgent


def test_a_deleted_and_recreated_file_is_a_new_one_from_its_start(agent: LocalAgent) -> None:
    agent.append("header", "one")
    agent.start()
    agent.await_messages("header", "one")
    for number in range(3):
        agent.path.unlink()
        agent.append(f"again {number}", "and more than before")
        agent.await_messages(f"again {number}")
    agent.expect("header", "one", "again 0", "again 1", "again 2", *["and more than before"] * 3)


def test_a_new_file_with_the_inode_of_a_deleted_one_is_new(agent: LocalAgent) -> None:
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
