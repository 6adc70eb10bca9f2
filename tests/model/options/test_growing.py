"""`file_identity.fingerprint.growing`: short files are read, and what is recognised is proven."""

import os
from pathlib import Path

import pytest

from log_shipper.registry.load import read
from tests.model.user_lab import UserLab

LENGTH = {"prospector.scanner.fingerprint.length": 64}
FIXED = {"file_identity.fingerprint": None, **LENGTH}
GROWING = {"file_identity.fingerprint.growing": True, **LENGTH}
HEAD = "h" * 63


def replaced(path: Path, content: bytes | None = None) -> None:
    """Replace a file by another one, with its content or another and a later time, as when a disk is restored."""
    made = path.parent.parent / "made"
    made.write_bytes(path.read_bytes() if content is None else content)
    status = path.stat()
    os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    made.rename(path)


def expect(lab: UserLab, *expected: str) -> None:
    """Let time pass until these messages have arrived, and then some more: no others come."""
    lab.wait_until(lambda: len(lab.messages) >= len(expected), seconds=1)
    lab.pass_time(60)
    assert lab.messages == list(expected)


@pytest.fixture
def growing(lab: UserLab) -> UserLab:
    lab.options = dict(GROWING)
    return lab


def test_a_short_file_is_read_at_once_and_keeps_its_id_however_it_grows_and_is_renamed(growing: UserLab) -> None:
    growing.ship("a.log", "one")
    growing.stop()
    growing.rotate("a.log", to="b.log")
    growing.append("b.log", "two\n")
    growing.start()
    expect(growing, "one", "two")
    growing.append("b.log", f"{HEAD}\n")
    expect(growing, "one", "two", HEAD)
    growing.wait_until(lambda: any(state.position > 64 for state in read(growing.data / "registry").values()))
    growing.kill()
    growing.rotate("b.log", to="c.log")
    growing.append("c.log", "three\n")
    growing.start()
    expect(growing, "one", "two", HEAD, "three")
    assert len(growing.file_ids) == 1


def test_a_file_that_was_restored_without_its_time_resumes_if_it_has_its_fingerprint(growing: UserLab) -> None:
    growing.ship("a.log", HEAD, "one")
    growing.stop()
    replaced(growing.logs / "a.log")
    growing.append("a.log", "two\n")
    growing.start()
    expect(growing, HEAD, "one", "two")
    assert len(growing.file_ids) == 1


def test_a_file_that_comes_back_from_another_disk_under_another_name_resumes(growing: UserLab) -> None:
    growing.ship("a.log", HEAD, "one")
    growing.stop()
    growing.append("restored.log", f"{HEAD}\none\ntwo\n")
    growing.remove("a.log")
    growing.start()
    expect(growing, HEAD, "one", "two")
    assert len(growing.file_ids) == 1


def test_a_file_that_grew_while_it_was_open_is_recognised_by_its_fingerprint(growing: UserLab) -> None:
    growing.ship("a.log", "one")
    growing.append("a.log", f"{HEAD}\n")
    expect(growing, "one", HEAD)
    growing.wait_until(lambda: any(state.position > 64 for state in read(growing.data / "registry").values()))
    growing.kill()
    replaced(growing.logs / "a.log")
    growing.start()
    expect(growing, "one", HEAD)


def test_of_a_restored_file_that_is_too_short_for_the_fingerprint_nothing_is_skipped(growing: UserLab) -> None:
    growing.ship("a.log", "header")
    growing.stop()
    replaced(growing.logs / "a.log", b"header\nanother\n")
    growing.start()
    expect(growing, "header", "header", "another")
    assert len(growing.file_ids) == 2


def test_a_file_that_differs_behind_its_fingerprint_is_another(growing: UserLab) -> None:
    growing.ship("a.log", HEAD, "one", "x" * 300)
    growing.stop()
    replaced(growing.logs / "a.log", f"{HEAD}\ntwo\n{'x' * 300}\n".encode())
    growing.start()
    expect(growing, HEAD, "one", "x" * 300, HEAD, "two", "x" * 300)
    assert len(growing.file_ids) == 2


@pytest.mark.parametrize("head", ["short", HEAD])
def test_files_that_begin_alike_are_all_read(growing: UserLab, head: str) -> None:
    growing.ship("a.log", head, "one")
    growing.append("b.log", f"{head}\ntwo\n")
    expect(growing, head, "one", head, "two")
    growing.append("a.log", "three\n")
    growing.append("b.log", "four\n")
    growing.pass_time(600)
    growing.stop()
    growing.append("a.log", "five\n")
    growing.start()
    growing.wait_until(lambda: len(growing.messages) >= 7, seconds=1)
    growing.pass_time(60)
    assert sorted(growing.messages[4:]) == ["five", "four", "three"]
    assert len(growing.file_ids) == 2


@pytest.mark.parametrize("head", ["short", HEAD])
@pytest.mark.parametrize("down", [True, False])
def test_a_copytruncate_neither_loses_nor_repeats_a_line(growing: UserLab, head: str, down: bool) -> None:
    growing.ship("a.log", head, "one")
    if down:
        growing.stop()
    growing.copytruncate("a.log", to="a.log.1")
    growing.append("a.log", "two\n")
    if down:
        growing.start()
    expect(growing, head, "one", "two")


def test_a_truncated_file_that_begins_again_as_before_is_sent_from_its_start(growing: UserLab) -> None:
    growing.ship("a.log", HEAD, "one")
    growing.stop()
    (growing.logs / "a.log").write_text("other\n")
    growing.start()
    expect(growing, HEAD, "one", "other")
    growing.stop()
    (growing.logs / "a.log").write_text(f"{HEAD}\none\ntwo\n")
    growing.start()
    expect(growing, HEAD, "one", "other", HEAD, "one", "two")


def test_positions_that_were_kept_by_the_fingerprint_are_taken_over(lab: UserLab) -> None:
    lab.options = dict(FIXED)
    lab.ship("a.log", HEAD, "one")
    (state,) = lab.saved()
    assert state.key.startswith("fingerprint:")
    lab.options = dict(GROWING)
    lab.copy("a.log", "alike.log")
    lab.date("alike.log")  # the oldest file is opened first
    lab.append("a.log", "two\n")
    lab.append("short.log", "short\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) >= 6, seconds=1)
    lab.pass_time(60)
    assert sorted(lab.messages[2:]) == sorted(["two", "short", HEAD, "one"])
    assert {entry.id for entry in lab.saved() if entry.path.endswith("/a.log") and not entry.key} == {state.id}


def test_a_position_that_was_kept_by_the_fingerprint_of_a_file_that_differs_now_is_not_taken_over(lab: UserLab) -> None:
    lab.options = dict(FIXED)
    lab.ship("a.log", HEAD, "one", "x" * 300)
    lab.stop()
    lab.options = dict(GROWING)
    replaced(lab.logs / "a.log", f"{HEAD}\ntwo\n{'x' * 300}\n".encode())
    lab.start()
    expect(lab, HEAD, "one", "x" * 300, HEAD, "two", "x" * 300)
