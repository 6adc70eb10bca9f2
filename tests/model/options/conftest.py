"""A Lab with the options of a user, for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model.user_lab import UserLab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[UserLab]:
    lab = UserLab(tmp_path)
    yield lab
    lab.close()
