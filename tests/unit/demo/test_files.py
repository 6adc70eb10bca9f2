from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.files import FileOnDisk, LogFiles
from log_shipper.registry.state import FileState


@pytest.fixture
def files(tmp_path: Path) -> Iterator[LogFiles]:
    log_files = LogFiles([tmp_path / "app.log*"])
    yield log_files
    log_files.close()


def only(files: LogFiles) -> FileOnDisk:
    [file] = files.by_key.values()
    return file


def state(file: Path, position: int, size_seen: int) -> FileState:
    status = file.stat()
    return FileState("id", str(file), status.st_dev, status.st_ino, position=position, size_seen=size_seen)


def test_a_renamed_file_is_the_same_file_under_its_new_name(files: LogFiles, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("one\n")
    files.scan()
    (tmp_path / "app.log").rename(tmp_path / "app.log.1")
    files.scan()
    assert only(files).path == tmp_path / "app.log.1"


def test_a_new_file_at_the_old_name_is_another_one(files: LogFiles, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("one\n")
    files.scan()
    (tmp_path / "app.log").rename(tmp_path / "app.log.1")
    (tmp_path / "app.log").write_text("two\n")
    files.scan()
    assert sorted(file.path.name for file in files.by_key.values()) == ["app.log", "app.log.1"]


def test_a_deleted_file_is_still_counted(files: LogFiles, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("one\ntwo\n")
    files.scan()
    (tmp_path / "app.log").unlink()
    files.scan()
    assert files.counts({}).written == 2


def test_lines_are_counted_up_to_the_positions_in_the_registry(files: LogFiles, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("one\ntwo\nthree\n")
    files.scan()
    counts = files.counts({"id": state(tmp_path / "app.log", position=4, size_seen=8)})
    assert (counts.written, counts.read, counts.acknowledged) == (3, 2, 1)


def test_empty_lines_are_not_counted_because_they_are_not_shipped(files: LogFiles, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("\none\n\n\ntwo\n")
    files.scan()
    for position, acknowledged in ((5, 1), (7, 1), (11, 2)):
        assert files.counts({"id": state(tmp_path / "app.log", position, 7)}).acknowledged == acknowledged
    assert files.counts({}).written == 2


def test_counting_resumes_where_it_ended(files: LogFiles, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("one\ntw")
    files.scan()
    assert files.counts({}).written == 1
    with log.open("a") as more:
        more.write("o\nthree\n")
    assert files.counts({}).written == 3


@pytest.mark.parametrize(
    ("content", "size"),
    [("one\ntwo", 4), ("one\ntwo\n", 8), ("half", 0), ("", 0), ("one\n" + "x" * 3_000_000, 4)],
    ids=["half a line at the end", "whole", "half a line alone", "empty", "a long half line"],
)
def test_whole_lines_end_behind_the_last_line_end(files: LogFiles, tmp_path: Path, content: str, size: int) -> None:
    (tmp_path / "app.log").write_text(content)
    files.scan()
    assert only(files).whole_lines() == size
    assert only(files).head(size) == content[:size].encode()
