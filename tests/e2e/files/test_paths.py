"""The ways to a file: links, moves, directories, and what cannot be read."""

import os
import time
from pathlib import Path
from typing import Any

from tests.capabilities import UNPRIVILEGED
from tests.e2e.files.local import LocalAgent

OFTEN: dict[str, Any] = {"prospector.scanner.check_interval": "200ms"}


def test_a_file_that_moves_out_of_the_globs_is_read_to_its_end_and_resumed_when_it_is_back(
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


def test_a_file_without_permission_is_logged_once_and_read_when_it_has_it(agent: LocalAgent) -> None:
    agent.configure(**OFTEN)
    agent.append("secret")
    agent.path.chmod(0)
    agent.start(before=UNPRIVILEGED)
    agent.await_log(f"{agent.path}: cannot be opened: Permission denied")
    time.sleep(1)
    assert agent.log.count("Permission denied") == 1
    agent.path.chmod(0o644)
    agent.expect("secret")


def test_fifos_directories_and_devices_are_logged_once_and_all_else_is_shipped(agent: LocalAgent) -> None:
    fifo, directory = agent.logs / "fifo.log", agent.logs / "directory.log"
    os.mkfifo(fifo)
    directory.mkdir()
    agent.configure([str(fifo), str(directory), "/dev/null", str(agent.path)], **OFTEN)
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    for path in (str(fifo), str(directory), "/dev/null"):
        agent.await_log(path)
    time.sleep(1)
    for path in (str(fifo), str(directory), "/dev/null"):
        assert agent.log.count(f"{path}: ") + agent.log.count(f'{path}"') == 1, agent.log
    assert agent.stop() == 0
    assert agent.messages == ["one"]


def test_a_directory_without_permission_is_logged_once_and_read_when_it_has_it(agent: LocalAgent) -> None:
    directory = agent.logs / "d"
    directory.mkdir()
    agent.configure([f"{directory}/*.log", f"{agent.logs}/sentinel*.log"], **OFTEN)
    agent.append("one", path=directory / "app.log")
    directory.chmod(0)
    try:
        agent.start(before=UNPRIVILEGED)
        agent.await_log(f"{directory}: ")
        agent.await_log("Permission denied")
        time.sleep(1)
        assert agent.log.count("Permission denied") == 1
    finally:
        directory.chmod(0o755)
    agent.expect("one")


def test_a_directory_that_appears_later_is_found_without_waiting_for_a_scan(agent: LocalAgent) -> None:
    path = agent.logs / "later" / "still" / "app.log"
    agent.configure(
        [f"{agent.logs}/later/*/*.log", f"{agent.logs}/sentinel*.log"], **{"prospector.scanner.check_interval": "1h"}
    )
    agent.start()
    agent.await_log("matches no file")
    path.parent.mkdir(parents=True)
    agent.append("one", path=path)
    agent.expect("one")


def test_two_links_and_a_hard_link_to_one_file_are_one_harvester(agent: LocalAgent, tmp_path: Path) -> None:
    agent.configure([f"{agent.logs}/*.log"], **{"prospector.scanner.symlinks": True})
    agent.append("one")
    (agent.logs / "hard.log").hardlink_to(agent.path)
    for name in ("link-1.log", "link-2.log"):
        (agent.logs / name).symlink_to(agent.path)
    agent.start()
    agent.await_messages("one")
    for name in ("hard.log", "link-1.log", "link-2.log"):
        agent.append(f"by {name}", path=agent.logs / name)
    agent.expect("one", "by hard.log", "by link-1.log", "by link-2.log")
    assert len(set(agent.ids("one", "by hard.log", "by link-1.log", "by link-2.log"))) == 1
