"""What is seen only from within: the moments between two calls. The rest is in output/test_file_followed.py."""

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

from log_shipper.shipper.append_file import AppendFile


def no_locks(fd: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def refuse(fd: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_what_was_truncated_just_before_it_was_appended_to_is_seen_at_the_next_look(tmp_path: Path) -> None:
    with closing(AppendFile(tmp_path / "out")) as file:
        file.append(b"not acknowledged\n")
        os.truncate(tmp_path / "out", 0)
        file.append(b"next\n")
        file.sync()
        assert not file.holds_all()
        file.recover()
        assert file.holds_all()
    assert (tmp_path / "out").read_bytes() == b"next\n"


def test_another_file_at_the_path_is_another_file_however_long_it_is(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"longer than what was appended\n")
    with closing(AppendFile(tmp_path / "out")) as file:
        file.append(b"one\n")
        os.rename(tmp_path / "other", tmp_path / "out")
        assert not file.holds_all()
        file.recover()
        file.append(b"one\n")
        assert file.holds_all()
    assert (tmp_path / "out").read_bytes() == b"longer than what was appended\none\n"


@pytest.mark.parametrize("with_locks", [True, False])
def test_what_could_not_be_synced_is_truncated_only_if_no_one_else_can_have_written(
    tmp_path: Path, with_locks: bool
) -> None:
    path = tmp_path / "out"
    with closing(AppendFile(path, refuse) if with_locks else AppendFile(path, refuse, no_locks)) as file:
        file.append(b"one\n")
        with pytest.raises(OSError, match="Input/output error"):
            file.sync()
        assert not file.holds_all()
        file.recover()
        assert file.holds_all()
    assert path.read_bytes() == (b"" if with_locks else b"one\n")


def test_a_directory_is_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out"
    with pytest.raises(FileNotFoundError):
        AppendFile(path)
    AppendFile(path, with_directory=True).close()
    assert path.read_bytes() == b""
