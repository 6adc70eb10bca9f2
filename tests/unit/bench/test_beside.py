from pathlib import Path

from bench.beside import write_big


def test_a_big_file_has_its_number_of_lines_and_about_the_requested_size(tmp_path: Path) -> None:
    big = write_big(tmp_path / "big", 5_000_000)

    assert big.lines == (tmp_path / "big").read_bytes().count(b"\n")
    assert 3_000_000 < (tmp_path / "big").stat().st_size <= 5_000_000
