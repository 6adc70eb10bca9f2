from glob import glob
from pathlib import Path

from bench.crowd import pattern, write_files


def test_the_files_lie_a_hundred_to_a_directory_and_the_pattern_finds_all_of_them(tmp_path: Path) -> None:
    paths = write_files(tmp_path, 250, 2)

    assert sorted(glob(str(pattern(tmp_path)))) == sorted(map(str, paths))
    assert [len(list(directory.iterdir())) for directory in sorted(tmp_path.iterdir())] == [100, 100, 50]


def test_no_two_lines_of_all_files_are_equal(tmp_path: Path) -> None:
    lines = [line for path in write_files(tmp_path, 3, 20) for line in path.read_text().splitlines()]

    assert len(set(lines)) == len(lines) == 60
