from collections.abc import Iterator
from pathlib import Path

import pytest

from shipper.testing import ManualClock
from tests.short_reads import LogOnDisk


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogOnDisk]:
    """A log file that is read in pieces."""
    log = LogOnDisk(tmp_path / "app.log")
    yield log
    log.close()
