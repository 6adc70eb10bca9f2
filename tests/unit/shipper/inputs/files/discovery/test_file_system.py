import os
import shutil
import subprocess
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.discovery.file_system import file_system_of

# No limit lets a descriptor have this number. That of one that was closed may be another file's by now.
NEVER_OPEN = 2**31 - 1


@pytest.mark.parametrize("place", ["here", "/proc/self/stat", "/dev/null"])
def test_the_type_is_that_which_stat_prints(tmp_path: Path, place: str) -> None:
    if shutil.which("stat") is None:
        pytest.skip("there is no stat to compare with")
    path = tmp_path / "app.log" if place == "here" else Path(place)
    fd = os.open(path, os.O_RDONLY | os.O_CREAT)
    try:
        printed = subprocess.run(["stat", "-f", "-c", "%t", path], check=True, capture_output=True, text=True)
        assert file_system_of(fd) == int(printed.stdout, 16) > 0
    finally:
        os.close(fd)


def test_what_is_not_open_has_none() -> None:
    assert file_system_of(NEVER_OPEN) == 0
