"""Three rounds of script/chaos, and how it distinguishes a right table from a wrong one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e import chaos
from tests.e2e.chaos_truth import Row, differences

LINES = [(0, 4, "one"), (5, 4, "two"), (9, 6, "three")]
FILES = {"7": ("app.log", LINES)}
ROWS = [Row("7", "id", *line, partition=0, kafka_offset=number) for number, line in enumerate(LINES)]


@pytest.mark.kafka
@pytest.mark.slow("minutes, and random; test_whole_way.py and test_sink.py kill the same programs in the gate")
def test_each_line_lands_once_though_shipper_broker_and_sink_are_killed_at_random(tmp_path: Path, seed: int) -> None:
    assert chaos.run(tmp_path, 3, seed) > 0


def test_a_table_with_the_lines_of_the_files_is_right() -> None:
    assert differences(FILES, reversed(ROWS)) == []


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (ROWS[1:], "app.log: 1 lines missing: offset 0, 4 bytes, 'one'"),
        ([*ROWS, replace(ROWS[1], kafka_offset=9)], "app.log: 1 lines too many: offset 5, 4 bytes, 'two' 0/1 0/9"),
        ([*ROWS, replace(ROWS[0], inode="8")], "inode 8, which is not a file: 1 lines too many: offset 0"),
        ([*ROWS[1:], replace(ROWS[0], length=5)], "app.log: 1 lines too many: offset 0, 5 bytes, 'one' 0/0"),
        ([*ROWS[1:], replace(ROWS[0], message="öne")], "app.log: 1 lines missing: offset 0, 4 bytes, 'one'"),
        ([*ROWS[1:], replace(ROWS[0], file_id="other")], "app.log: has 2 file ids: id, other"),
    ],
    ids=["missing", "twice", "of another file", "another length", "another text", "another life"],
)
def test_what_differs_is_reported_with_file_and_offset(rows: list[Row], problem: str) -> None:
    assert any(text.startswith(problem) for text in differences(FILES, rows)), differences(FILES, rows)
