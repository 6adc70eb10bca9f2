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


@pytest.mark.parametrize(
    "offsets", ["[1]", "3", "null", '{"logs": [1]}', '{"logs": {"0": null}}', '{"logs": {"a": 1}}']
)
def test_a_file_of_offsets_with_other_json_is_damaged(tmp_path: Path, offsets: str) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "3").write_text(f"v1\n{{}}\n{offsets}")
    with pytest.raises(SinkError, match="its file offsets/3 is damaged"):
        Checkpoint(str(tmp_path)).ends(3)


@pytest.mark.parametrize("metadata", ["[]", "3", "null", "{}", '"id"'])
def test_a_file_of_metadata_with_other_json_is_damaged(tmp_path: Path, metadata: str) -> None:
    (tmp_path / "metadata").write_text(metadata)
    with pytest.raises(SinkError, match="its file metadata is damaged"):
        Checkpoint(str(tmp_path)).query_id()
