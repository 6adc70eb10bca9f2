import os
import shutil
import subprocess
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.identity.birth import birth_time

TRIES = 20
# No limit lets a descriptor have this number. That of one that was closed may be another file's by now.
NEVER_OPEN = 2**31 - 1


def birth_of(path: Path) -> int:
    fd = os.open(path, os.O_RDONLY)
    try:
        return birth_time(fd)
    finally:
        os.close(fd)


def printed(path: Path) -> int:
    """Return the birth by coreutils, in whole seconds; 0 where the file system has none."""
    if shutil.which("stat") is None:
        pytest.skip("there is no stat to compare with")
    done = subprocess.run(["stat", "-c", "%W", path], check=True, capture_output=True, text=True)
    return int(done.stdout.replace("-", "0"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file on a file system that has birth times."""
    path = tmp_path / "app.log"
    path.touch()
    if printed(path) == 0:
        pytest.skip("this file system has no birth times")
    return path


def test_a_file_is_born_when_it_was_made_to_the_second_that_stat_prints(path: Path) -> None:
    assert birth_of(path) // 10**9 == printed(path)


def let_time_pass(path: Path) -> None:
    """Until what is made now is younger; file systems count in ticks of some milliseconds."""
    birth, probe = birth_of(path), path.with_name("probe")
    probe.touch()
    while probe.stat().st_mtime_ns <= birth:
        probe.touch()


def test_it_is_born_once_whatever_is_done_to_it(path: Path) -> None:
    birth = birth_of(path)
    let_time_pass(path)
    path.write_text("more\n")
    os.utime(path, (1, 1))
    assert birth_of(path.rename(path.with_name("app.log.1"))) == birth


def test_another_file_at_the_same_inode_has_another_birth(path: Path) -> None:
    inode, birth = path.stat().st_ino, birth_of(path)
    let_time_pass(path)
    path.unlink()
    for number in range(TRIES):  # all of them stay, so each takes another inode
        other = path.with_name(f"{number}.log")
        other.touch()
        if other.stat().st_ino == inode:
            assert birth_of(other) > birth
            return
    pytest.skip(f"of {TRIES} new files none got the inode of the one that was deleted")


def test_what_is_not_a_file_has_no_birth() -> None:
    assert birth_time(NEVER_OPEN) == 0


def test_nor_has_a_file_on_a_file_system_without_births() -> None:
    """A pipe was never made on any."""
    read, write = os.pipe()
    try:
        assert birth_time(read) == 0
    finally:
        os.close(read)
        os.close(write)
