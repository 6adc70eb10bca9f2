"""An agent that ships to a file, for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.files.local import LocalAgent


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LocalAgent]:
    agent = LocalAgent(tmp_path)
    agent.configure([f"{agent.logs}/*.log*"])
    yield agent
    agent.end()
