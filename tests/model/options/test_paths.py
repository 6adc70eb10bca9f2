"""The ways to a file: globs, links, names and directories."""

import json
import os

import pytest

from tests.capabilities import without_capabilities
from tests.model.user_lab import DAY, UserLab


def lines_by_path(lab: UserLab) -> dict[str, list[str]]:
    """Return the messages of each path, without the directory of the logs."""
    by_path: dict[str, list[str]] = {}
    for record in map(json.loads, lab.records):
        by_path.setdefault(os.path.relpath(record["log"]["file"]["path"], lab.logs), []).append(record["message"])
    return by_path


def ids(lab: UserLab) -> dict[str, str]:
    """Return the file id of each message."""
    return {event.message: event.file_id for event in lab.arrived}


def test_a_file_that_moves_to_another_matched_directory_is_resumed_and_the_one_at_its_old_path_is_new(
    lab: UserLab,
) -> None:
    (lab.logs / "old").mkdir()
    lab.paths = (f"{lab.logs}/*.log", f"{lab.logs}/old/*.log")
    lab.ship("a.log", "one")
    lab.rotate("a.log", to="old/a.log")
    lab.append("old/a.log", "two\n")
    lab.append("a.log", "three\n")
    lab.expect_lines("old/a.log", "one", "two")
    lab.expect_lines("a.log", "three")
    assert len(lab.arrived) == 3
    assert len(lab.file_ids) == 2


def test_a_hard_link_is_the_same_file_whichever_name_is_deleted_first(lab: UserLab) -> None:
    lab.ship("a.log", "one")
    (lab.logs / "b.log").hardlink_to(lab.logs / "a.log")
    lab.append("b.log", "two\n")
    lab.pass_time(30)
    lab.remove("a.log")
    lab.pass_time(30)
    lab.append("b.log", "three\n")
    lab.pass_time(30)
    assert lab.messages == ["one", "two", "three"]
    assert len(lab.file_ids) == 1


def test_a_symlink_that_is_swapped_leads_to_the_new_target_and_the_old_one_is_read_to_its_end(lab: UserLab) -> None:
    lab.options = {"prospector.scanner.symlinks": True}
    lab.append("../first", "one\n")
    lab.append("../second", "three\n")
    (lab.logs / "current.log").symlink_to("../first")
    lab.start()
    lab.until_messages("one")
    lab.append("../first", "two\n")
    (lab.logs / "spare").symlink_to("../second")
    (lab.logs / "spare").rename(lab.logs / "current.log")
    lab.expect_lines("../first", "one", "two")
    lab.expect_lines("../second", "three")
    lab.append("current.log", "four\n")
    lab.expect_lines("../second", "three", "four")
    assert len(lab.arrived) == 4


def test_a_symlink_is_ignored_unless_symlinks_are_enabled(lab: UserLab) -> None:
    lab.append("../target", "not wanted\n")
    (lab.logs / "link.log").symlink_to("../target")
    lab.append("a.log", "one\n")
    lab.start()
    lab.pass_time(60)
    assert lab.messages == ["one"]


def test_type_container_follows_link_over_link_and_the_target_when_it_is_rotated(lab: UserLab) -> None:
    """As kubelet and the runtime lay it out: containers/x.log -> pods/0.log -> docker/x-json.log."""
    for name in ("containers", "pods", "docker"):
        (lab.logs / name).mkdir()
    lab.paths = (f"{lab.logs}/containers/*.log",)
    lab.options = {"type": "container"}
    lab.append("docker/x-json.log", "one\n")
    (lab.logs / "pods" / "0.log").symlink_to("../docker/x-json.log")
    (lab.logs / "containers" / "x.log").symlink_to("../pods/0.log")
    lab.start()
    lab.until_messages("one")
    lab.append("docker/x-json.log", "two\n")
    lab.rotate("docker/x-json.log", to="docker/x-json.log.1")
    lab.append("docker/x-json.log", "three\n")
    lab.pass_time(30)
    lab.append("docker/x-json.log", "four\n")
    lab.pass_time(30)
    assert lines_by_path(lab) == {"containers/x.log": ["one", "two", "three", "four"]}
    of = ids(lab)
    assert of["one"] == of["two"] != of["three"] == of["four"]


def test_include_and_exclude_look_at_the_whole_path_and_exclude_wins(lab: UserLab) -> None:
    lab.paths = (f"{lab.logs}/*",)
    lab.options = {
        "prospector.scanner.include_files": [r"\.log$"],
        "prospector.scanner.exclude_files": ["/secret", r"2\.log$"],
    }
    for name in ("a.log", "b.txt", "secret.log", "c2.log"):
        lab.append(name, f"{name}\n")
    lab.start()
    lab.pass_time(60)
    assert lab.messages == ["a.log"]


@pytest.mark.parametrize(
    ("recursive", "expected"),
    [(True, {"0.log", "a/1.log", "a/b/2.log", "a/b/c/3.log", "new/deeper/x.log"}), (False, {"a/1.log"})],
)
def test_two_stars_match_directories_at_any_depth_unless_recursive_glob_is_off(
    lab: UserLab, recursive: bool, expected: set[str]
) -> None:
    lab.paths = (f"{lab.logs}/**/*.log",)
    lab.options = {"prospector.scanner.recursive_glob": recursive}
    (lab.logs / "a" / "b" / "c").mkdir(parents=True)
    for name in ("0.log", "a/1.log", "a/b/2.log", "a/b/c/3.log"):
        lab.append(name, "one\n")
    lab.start()
    lab.pass_time(30)
    (lab.logs / "new" / "deeper").mkdir(parents=True)
    lab.append("new/deeper/x.log", "one\n")
    lab.pass_time(30)
    lab.wait_until(lambda: len(lab.arrived) >= len(expected))
    assert lines_by_path(lab) == {name: ["one"] for name in expected}


def test_a_path_without_wildcard_is_picked_up_when_a_file_takes_the_place_of_a_directory(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.paths = (f"{lab.logs}/a.log",)
    (lab.logs / "a.log").mkdir()
    lab.start()
    lab.pass_time(60)
    (warning,) = [line for line in caplog.messages if f"{lab.logs}/a.log: " in line]
    assert "directory" in warning
    (lab.logs / "a.log").rmdir()
    lab.append("a.log", "one\n")
    lab.pass_time(30)
    assert lab.messages == ["one"]


def test_a_name_that_is_not_utf_8_is_shipped_and_recognised_after_a_restart(lab: UserLab) -> None:
    name = os.fsdecode(b"caf\xe9.log")
    lab.append(name, "one\n")
    lab.start()
    lab.until_messages("one")
    lab.stop()
    lab.append(name, "two\n")
    lab.start()
    lab.until_messages("one", "two")
    assert list(lines_by_path(lab)) == ["caf\ufffd.log"]


def test_a_directory_that_is_replaced_by_another_is_followed_and_the_old_files_are_read_to_their_end(
    lab: UserLab,
) -> None:
    (lab.logs / "d").mkdir()
    lab.paths = (f"{lab.logs}/d/*.log",)
    lab.ship("d/a.log", "one")
    lab.append("d/a.log", "two\n")
    lab.rotate("d", to="old")
    (lab.logs / "d").mkdir()
    lab.append("d/a.log", "three\n")
    lab.expect_lines("old/a.log", "one", "two")
    lab.expect_lines("d/a.log", "three")
    lab.append("old/a.log", "four\n")
    lab.append("d/a.log", "five\n")
    lab.expect_lines("old/a.log", "one", "two", "four")
    lab.expect_lines("d/a.log", "three", "five")
    assert len(lab.arrived) == 5


def test_a_directory_that_may_not_be_read_for_a_while_does_not_end_the_files_in_it(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    directory = lab.logs / "d"
    directory.mkdir()
    lab.paths = (f"{directory}/*.log",)
    lab.ship("d/a.log", "one")
    directory.chmod(0)
    with without_capabilities():
        lab.pass_time(600)
        lab.stop()
        lab.start()
        lab.pass_time(2 * DAY)  # an entry without a file would be forgotten by then
    directory.chmod(0o755)
    assert len([line for line in caplog.messages if f"{directory}: " in line and "Permission denied" in line]) == 2
    lab.append("d/a.log", "two\n")
    lab.pass_time(30)
    assert lab.messages == ["one", "two"]
    assert len(lab.file_ids) == 1
