import os
from pathlib import Path

from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE, fingerprint


def test_a_fingerprint_covers_what_there_is_of_the_head(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(b"ab")
    fd = os.open(path, os.O_RDONLY)
    assert fingerprint(fd)[0] == 2
    path.write_bytes(b"x" * 5000)
    assert fingerprint(fd)[0] == HEAD_SIZE
    os.close(fd)
