from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.spark_sink.landing.landing_lab import LandingLab


@pytest.fixture
def make_lab(tmp_path: Path) -> Callable[..., LandingLab]:
    def make(**changes: Any) -> LandingLab:
        return LandingLab(tmp_path, **changes)

    return make


@pytest.fixture
def lab(make_lab: Callable[..., LandingLab]) -> LandingLab:
    return make_lab()
