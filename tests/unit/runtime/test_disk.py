import errno
import os
from pathlib import Path
from typing import Any

import pytest

from log_shipper.runtime.disk import DiskFile, open_plain, write_all
from tests.descriptors import descriptors_before, open_descriptors


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


def test_a_file_that_cannot_be_given_to_its_owner_does_not_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", fail)
    before = descriptors_before()
    with pytest.raises(OSError, match="Input/output error"):
        open_plain(tmp_path / "new", os.O_WRONLY | os.O_CREAT, 0o600)
    assert open_descriptors() <= before
