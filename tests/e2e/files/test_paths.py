"""The ways to a file: links, moves, names, and what cannot be read."""

import os
import time
from pathlib import Path

from tests.e2e.files.local import LocalAgent

# Root may read everything: run without the capabilities that allow it.
MERE_MORTAL = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all") if os.geteuid() == 0 else ()
)


def test_a_file_that_moves_within_the_globs_goes_on_where_it_was(agent: LocalAgent) -> None:
    directory = agent.logs / "old"
    directory.mkdir()
    agent.configure([str(agent.logs / "*.log*"), str(directory / "*.log*")])
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    moved = directory / agent.path.name
    agent.path.rename(moved)
    agent.append("two", path=moved)
    agent.append("three")
    agent.expect("one", "two", "three")
    one, two, three = agent.ids("one", "two", "three")
    assert one == two != three


def test_a_file_that_moves_out_of_the_globs_is_read_to_its_end_and_goes_on_when_it_comes_back(
    agent: LocalAgent, tmp_path: Path
) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    agent.freeze()
    agent.append("two")
    elsewhere = tmp_path / "elsewhere"
    agent.path.rename(elsewhere)
    agent.thaw()
    agent.await_messages("two")
    agent.stop()
    agent.append("three", path=elsewhere)
    agent.start()
    elsewhere.rename(agent.path)
    agent.expect("one", "two", "three")
    assert len(set(agent.ids("one", "two", "three"))) == 1


def test_a_hard_link_is_the_same_file_whichever_name_goes_first(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    link = agent.logs / "link.log"
    link.hardlink_to(agent.path)
    agent.append("two", path=link)
    agent.await_messages("two")
    agent.path.unlink()
    agent.append("three", path=link)
    agent.expect("one", "two", "three")
    assert len(set(agent.ids("one", "two", "three"))) == 1


def test_a_symlink_that_is_swapped_leads_to_the_new_target_and_the_old_is_read_to_its_end(
    agent: LocalAgent, tmp_path: Path
) -> None:
    agent.configure([str(agent.logs / "*.log*")], **{"prospector.scanner.symlinks": True})
    targets = [tmp_path / "target-1", tmp_path / "target-2"]
    link, spare = agent.logs / "current.log", agent.logs / "spare"
    agent.append("one", path=targets[0])
    agent.append("three", path=targets[1])
    link.symlink_to(targets[0])
    agent.start()
    agent.await_messages("one")
    agent.freeze()
    agent.append("two", path=targets[0])
    spare.symlink_to(targets[1])
    spare.rename(link)
    agent.thaw()
    agent.await_messages("two", "three")
    agent.append("four", path=link)
    agent.expect("one", "two", "three", "four")
    one, two, three, four = agent.ids("one", "two", "three", "four")
    assert one == two != three == four


def test_a_symlink_is_left_alone_unless_symlinks_are_wanted(agent: LocalAgent, tmp_path: Path) -> None:
    agent.append("not wanted", path=tmp_path / "target")
    (agent.logs / "link.log").symlink_to(tmp_path / "target")
    agent.append("one")
    agent.start()
    agent.expect("one")


def test_a_file_that_may_not_be_read_is_told_once_and_picked_up_when_it_may(agent: LocalAgent) -> None:
    agent.append("secret")
    agent.path.chmod(0)
    agent.start(before=MERE_MORTAL)
    agent.await_log(f"{agent.path}: cannot be opened: Permission denied")
    time.sleep(1.5)
    assert agent.log.count("Permission denied") == 1
    agent.path.chmod(0o644)
    agent.expect("secret")


def test_fifos_directories_and_devices_are_told_of_once_and_the_rest_is_shipped(agent: LocalAgent) -> None:
    fifo, directory = agent.logs / "fifo.log", agent.logs / "directory.log"
    os.mkfifo(fifo)
    directory.mkdir()
    agent.configure([str(fifo), str(directory), "/dev/null", str(agent.path)])
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    for path in (str(fifo), str(directory), "/dev/null"):
        agent.await_log(path, timeout=5)
    time.sleep(1.2)
    for path in (str(fifo), str(directory), "/dev/null"):
        assert agent.log.count(f"{path}: ") + agent.log.count(f'{path}"') == 1, agent.log
    assert agent.stop() == 0
    assert agent.messages == ["one"]


def test_a_literal_path_is_picked_up_when_a_file_takes_the_place_of_a_directory(agent: LocalAgent) -> None:
    agent.path.mkdir()
    agent.configure([str(agent.path), str(agent.logs / "sentinel*.log")])
    agent.start()
    agent.await_log(str(agent.path))
    agent.path.rmdir()
    agent.append("one")
    agent.expect("one")


def test_a_name_that_is_not_utf_8_is_shipped_and_resumed(agent: LocalAgent) -> None:
    path = os.fsencode(agent.logs) + b"/caf\xe9.log"
    with open(path, "wb") as file:
        file.write(b"one\n")
    agent.start()
    agent.await_messages("one")
    agent.stop()
    with open(path, "ab") as file:
        file.write(b"two\n")
    agent.start()
    agent.expect("one", "two")
    assert agent.events[0]["log"]["file"]["path"].endswith("/caf�.log")
