from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.checkpoint import Checkpoint


def test_a_file_that_a_power_cut_left_empty_is_named_with_the_ways_out(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "3").touch()
    checkpoint = Checkpoint(str(tmp_path))
    assert checkpoint.last_planned() == 3
    with pytest.raises(
        SinkError, match=rf"{tmp_path}: its file offsets/3 is damaged.*from a backup.*a new one resumes"
    ):
        checkpoint.ends(3)
