import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from config.yaml.errors import ConfigError
from config.yaml.regular_file import MAX_BYTES, read_bytes


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
    assert refused(file) == f"{file}: cannot be read: it is {kind}; a configuration must be a regular file"


def test_a_link_to_a_regular_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.yml").write_bytes(b"a: 1\n")
    (tmp_path / "a.yml").symlink_to("real.yml")
    assert read_bytes(tmp_path / "a.yml") == b"a: 1\n"


def test_a_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_bytes(b" " * MAX_BYTES)
    assert len(read_bytes(file)) == MAX_BYTES
    os.truncate(file, 2**40)  # a hole: it takes no room on the disk
    assert refused(file) == f"{file}: is larger than 4 MiB; split it, or correct the path that names it"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.yml") == f"{tmp_path}/no.yml: cannot be read: No such file or directory"
