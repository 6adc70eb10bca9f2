"""Charts of block characters."""

import pytest

from log_shipper.shipper.top.charts import ASCII, BLOCKS, CONSOLE, Glyphs, chart_lines, joined, strip
from log_shipper.shipper.top.document import Chart, Series
from log_shipper.shipper.top.text import plain


def test_a_value_is_as_high_as_its_share_of_the_top() -> None:
    assert strip([0, 1, 50, 100, None, 25], (8, 1), 100, BLOCKS) == ["   ▁▄█ ▂"]


def test_two_rows_have_twice_the_levels() -> None:
    assert strip([100, 50, 75, 1], (4, 2), 100, BLOCKS) == ["█ ▄ ", "██" + "█▁"]


def test_without_anything_above_0_the_chart_is_empty() -> None:
    assert strip([0, None, 0], (3, 1), 0, BLOCKS) == ["   "]


@pytest.mark.parametrize("glyphs", [BLOCKS, CONSOLE, ASCII])
def test_the_top_is_the_last_glyph_and_the_least_value_the_first(glyphs: Glyphs) -> None:
    assert strip([0.001, 1], (2, 1), 1, glyphs) == [glyphs.levels[0] + glyphs.levels[-1]]


def test_of_more_values_than_columns_each_column_is_a_mean() -> None:
    assert joined([1, 3, 5, 7], 2, newest=3) == [2, 6]
    assert joined([None, 3, None, None], 2, newest=3) == [3, None]
    assert joined([1, 2], 5, newest=7) == [1, 2]
    assert joined([], 5, newest=0) == []


def test_columns_keep_their_values_while_new_ones_come() -> None:
    values: list[float | None] = [float(number * number) for number in range(40)]
    before = joined(values[:30], 10, newest=29)
    after = joined(values[1:31], 10, newest=30)
    assert set(before[1:-1]) & set(after) == set(before[1:-1])


def test_a_chart_has_its_scale_and_the_newest_values_beside_the_series() -> None:
    chart = Chart(
        "Events\x1b",
        "events/s",
        2.0,
        100.0,
        [Series("read", [None, 50.0, 100.0]), Series("acknowledged", [None, 0.0, 25.0])],
    )
    title, read, acknowledged = plain(chart_lines(chart, 40, 1, BLOCKS)).splitlines()
    assert title == f"{'Events' + chr(92) + 'x1b':21}last 6.0 s, max 100"
    assert read == f" {'read':12} {'▄█':>22} 100"
    assert acknowledged == f" {'acknowledged':12} {'▂':>22}  25"


@pytest.mark.parametrize(
    ("values", "words"), [([None, None], "no data yet"), ([None, 0.0], "0 B for the last 4.0 s"), ([], "no data yet")]
)
def test_a_chart_of_nothing_takes_one_line(values: list[float | None], words: str) -> None:
    (line,) = chart_lines(Chart("Lag", "bytes", 2.0, 0.0, [Series("behind", values)]), 40, 2, BLOCKS)
    assert plain([line]).startswith("Lag")
    assert words in plain([line])
