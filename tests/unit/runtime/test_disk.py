import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from log_shipper.runtime.disk import DiskFile, open_plain, write_all
from tests.descriptors import open_below


class NearlyFull(DiskFile):
    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: bytes) -> int:
        self.taken += data[:3]
        return min(3, len(data))


def test_a_file_that_takes_a_part_at_a_time_gets_it_all() -> None:
    file = NearlyFull()
    write_all(file, b"0123456789")
    assert file.taken == b"0123456789"


@contextmanager
def failing_chown() -> Iterator[None]:
    """Let the process be root's, and the file system fail when a file gets another owner, until the end of the
    block."""

    def fail(*args: Any, **options: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    chown, geteuid = os.chown, os.geteuid
    os.chown, os.geteuid = fail, lambda: 0
    try:
        yield
    finally:
        os.chown, os.geteuid = chown, geteuid


def test_a_file_that_cannot_be_given_to_its_owner_does_not_stay_open(tmp_path: Path) -> None:
    with failing_chown(), pytest.raises(OSError, match="Input/output error"):
        open_plain(tmp_path / "new", os.O_WRONLY | os.O_CREAT, 0o600)
    assert open_below(tmp_path) == []
