"""A run that ends by itself: all that exists is read, in order, and what could not be finished is named."""

import gzip
import os

import pytest

from tests.capabilities import without_capabilities
from tests.model.user_lab import HOUR, UserLab, pack

LONG_LINE = "x" * 200


@pytest.mark.parametrize("limit", [0, 1])
@pytest.mark.parametrize(("files", "lines"), [(100, 5), (4, 10_000)])
def test_files_arrive_one_after_the_other_in_the_order_of_their_age(
    lab: UserLab, files: int, lines: int, limit: int
) -> None:
    lab.options = {"compression": "auto", "harvester_limit": limit}
    expected = []
    for age in range(files, 0, -1):
        content = [f"{age} {number} {LONG_LINE}" for number in range(lines)]
        expected += content
        name = f"{age * 37 % 101:03}.log{'.gz' if age % 3 == 0 else ''}"  # in another order than the ages
        text = "\n".join(content).encode()
        lab.append(name, gzip.compress(text, 1) if name.endswith(".gz") else text)
        lab.date(name, age * HOUR)
    assert lab.run_once() == {}
    assert lab.messages == expected


@pytest.mark.parametrize("reused", [True, False])
def test_a_rotation_and_its_gzip_between_two_runs_repeat_nothing_whether_or_not_the_inode_is_used_again(
    lab: UserLab, reused: bool
) -> None:
    lab.options = {"compression": "auto"}
    lines = [f"{number} {LONG_LINE}" for number in range(100)]
    lab.append("a.log", "".join(f"{line}\n" for line in lines))
    assert lab.run_once() == {}
    lab.append("a.log", "before the rotation\n")
    pack(lab, "a.log.1.gz", (lab.logs / "a.log").read_bytes())
    if reused:
        lab.truncate("a.log")
    else:
        lab.remove("a.log")
    lab.append("a.log", "after it\n")
    assert lab.run_once() == {}
    assert sorted(lab.messages) == sorted([*lines, "before the rotation", "after it"])


def test_a_file_that_grows_while_it_is_read_is_read_to_its_first_size_and_what_follows_by_the_next_run(
    lab: UserLab,
) -> None:
    lines = [f"{number} {LONG_LINE}" for number in range(5000)]
    lab.append("a.log", "".join(f"{line}\n" for line in lines))
    lab.start(once=True)
    lab.wait_until(lambda: lab.messages)
    while not lab.running.loop.finished:
        lab.append("a.log", "grown\n")
        lab.step(wait=0.002)
        assert len(lab.content(lab.inode("a.log"))) < 10_000_000, "it chases the writer"
    grown = lab.content(lab.inode("a.log")).count(b"grown")
    assert grown
    assert lab.messages == lines
    lab.stop()
    assert lab.run_once() == {}
    assert lab.messages == [*lines, *["grown"] * grown]


def test_a_file_that_is_deleted_while_it_waits_for_its_turn_is_read(lab: UserLab) -> None:
    first = [LONG_LINE] * 20_000
    lab.append("a.log", "".join(f"{line}\n" for line in first))
    lab.date("a.log", HOUR)
    lab.append("b.log", "last\n")
    lab.start(once=True)
    lab.wait_until(lambda: lab.messages)
    assert "last" not in lab.messages
    lab.remove("b.log")
    lab.wait_until(lambda: lab.running.loop.finished)
    assert lab.messages == [*first, "last"]
    assert lab.crawler.problems.now == {}


# What is named.


def test_a_glob_without_match_is_named_and_all_else_arrives(lab: UserLab) -> None:
    lab.paths = (f"{lab.logs}/*.log", f"{lab.logs}/*.lgo")
    lab.append("a.log", "one\n")
    assert lab.run_once() == {f"{lab.logs}/*.lgo": "matches no file"}
    assert lab.messages == ["one"]


def test_a_directory_without_permission_is_named_and_all_else_arrives(lab: UserLab) -> None:
    directory = lab.logs / "d"
    directory.mkdir()
    lab.paths = (f"{lab.logs}/*.log", f"{directory}/*.log")
    lab.append("a.log", "one\n")
    directory.chmod(0)
    with without_capabilities():
        problems = lab.run_once()
    directory.chmod(0o755)
    assert "Permission denied" in problems[str(directory)]
    assert lab.messages == ["one"]


def test_a_cut_off_gz_is_named_its_content_arrives_and_what_was_missing_when_it_is_whole(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lines = [os.urandom(40).hex() for _ in range(1000)]
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    lab.append("a.log.gz", packed[: len(packed) // 2])
    problems = lab.run_once()
    assert f"gzip data damaged at compressed byte {len(packed) // 2}" in problems[f"{lab.logs}/a.log.gz"]
    assert lab.messages == lines[: len(lab.messages)]
    assert len(lab.messages) > 300
    lab.append("a.log.gz", packed[len(packed) // 2 :])
    assert lab.run_once() == {}
    assert lab.messages == lines


def test_a_gz_whose_checksum_is_wrong_is_named_each_time_and_sent_once(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    packed = bytearray(gzip.compress(b"one\ntwo\n"))
    packed[-8] ^= 1
    lab.append("a.log.gz", bytes(packed))
    for _ in range(2):
        problems = lab.run_once()
        assert "gzip data damaged" in problems[f"{lab.logs}/a.log.gz"]
        assert "crc" in problems[f"{lab.logs}/a.log.gz"]
        assert lab.messages == ["one", "two"]


def test_a_plain_file_under_compression_gzip_is_named(lab: UserLab) -> None:
    lab.options = {"compression": "gzip"}
    lab.append("a.log", "plain\n")
    assert "not a gzip file" in lab.run_once()[f"{lab.logs}/a.log"]
    assert lab.messages == []


def test_a_file_too_short_for_its_fingerprint_is_named(lab: UserLab) -> None:
    lab.options = {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64}
    lab.append("short.log", "short\n")
    lab.append("long.log", "x" * 64 + "\n")
    assert "prospector.scanner.fingerprint.length" in lab.run_once()[f"{lab.logs}/short.log"]
    assert lab.messages == ["x" * 64]


def test_a_missing_marker_file_is_named_until_it_exists(lab: UserLab) -> None:
    marker = lab.logs.parent / "marker"
    lab.options = {"file_identity.inode_marker.path": str(marker)}
    lab.append("a.log", "one\n")
    assert str(marker) in str(lab.run_once())
    assert lab.messages == []
    marker.write_text("this disk")
    assert lab.run_once() == {}
    assert lab.messages == ["one"]
