from pathlib import Path

from demo.checkpoint import committed_offsets


def batch(checkpoint: Path, number: int, offsets: str, committed: bool) -> None:
    """As Spark leaves it."""
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    (checkpoint / "offsets" / str(number)).write_text(f'v1\n{{"batchTimestampMs":0}}\n{offsets}')
    if committed:
        (checkpoint / "commits" / str(number)).write_text("v1\n{}")


def test_nothing_has_landed_before_there_is_a_checkpoint(tmp_path: Path) -> None:
    assert committed_offsets(tmp_path, "logs") == {}


def test_a_batch_that_is_not_committed_has_not_landed(tmp_path: Path) -> None:
    batch(tmp_path, 9, '{"logs":{"0":5,"1":7}}', committed=True)
    batch(tmp_path, 10, '{"logs":{"0":50,"1":70}}', committed=False)
    assert committed_offsets(tmp_path, "logs") == {0: 5, 1: 7}


def test_batches_are_ordered_as_numbers_and_files_of_other_names_are_passed_over(tmp_path: Path) -> None:
    batch(tmp_path, 9, '{"logs":{"0":5}}', committed=True)
    batch(tmp_path, 10, '{"logs":{"0":6}}', committed=True)
    (tmp_path / "commits" / ".11.tmp").touch()
    assert committed_offsets(tmp_path, "logs") == {0: 6}


def test_another_topic_has_landed_nothing(tmp_path: Path) -> None:
    batch(tmp_path, 0, '{"logs":{"0":5}}', committed=True)
    assert committed_offsets(tmp_path, "other") == {}
