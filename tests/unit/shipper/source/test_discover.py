import os
from pathlib import Path

from shipper.source.discover import scan


def test_files_are_found_with_size_and_identity(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("12345")
    (found,) = scan([f"{tmp_path}/*.log"]).files.values()
    status = (tmp_path / "a.log").stat()
    assert (found.path, found.size, found.modified) == (str(tmp_path / "a.log"), 5, status.st_mtime)
    assert found.key == (status.st_dev, status.st_ino)


def test_links_to_one_file_count_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x")
    os.link(tmp_path / "a.log", tmp_path / "b.log")
    (tmp_path / "c.log").symlink_to("a.log")
    assert [found.path for found in scan([f"{tmp_path}/*.log"]).files.values()] == [str(tmp_path / "a.log")]


def test_a_file_that_two_patterns_name_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x")
    assert len(scan([f"{tmp_path}/*.log", f"{tmp_path}/a*"]).files) == 1


def test_only_regular_files_count(tmp_path: Path) -> None:
    (tmp_path / "dir.log").mkdir()
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "dangling.log").symlink_to("nowhere")
    assert not scan([f"{tmp_path}/*.log"]).files


def test_two_stars_reach_every_depth_and_hidden_files_count(tmp_path: Path) -> None:
    (tmp_path / "x" / ".y").mkdir(parents=True)
    (tmp_path / "x" / ".y" / ".hidden.log").write_text("x")
    assert [found.path for found in scan([f"{tmp_path}/**/*.log"]).files.values()] == [f"{tmp_path}/x/.y/.hidden.log"]


def test_a_pattern_without_a_file_is_a_problem_in_words(tmp_path: Path) -> None:
    assert scan([f"{tmp_path}/*.log"]).problems == {f"{tmp_path}/*.log": "no file matches it"}


def test_directories_are_those_of_the_files_and_the_fixed_one_of_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "app" / "logs").mkdir(parents=True)
    (tmp_path / "app" / "logs" / "a.log").write_text("x")
    assert scan([f"{tmp_path}/*/logs/*.log"]).directories == {str(tmp_path), str(tmp_path / "app" / "logs")}
    assert scan(["no-such.log"]).directories == {"."}
