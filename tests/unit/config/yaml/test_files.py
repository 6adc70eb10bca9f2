import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.files import MAX_BYTES, check_permissions, permission_faults, read_bytes


def refused(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_bytes(file)
    return str(caught.value)


def a_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(file))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a named pipe (FIFO)"),
        (os.mkdir, "a directory"),
        (a_socket, "a socket"),
        (lambda file: os.symlink("/dev/zero", file), "a device"),
    ],
)
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, make: Callable[[Path], None], kind: str) -> None:
    file = tmp_path / "a.yml"
    make(file)
    assert refused(file) == f"{file}: cannot be read: it is {kind}; use a regular file"


def test_a_link_to_a_regular_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.yml").write_bytes(b"a: 1\n")
    (tmp_path / "a.yml").symlink_to("real.yml")
    assert read_bytes(tmp_path / "a.yml") == b"a: 1\n"


def test_a_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_bytes(b" " * MAX_BYTES)
    assert len(read_bytes(file)) == MAX_BYTES
    os.truncate(file, 2**40)  # a hole: it takes no room on the disk
    assert refused(file) == f"{file}: cannot be read: it is larger than 4 MiB; split it, or correct the path to it"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.yml") == f"{tmp_path}/no.yml: cannot be read: No such file or directory"


def test_a_path_with_a_nul_is_refused_like_one_that_does_not_exist(tmp_path: Path) -> None:
    assert refused(tmp_path / "a\0b").endswith("cannot be read: its path contains a NUL character")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "shipper.yml"
    file.write_text("name: x\n")
    file.chmod(0o644)
    return file


def test_a_file_that_only_its_owner_may_write_is_fine(file: Path) -> None:
    check_permissions(file)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        check_permissions(file)
    expected = (
        f"{file}: is writable by other users (mode {mode:04o}); run: chmod go-w {file}, or set --strict.perms=false"
    )
    assert str(caught.value) == expected


def test_a_file_of_another_user_is_refused(file: Path) -> None:
    assert permission_faults(file, 0o600, owner=7, user=8) == [
        "belongs to user 7, not to root or user 8; run chown, or set --strict.perms=false"
    ]


@pytest.mark.parametrize("owner", [0, 8])
def test_a_file_of_root_or_of_this_user_is_fine(file: Path, owner: int) -> None:
    assert permission_faults(file, 0o600, owner, user=8) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_given_away_is_refused(file: Path) -> None:
    os.chown(file, 12345, -1)
    with pytest.raises(ConfigError, match="belongs to user 12345, not to root or user 0"):
        check_permissions(file)


def test_a_file_that_is_not_there_has_no_permissions(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        check_permissions(tmp_path / "no.yml")
    assert str(caught.value) == f"{tmp_path}/no.yml: cannot be read: No such file or directory"


def test_a_directory_that_others_may_write_is_no_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(ConfigError) as caught:
        check_permissions(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: it is a directory; use a regular file"
