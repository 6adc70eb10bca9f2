import os
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE, fingerprint, tail_hash
from tests.failing_disk import PAGE, FailingDisk


def test_a_fingerprint_covers_what_there_is_of_the_head(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"ab")
    fd = os.open(path, os.O_RDONLY)
    assert fingerprint(fd)[0] == 2
    path.write_bytes(b"x" * 5000)
    assert fingerprint(fd)[0] == HEAD_SIZE
    os.close(fd)


def test_bytes_that_cannot_be_read_are_no_other_bytes(tmp_path: Path, disk: FailingDisk) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"x" * 2 * PAGE)
    fd = os.open(path, os.O_RDONLY)
    disk.damage(path, page=1)
    for read in (lambda: fingerprint(fd, 2 * PAGE), lambda: tail_hash(fd, PAGE + 100)):
        with pytest.raises(OSError, match="Input/output error"):
            read()
    os.close(fd)
