import time
from itertools import islice
from pathlib import Path

import pytest

from bench.appends import Appended, Delays, append, at_rate, stamp_of, write_lines


def test_the_99th_percentile_of_a_hundred_delays_is_not_yet_the_longest() -> None:
    assert Delays.of([number / 1000 for number in range(100, 0, -1)]) == Delays(0.051, 0.099, 0.1)


def test_of_one_delay_every_figure_is_that_one() -> None:
    assert Delays.of([0.5]) == Delays(0.5, 0.5, 0.5)


def test_without_any_delay_there_are_no_figures() -> None:
    with pytest.raises(ValueError, match="no line arrived"):
        Delays.of([])


def test_the_cost_of_lines_is_that_from_the_first_write_until_all_have_come() -> None:
    lines = [(10.0, 10.5), (14.0, 15.0), (12.0, 15.0)]  # one partition's records may come before another's
    assert Appended.of(lines, 0.5, 40.0) == Appended(
        Delays(1.0, 3.0, 3.0), last=1.0, core=0.1, cpu_us=0.5 / 3 * 1e6, memory_mb=40.0
    )


def test_lines_are_written_at_an_even_rate() -> None:
    began = time.monotonic()
    moments = [time.monotonic() - began for _ in islice(at_rate(500), 26)]
    assert all(moment > number / 500 - 0.001 for number, moment in enumerate(moments))


def test_lines_are_written_to_the_files_in_turn(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    write_lines(paths, 1e6, 7)
    written = [[stamp_of(line) for line in path.read_bytes().splitlines()] for path in paths]
    assert [len(stamps) for stamps in written] == [3, 2, 2]
    assert None not in written[0] + written[1] + written[2]


def test_a_record_has_the_time_at_which_its_line_was_appended(tmp_path: Path) -> None:
    before = time.time()
    append(tmp_path / "log")
    after = time.time()

    written = stamp_of(b'{"message":"' + (tmp_path / "log").read_bytes() + b'"}')

    assert written is not None
    assert before - 1e-6 <= written <= after + 1e-6  # it is rounded


def test_a_record_of_another_line_has_no_stamp() -> None:
    assert stamp_of(b'{"message":"something else"}') is None
