"""A few kills of script/kills."""

from pathlib import Path

import pytest

from tests.e2e import kills


@pytest.mark.kafka
@pytest.mark.slow("a minute, and random; test_shipper_exactly_once.py kills the shipper in the gate")
def test_each_line_is_committed_once_though_shipper_and_broker_are_killed_at_random(tmp_path: Path, seed: int) -> None:
    kills.run(tmp_path, 8, seed, broker_share=0.2, report=lambda text: None)
