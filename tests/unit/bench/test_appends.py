import time
from pathlib import Path

import pytest

from bench.appends import Delays, append, stamp_of


def test_the_99th_percentile_of_a_hundred_delays_is_not_yet_the_longest() -> None:
    assert Delays.of([number / 1000 for number in range(100, 0, -1)]) == Delays(0.051, 0.099, 0.1)


def test_of_one_delay_every_figure_is_that_one() -> None:
    assert Delays.of([0.5]) == Delays(0.5, 0.5, 0.5)


def test_without_any_delay_there_are_no_figures() -> None:
    with pytest.raises(ValueError, match="no line came"):
        Delays.of([])


def test_a_record_has_the_time_at_which_its_line_was_appended(tmp_path: Path) -> None:
    before = time.time()
    append(tmp_path / "log")
    after = time.time()

    written = stamp_of(b'{"message":"' + (tmp_path / "log").read_bytes() + b'"}')

    assert written is not None
    assert before - 1e-6 <= written <= after + 1e-6  # it is rounded


def test_a_record_of_another_line_has_no_stamp() -> None:
    assert stamp_of(b'{"message":"something else"}') is None
