"""By what a file is recognised."""

import os
from typing import Any

import pytest

from tests.model.user_lab import HOUR, UserLab, pack

IDENTITIES: dict[str, dict[str, Any]] = {
    "native": {"file_identity.native": None},
    "path": {"file_identity.path": None},
    "fingerprint": {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64},
    "inode_marker": {},
    "growing": {"file_identity.fingerprint.growing": True, "prospector.scanner.fingerprint.length": 64},
}
HEAD = "h" * 63 + "\n"


@pytest.fixture(params=list(IDENTITIES))
def identity(request: pytest.FixtureRequest, lab: UserLab) -> str:
    lab.options = IDENTITIES[request.param]
    if request.param == "inode_marker":
        marker = lab.logs.parent / "marker"
        marker.write_text("this disk\n")
        lab.options = {"file_identity.inode_marker.path": str(marker)}
    return str(request.param)


def test_under_each_identity_a_restart_resumes_where_it_was(lab: UserLab, identity: str) -> None:
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.stop()
    lab.append("a.log", "two\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one", "two")
    lab.pass_time(600)
    lab.kill()
    lab.append("a.log", "three\n")
    lab.start()
    lab.expect_lines("a.log", HEAD[:-1], "one", "two", "three")
    assert len(lab.file_ids) == 1


def test_under_each_identity_but_the_path_a_rename_is_the_same_file(lab: UserLab, identity: str) -> None:
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.rotate("a.log", to="b.log")
    lab.append("b.log", "two\n")
    lab.pass_time(60)
    lab.stop()
    lab.append("b.log", "three\n")
    lab.start()
    lab.pass_time(60)
    if identity != "path":
        assert lab.messages == [HEAD[:-1], "one", "two", "three"]
        assert len(lab.file_ids) == 1
    else:
        assert [m for m in lab.messages if m == "three"] == ["three"]
        assert len(lab.file_ids) == 2


def test_under_each_identity_a_rename_while_down_is_the_same_file_but_for_the_path(lab: UserLab, identity: str) -> None:
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.stop()
    lab.rotate("a.log", to="b.log")
    lab.append("b.log", "two\n")
    lab.start()
    lab.pass_time(60)
    again = [HEAD[:-1], "one"] if identity == "path" else []
    assert lab.messages == [HEAD[:-1], "one", *again, "two"]


@pytest.mark.parametrize("inactive", ["1m", "1h"])
def test_under_path_a_renamed_file_is_read_again_and_so_is_all_that_comes_to_its_old_path(
    lab: UserLab, inactive: str
) -> None:
    """The same if it is open and if it was closed. If its entry did not end, it would be that of the next file at the
    old path, and as many bytes of that would be skipped."""
    lab.options = {"file_identity.path": None, "close.on_state_change.inactive": inactive}
    lab.ship("a.log", "one", "two")
    lab.pass_time(600)
    assert lab.is_open("a.log") is (inactive == "1h")
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", "three\nfour\nfive\n")
    lab.pass_time(60)
    assert sorted(lab.messages[2:]) == sorted(["one", "two", "three", "four", "five"])
    lab.append("a.log.1", "late\n")
    lab.append("a.log", "six\n")
    lab.pass_time(60)
    assert sorted(lab.messages[7:]) == ["late", "six"]
    assert len(lab.file_ids) == 3
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert len(lab.messages) == 9


def test_under_path_a_file_that_is_renamed_before_all_of_it_was_read_is_read_under_its_new_path(lab: UserLab) -> None:
    lab.options = {"file_identity.path": None}
    lab.queue_events = 10
    lab.append("a.log", "".join(f"{number}\n" for number in range(30_000)))
    lab.start()
    lab.wait_until(lambda: len(lab.messages) > 10, seconds=0.0005)
    assert len(lab.messages) < 30_000
    lab.rotate("a.log", to="b.log")
    lab.pass_time(60)
    lab.wait_until(lambda: lab.messages[-1] == "29999")
    assert {event.message for event in lab.arrived} == {str(number) for number in range(30_000)}


@pytest.mark.parametrize("first", ["one", "ONE"])
@pytest.mark.parametrize("is_down", [False, True])
def test_under_path_a_file_that_is_replaced_resumes_if_it_has_the_same_bytes(
    lab: UserLab, first: str, is_down: bool
) -> None:
    lab.options = IDENTITIES["path"]
    lab.ship("a.log", "one")
    if is_down:
        lab.stop()
    else:
        lab.pass_time(600)
    lab.append("new", f"{first}\ntwo\n")
    os.replace(lab.logs / "new", lab.logs / "a.log")
    if is_down:
        lab.start()
    lab.until_messages("one", *[first] * (first != "one"), "two")


def test_under_each_identity_a_gz_that_was_read_is_not_read_again_after_a_restart(lab: UserLab, identity: str) -> None:
    lab.options = {**lab.options, "compression": "auto"}
    content = HEAD + "".join(f"{os.urandom(20).hex()}\n" for _ in range(1000))
    pack(lab, "a.log.gz", content.encode())
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 1001)
    lab.pass_time(60)
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert len(lab.messages) == 1001


@pytest.mark.parametrize("identity", ["path", "inode_marker", "native"], indirect=True)
def test_a_deleted_and_recreated_file_is_read_from_its_start_under_each_identity(lab: UserLab, identity: str) -> None:
    lab.ship("a.log", "one")
    lab.remove("a.log")
    lab.pass_time(60)
    lab.append("a.log", "two\nthree\n")
    lab.until_messages("one", "two", "three")


@pytest.mark.parametrize("identity", ["path", "inode_marker", "native"], indirect=True)
def test_a_truncated_file_that_grew_past_the_position_is_read_from_its_start_under_each_identity(
    lab: UserLab, identity: str
) -> None:
    lab.ship("a.log", "one")
    lab.truncate("a.log")
    lab.append("a.log", "two\nthree\n")
    lab.until_messages("one", "two", "three")
    lab.pass_time(600)
    lab.stop()
    lab.append("a.log", "four\n")
    lab.start()
    lab.until_messages("one", "two", "three", "four")


def test_under_fingerprint_a_gz_of_what_was_shipped_is_not_shipped_again(lab: UserLab) -> None:
    lab.options = {**IDENTITIES["fingerprint"], "compression": "auto"}
    content = HEAD + "".join(f"{os.urandom(20).hex()}\n" for _ in range(1000))
    lab.append("a.log.1", content)
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 1001)
    pack(lab, "a.log.1.gz", content.encode())
    lab.pass_time(2)
    lab.remove("a.log.1")
    lab.pass_time(600)
    assert len(lab.messages) == 1001


def test_under_path_a_rotation_out_of_the_globs_leaves_one_entry_for_the_path_also_after_a_restart(
    lab: UserLab,
) -> None:
    lab.options = {"file_identity.path": None, "close.on_state_change.inactive": "1m"}
    lab.paths = (f"{lab.logs}/a.log",)
    lab.append("a.log", "old\n" * 10)
    lab.start()
    lab.until_messages(*["old"] * 10)
    lab.rotate("a.log", to="rotated")
    lab.append("a.log", "new\n")
    lab.pass_time(10)
    assert lab.messages[10:] == ["new"]
    lab.pass_time(600)
    lab.stop()
    lab.append("a.log", "while down\n" * 10)
    lab.start()
    lab.pass_time(60)
    assert lab.messages[11:] == ["while down"] * 10


def test_under_path_a_longer_file_that_is_renamed_to_the_path_is_another_one(lab: UserLab) -> None:
    """Also where the bytes that are compared of a rewritten file are the same."""
    lab.options = {"file_identity.path": None, "close.on_state_change.inactive": "1m"}
    head, foot = "head\n" * 300, "foot\n" * 5000
    lab.append("a.log", head + "first\n" * 10000 + foot)
    lab.start()
    lab.pass_time(600)
    assert len(lab.messages) == 15300
    lab.append("new", head + "third\n" * 10000 + foot + "more\n")
    lab.rotate("new", to="a.log")
    lab.pass_time(600)
    assert lab.messages.count("third") == 10000


def test_under_fingerprint_a_copytruncate_neither_loses_nor_repeats_a_line(lab: UserLab) -> None:
    lab.options = IDENTITIES["fingerprint"]
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.append("a.log.1", (lab.logs / "a.log").read_bytes())
    lab.truncate("a.log")
    lab.pass_time(60)
    lab.append("a.log", "n" * 63 + "\nnew\n")
    lab.pass_time(60)
    assert lab.messages == [HEAD[:-1], "one", "n" * 63, "new"]
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert len(lab.messages) == 4


def test_under_fingerprint_two_files_with_equal_heads_are_one_and_no_restart_repeats_it(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = IDENTITIES["fingerprint"]
    lab.append("a.log", f"{HEAD}one\n")
    lab.append("b.log", f"{HEAD}one\n")
    lab.start()
    lab.pass_time(60)
    arrived = lab.messages
    (warning,) = [line for line in caplog.messages if "begins with the same bytes as" in line]
    assert "so file_identity.fingerprint takes both for one file" in warning
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert lab.messages == arrived


def test_under_fingerprint_a_copy_to_another_disk_is_the_same_file_and_a_short_file_waits(lab: UserLab) -> None:
    lab.options = IDENTITIES["fingerprint"]
    lab.append("a.log", f"{HEAD}one\n")
    lab.append("short.log", "short\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.pass_time(60)
    lab.stop()
    lab.append("copy", (lab.logs / "a.log").read_bytes())
    os.replace(lab.logs / "copy", lab.logs / "a.log")
    lab.append("a.log", "two\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one", "two")
    lab.append("short.log", "x" * 63 + "\n")
    lab.wait_until(lambda: len(lab.messages) == 5, seconds=0.5)
    assert lab.messages[3:] == ["short", "x" * 63]


def test_under_fingerprint_a_finished_gz_that_is_shorter_waits_for_nothing(lab: UserLab) -> None:
    lab.options = {**IDENTITIES["fingerprint"], "compression": "auto"}
    pack(lab, "a.log.gz", b"short\n")
    lab.append("plain.log", "short too\n")
    lab.start()
    lab.until_messages("short")
    lab.stop()
    lab.start()
    lab.pass_time(600)
    assert lab.messages == ["short"]


def test_fingerprint_offset_passes_over_a_header_that_all_files_have(lab: UserLab) -> None:
    lab.options = {
        "file_identity.fingerprint": None,
        "prospector.scanner.fingerprint": {"offset": 64, "length": 64},
    }
    for name in "ab":
        lab.append(f"{name}.log", HEAD + name * 63 + "\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 4)
    assert len(lab.file_ids) == 2


def test_under_inode_marker_another_device_number_is_the_same_file_and_another_marker_is_another(lab: UserLab) -> None:
    marker = lab.logs.parent / "marker"
    marker.write_text("this disk\n")
    lab.options = {"file_identity.inode_marker.path": str(marker)}
    lab.ship("a.log", "one")
    lab.stop()
    marker.write_text("another disk\n")
    lab.start()
    lab.until_messages("one", "one")
    assert len(lab.file_ids) == 2


def test_a_copy_is_its_original_also_while_the_originals_last_lines_are_in_flight(lab: UserLab) -> None:
    """The original is closed by then, and its entry is not among those that a file may resume."""
    lab.options = {**IDENTITIES["fingerprint"], "close.on_state_change.inactive": "10s"}
    lab.ship("a.log", HEAD[:-1], "one")
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.pass_time(5)
    lab.pass_time(60)
    lab.copytruncate("a.log", to="b.log")
    lab.append("a.log", "another\n")
    lab.pass_time(60)
    lab.destination.holding = False
    lab.pass_time(120)
    assert lab.messages[:3] == [HEAD[:-1], "one", "two"]
    assert len(lab.messages) == 3, "what follows is too short for a fingerprint"
    assert len(lab.file_ids) == 1


@pytest.mark.parametrize("is_restarted", [False, True])
def test_under_path_a_file_that_is_back_at_its_path_resumes_though_it_is_too_old_at_first(
    lab: UserLab, is_restarted: bool
) -> None:
    lab.options = {**IDENTITIES["path"], "ignore_older": "2h", "close.on_state_change.inactive": "1m"}
    lab.ship("a.log", "one", "two")
    lab.pass_time(600)
    lab.rotate("a.log", to="outside")
    lab.pass_time(60)
    lab.rotate("outside", to="a.log")
    lab.date("a.log", ago=3 * HOUR)
    lab.pass_time(60)
    if is_restarted:
        assert [state.ended for state in lab.saved()] == [None]
        lab.start()
    lab.append("a.log", "three\n")
    lab.pass_time(60)
    assert lab.messages == ["one", "two", "three"]


def test_under_path_the_next_file_resumes_after_a_kill_while_its_predecessor_is_open_elsewhere(lab: UserLab) -> None:
    lab.options = IDENTITIES["path"]
    lab.ship("a.log", "one", "two")
    lab.rotate("a.log", to="outside")
    lab.pass_time(1)
    lab.append("a.log", "three\n")
    lab.until_messages("one", "two", "three")
    lab.append("outside", "late\n")
    lab.until_messages("one", "two", "three", "late")
    lab.pass_time(1)
    lab.kill()
    lab.start()
    lab.pass_time(60)
    assert lab.messages == ["one", "two", "three", "late"]


def test_under_path_a_file_that_looks_like_the_missing_one_is_read_whole_though_it_is_too_old_at_first(
    lab: UserLab,
) -> None:
    """Also where the bytes that are compared of a rewritten file are the same."""
    lab.options = {**IDENTITIES["path"], "ignore_older": "2h", "close.on_state_change.inactive": "1m"}
    head, foot = "head\n" * 300, "foot\n" * 5000
    lab.append("a.log", head + "first\n" * 10000 + foot)
    lab.start()
    lab.pass_time(600)
    lab.rotate("a.log", to="outside")
    lab.pass_time(60)
    lab.append("a.log", head + "third\n" * 10000 + foot)
    lab.date("a.log", ago=3 * HOUR)
    lab.pass_time(60)
    lab.append("a.log", "more\n")
    lab.pass_time(600)
    assert (lab.messages.count("third"), lab.messages.count("head"), lab.messages[-1]) == (10000, 600, "more")
