from pathlib import Path

import pytest

from tests.unit.spark_sink.search.search_lab import Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "logs")
