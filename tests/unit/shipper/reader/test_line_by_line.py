import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipper.event import TRUNCATED
from shipper.reader.line import LineReader
from shipper.reader.line_by_line import LineByLineReader
from shipper.reader.log_file import LogFile


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[LogFile, int]]:
    """One file, and the descriptor of another in which it may go on."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"a\nb\n")
    second.write_bytes("\ufeffc\n".encode() + b"d" * 99 + b"\ne\nf")
    fds = [os.open(path, os.O_RDONLY) for path in (first, second)]
    yield LogFile(fds[0], 0), fds[1]
    for fd in fds:
        os.close(fd)


def test_a_files_own_lines_pass_as_they_are(files: tuple[LogFile, int]) -> None:
    file, _ = files
    reader = LineByLineReader(LineReader(file, 50), file)
    run = reader.next()
    assert run is not None
    assert run.texts == ["a", "b"]


def test_where_it_goes_on_each_line_is_a_run_and_the_runs_join(files: tuple[LogFile, int]) -> None:
    file, following = files
    reader = LineByLineReader(LineReader(file, 50), file)
    reader.next()
    file.go_on_in(following)
    runs = list(iter(reader.next, None))
    assert [(run.start, run.end, len(run.texts)) for run in runs] == [(4, 9, 1), (9, 109, 1), (109, 111, 1)]
    assert [run.texts[0][:1] for run in runs] == ["c", "d", "e"]
    assert [run.flags for run in runs] == [{}, {0: (TRUNCATED,)}, {}]
