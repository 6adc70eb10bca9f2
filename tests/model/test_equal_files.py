"""Equal is not the same: of files with equal bytes only what was proven to be shipped is skipped."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from tests.lab import Lab

BACKUP = "backup starts\nbackup is done\n"


def place(lab: Lab, name: str, content: str, second: int | None = None) -> None:
    """Create the file elsewhere and move it to its place, so that it appears as a whole. `second`: its time."""
    made = lab.logs.parent / "made"
    made.write_text(content)
    if second is not None:
        os.utime(made, (second, second))
    made.rename(lab.logs / name)


def make_directories(lab: Lab) -> None:
    """Make the directories of two jobs that log to files of the same names."""
    for name in ("mon", "tue"):
        (lab.logs / name).mkdir()


def take_inode(lab: Lab, inode: int) -> Path:
    """Return another file, outside of the paths, that got this free inode."""
    for number in range(1000):
        path = lab.logs.parent / f"other {number}"
        path.touch()
        if path.stat().st_ino == inode:
            return path
    pytest.skip("this file system does not use the inode again")


def ids_and_offsets(lab: Lab) -> list[tuple[str, int]]:
    return [(event.file_id, event.offset) for event in lab.arrived]


@pytest.mark.parametrize("more", ["", "one line more\n"])
def test_a_new_file_that_equals_a_deleted_one_is_shipped_from_its_start(lab: Lab, more: str) -> None:
    place(lab, "backup-20261121.log", BACKUP)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.remove("backup-20261121.log")
    lab.scan()
    (lab.logs.parent / "other").touch()
    place(lab, "backup-20261122.log", BACKUP + more)
    lab.scan()
    assert lab.messages == BACKUP.splitlines() + (BACKUP + more).splitlines()
    assert len(set(ids_and_offsets(lab))) == len(lab.arrived)


@pytest.mark.parametrize("more", ["", "one line more\n"])
def test_nor_while_the_agent_was_down_and_with_its_inode(lab: Lab, more: str) -> None:
    place(lab, "backup-20261121.log", BACKUP)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.stop()
    inode = lab.inode("backup-20261121.log")
    lab.remove("backup-20261121.log")
    taken = take_inode(lab, inode)
    taken.write_text(BACKUP + more)
    taken.rename(lab.logs / "backup-20261122.log")
    lab.start()
    lab.scan()
    assert lab.messages == BACKUP.splitlines() + (BACKUP + more).splitlines()
    assert len(set(ids_and_offsets(lab))) == len(lab.arrived)


@pytest.mark.parametrize("more", ["", "one line more\n"])
def test_nor_does_one_of_the_same_archive_resume_which_gave_both_one_whole_second(lab: Lab, more: str) -> None:
    place(lab, "shop-a.log", BACKUP, second=1_700_000_000)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.remove("shop-a.log")
    lab.scan()
    place(lab, "shop-b.log", BACKUP + more, second=1_700_000_000)
    lab.scan()
    assert lab.messages == BACKUP.splitlines() + (BACKUP + more).splitlines()
    assert len(set(ids_and_offsets(lab))) == len(lab.arrived)


@pytest.mark.parametrize(
    ("name", "other"),
    [("job1", "job10.gz"), ("mon/backup.log", "tue/backup.log.gz"), ("mon/backup.log.1", "tue/backup.log.2.gz")],
)
def test_nor_a_gz_of_another_job_whose_name_is_only_like_that_of_a_deleted_file(
    lab: Lab, name: str, other: str
) -> None:
    lab.input["compression"] = "auto"
    lab.paths = (f"{lab.logs}/job*", f"{lab.logs}/*/backup.log*")
    make_directories(lab)
    place(lab, name, BACKUP)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.remove(name)
    lab.scan()
    made = lab.logs.parent / "made"
    made.write_bytes(gzip.compress(BACKUP.encode() + b"1 error\n"))
    made.rename(lab.logs / other)
    lab.scan()
    assert lab.messages == [*BACKUP.splitlines(), *BACKUP.splitlines(), "1 error"]


def test_nor_an_older_file_of_another_job_that_has_the_name_of_a_truncated_one(lab: Lab) -> None:
    lab.paths = (f"{lab.logs}/*/backup.log",)
    make_directories(lab)
    older = lab.logs.parent / "older"
    older.write_text(BACKUP + "1 error\n")
    place(lab, "mon/backup.log", BACKUP)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.truncate("mon/backup.log")
    lab.scan()
    older.rename(lab.logs / "tue/backup.log")
    lab.scan()
    assert lab.messages == [*BACKUP.splitlines(), *BACKUP.splitlines(), "1 error"]


@pytest.mark.parametrize("name", ["app.log", "restored/app.log"])
def test_a_file_resumes_that_was_restored_with_a_whole_second_and_its_name(lab: Lab, name: str) -> None:
    lab.paths = (f"{lab.logs}/**/app.log",)
    (lab.logs / "restored").mkdir()
    place(lab, "app.log", BACKUP)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    second = int((lab.logs / "app.log").stat().st_mtime)
    lab.remove("app.log")
    lab.scan()
    place(lab, name, BACKUP + "more\n", second)
    lab.scan()
    assert lab.messages == [*BACKUP.splitlines(), "more"]


def test_a_copy_that_takes_the_place_of_its_original_gets_no_id_under_which_more_was_sent(lab: Lab) -> None:
    lab.append("app.log", "one\ntwo\n")
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.copy("app.log", "app.log.bak")
    lab.append("app.log", "".join(f"first {number}\n" for number in range(20)))
    lab.wait_until(lambda: sum(event.message.startswith("first") for event in lab.arrived) == 20)
    lab.remove("app.log")
    lab.rotate("app.log.bak", to="app.log")
    lab.take_steps()
    lab.append("app.log", "".join(f"other {number}\n" for number in range(20)))
    lab.scan()
    named: dict[tuple[str, int], str] = {}
    for event in lab.arrived:
        assert named.setdefault((event.file_id, event.offset), event.message) == event.message
    assert {f"other {number}" for number in range(20)} <= set(lab.messages)


def test_a_file_and_its_copy_that_are_met_together_come_once(lab: Lab) -> None:
    lab.start()
    lab.take_steps()
    lab.append("app.log", "one\ntwo\n")
    lab.copy("app.log", "app.log.1")
    lab.take_steps()
    lab.truncate("app.log")
    lab.append("app.log", "three\n")
    lab.scan()
    assert sorted(lab.messages) == ["one", "three", "two"]


def test_copies_in_a_fast_loop_come_once(lab: Lab) -> None:
    lab.start()
    expected = []
    for number in range(30):
        lab.append("app.log", f"line {number}\n")
        expected.append(f"line {number}")
        if number % 3 == 0:
            lab.step(wait=0.001)
        for generation in range(8, 0, -1):
            if (lab.logs / f"app.log.{generation}").exists():
                (lab.logs / f"app.log.{generation}").rename(lab.logs / f"app.log.{generation + 1}")
        lab.copy("app.log", "app.log.1")
        lab.keep(lab.logs / "app.log.1")
        if number % 2:
            lab.step(wait=0.001)
        lab.truncate("app.log")
    lab.scan()
    assert sorted(lab.messages) == sorted(expected)


LINES = [f"{number:04} " + "x" * 20 for number in range(400)]


@pytest.mark.parametrize("again", ["rewritten", "re-created"])
def test_a_gz_that_begins_as_one_that_was_shipped_is_another(lab: Lab, again: str) -> None:
    lab.input["compression"] = "auto"
    path = lab.logs / "app.log.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in LINES).encode()))
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 400)
    lab.stop()
    others = LINES[:100] + [f"other {line}" for line in LINES[100:]]
    if again == "re-created":
        inode = path.stat().st_ino
        path.unlink()
        take_inode(lab, inode).rename(path)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in others).encode()))
    lab.start()
    lab.scan()
    assert lab.messages == LINES + others


def test_a_file_that_was_rewritten_between_head_and_tail_is_another(lab: Lab) -> None:
    text = "".join(f"{line}\n" for line in LINES)
    (lab.logs / "app.log").write_text(text)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 400)
    lab.stop()
    (lab.logs / "app.log").write_text(text.replace("0200 x", "0200 y"))
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 800, seconds=0.0005)  # no scan is needed
    lab.calm_down()
    assert len(lab.arrived) == 800


def test_of_two_files_that_were_restored_with_the_time_of_a_deleted_one_that_with_its_bytes_resumes(lab: Lab) -> None:
    text = "".join(f"{line}\n" for line in LINES)
    (lab.logs / "app.log").write_text(text)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 400)
    lab.stop()
    saved = (lab.logs / "app.log").rename(lab.logs.parent / "saved")
    (lab.logs / "other.log").write_text(text.replace("0200 x", "0200 y"))
    shutil.copystat(saved, lab.logs / "other.log")
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 800)
    shutil.copy2(saved, lab.logs / "web.log")
    lab.calm_down()
    lab.append("web.log", "more\n")
    lab.expect_lines("web.log", "more")
    assert lab.arrived[-1].file_id == lab.arrived[0].file_id


def test_a_closed_file_that_was_replaced_by_one_as_long_and_as_old_and_with_its_inode_is_shipped(lab: Lab) -> None:
    """A backup in which something was corrected is restored with its time by rsync -t and cp -p."""
    place(lab, "app.log", "one\ntwo\n")
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.scan()
    assert lab.inode("app.log") not in lab.opened_by_agent(), "it is closed for a minute without a line"
    status = (lab.logs / "app.log").stat()
    lab.remove("app.log")
    taken = take_inode(lab, status.st_ino)
    taken.write_text("one\nTWO\n")
    os.utime(taken, ns=(status.st_atime_ns, status.st_mtime_ns))
    taken.rename(lab.logs / "app.log")
    lab.scan()
    assert lab.messages == ["one", "two", "one", "TWO"]
    assert len(set(ids_and_offsets(lab))) == 4


def test_an_open_file_that_was_rewritten_to_its_size_with_equal_last_lines_is_another(lab: Lab) -> None:
    same = "x" * 300 + "\n"
    place(lab, "app.log", "one\n" + same)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    (lab.logs / "app.log").write_text("two\n" + same)
    lab.wait_until(lambda: len(lab.arrived) == 4)
    assert lab.messages == ["one", same[:-1], "two", same[:-1]]
    assert len(set(ids_and_offsets(lab))) == 4


def test_a_file_that_was_restored_with_its_time_is_resumed(lab: Lab) -> None:
    lab.append("app.log", "one\ntwo\n")
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.stop()
    shutil.copy2(lab.logs / "app.log", lab.logs.parent / "saved")
    lab.remove("app.log")
    shutil.copy2(lab.logs.parent / "saved", lab.logs / "app.log")
    lab.start()
    lab.scan()
    assert lab.messages == ["one", "two"]


@pytest.mark.parametrize("content", ["header\n", "header\nline\n"])
def test_many_files_that_begin_alike_are_shipped_in_proportion_to_their_number(lab: Lab, content: str) -> None:
    for number in range(200):
        (lab.logs / f"job-{number}.log").write_text("header\n" + f"{number}\n")
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 400)
    for number in range(200, 400):
        (lab.logs / f"job-{number}.log").write_text(content)
    lab.calm_down()
    assert len(lab.arrived) == 400 + 200 * len(content.splitlines())
