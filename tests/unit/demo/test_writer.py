import random
from datetime import UTC, datetime
from pathlib import Path

from demo.writer import LogWriter, line, rotate

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_rotation_gives_each_file_the_next_number(tmp_path: Path) -> None:
    for name in ("app.log", "app.log.1", "app.log.10"):
        (tmp_path / name).write_text(name)
    rotate(tmp_path / "app.log")
    assert {path.name: text(path) for path in tmp_path.iterdir()} == {
        "app.log.1": "app.log",
        "app.log.2": "app.log.1",
        "app.log.11": "app.log.10",
    }


def test_lines_are_many_different_ones_of_about_130_bytes() -> None:
    dice = random.Random(1)
    lines = [line(number, NOW, dice) for number in range(1, 2000)]
    assert 110 < sum(len(line.encode()) for line in lines) / len(lines) < 150
    assert len(set(lines) - {"\n"}) == len(lines) - lines.count("\n")
    assert lines.count("\n") == 2
    assert any(line.endswith("\r\n") for line in lines)
    assert all(line.endswith("\n") for line in lines)


def test_the_writer_keeps_up_with_the_clock(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "app.log", rate=100, dice=random.Random(1))
    writer.write(elapsed=0.5)
    writer.write(elapsed=0.6)
    writer.close()
    assert text(tmp_path / "app.log").count("\n") == 60


def test_a_line_is_in_the_file_at_once_where_that_is_wanted(tmp_path: Path) -> None:
    for flush, lines in ((False, 0), (True, 2)):
        path = tmp_path / str(flush)
        writer = LogWriter(path, rate=20, dice=random.Random(1), flush=flush)
        writer.write(elapsed=0.1)
        assert text(path).count("\n") == lines
        writer.close()


def test_after_a_rename_lines_go_to_the_old_file_until_it_opens_the_new_one(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "app.log", rate=100, dice=random.Random(1))
    writer.write(elapsed=0.1)
    writer.rename()
    writer.write(elapsed=0.2)
    writer.reopen()
    writer.write(elapsed=0.3)
    writer.close()
    assert text(tmp_path / "app.log.1").count("\n") == 20
    assert text(tmp_path / "app.log").count("\n") == 10
