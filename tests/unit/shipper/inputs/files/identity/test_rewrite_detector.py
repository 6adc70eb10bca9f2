import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.inputs.files.identity.content import Plain, look_of
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE
from log_shipper.shipper.inputs.files.identity.prefix import BLOCK, COMPARED_WHOLE, Prefix, ProofTrail
from log_shipper.shipper.inputs.files.identity.rewrite_detector import SETTLED, RewriteDetector
from log_shipper.shipper.reader.log_file import TAIL_SIZE
from tests.fakes import ManualClock

HEAD, TAIL = b"#" * HEAD_SIZE + b"\n", b"-" * TAIL_SIZE + b"\n"
SMALL, LARGE = 2 * BLOCK, 2 * COMPARED_WHOLE + BLOCK // 2
Rewrite = Callable[[Path, bytes], object]


def report(number: int, size: int = SMALL) -> bytes:
    middle = b"%d\n" % number
    return HEAD + middle + b"x" * (size - len(HEAD) - len(middle) - len(TAIL)) + TAIL


class File:
    """One that is read; its messages end with its lines."""

    def __init__(self, path: Path, content: bytes, *, proven: bool = True) -> None:
        self.path = path
        self.path.write_bytes(content)
        self.fd = os.open(path, os.O_RDONLY)
        self.clock = ManualClock()
        plain = Plain(self.fd, opened=look_of(os.fstat(self.fd)))
        self.trail = ProofTrail(Prefix() if proven else None)
        self.file = plain.reader(0, (), self.trail)
        self.detector = RewriteDetector(plain, self.clock)
        self.read()

    def read(self) -> None:
        while self.confirm() and self.file.next():
            self.trail.proof_at(self.file.line_end[0])

    def confirm(self) -> bool:
        return self.detector.confirm(self.file, self.trail)

    def confirm_until_done(self) -> int:
        """Return how many looks this takes."""
        looks = 1
        while not self.confirm():
            self.clock.advance(2 * SETTLED)
            looks += 1
        return looks

    def append(self, content: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(content)

    def is_as_seen(self) -> bool:
        return self.detector.is_as_seen(os.fstat(self.fd))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., File]]:
    made: list[File] = []

    def make(content: bytes, *, proven: bool = True) -> File:
        made.append(File(tmp_path / "app.log", content, proven=proven))
        return made[-1]

    yield make
    for file in made:
        os.close(file.fd)


Make = Callable[..., File]


def bytes_read() -> int:
    """All that this process has read so far, according to the system."""
    return int(Path("/proc/self/io").read_text().split()[1])


def truncate_and_fill(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def overwrite(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


def set_back(path: Path, content: bytes) -> None:
    before = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(0, before))


@pytest.mark.parametrize("rewrite", [truncate_and_fill, overwrite, set_back])
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_other_content_of_the_same_size_is_noticed(make: Make, rewrite: Rewrite, size: int) -> None:
    file = make(report(1, size))
    rewrite(file.path, report(2, size))
    assert not file.is_as_seen()
    with pytest.raises(Truncated):
        file.confirm_until_done()


def test_also_of_a_small_file_that_is_longer_now(make: Make) -> None:
    file = make(report(1))
    file.path.write_bytes(report(2) + TAIL)
    with pytest.raises(Truncated):
        file.confirm()


@pytest.mark.parametrize("changed", [10, LARGE - BLOCK // 4])
def test_of_a_large_one_the_head_and_the_last_block_are_compared(make: Make, changed: int) -> None:
    content = report(1, LARGE)
    file = make(content)
    file.path.write_bytes(content[:changed] + b"?" + content[changed + 1 :] + TAIL)
    with pytest.raises(Truncated):
        file.read()  # which compares the head


def test_what_lies_between_them_is_not(make: Make) -> None:
    """The kernel shows nothing that distinguishes it from an append (rewrite_detector.py)."""
    file = make(report(1, LARGE))
    file.path.write_bytes(report(2, LARGE) + TAIL)
    assert file.confirm()


def test_the_unfinished_end_is_compared_too(make: Make) -> None:
    content = report(1, LARGE)
    file = make(content + b"unfinished" + b"-" * TAIL_SIZE)
    file.path.write_bytes(content + b"UNFINISHED" + b"-" * TAIL_SIZE + b"\n")
    with pytest.raises(Truncated):
        file.confirm()


@pytest.mark.parametrize("size", [SMALL, LARGE, 64 * LARGE])
def test_an_append_does_not_read_what_was_read_before(make: Make, size: int) -> None:
    file = make(report(1, size))
    before = bytes_read()
    for _ in range(10):
        file.append(b"one more\n")
        assert file.confirm()
        file.read()
    assert bytes_read() - before < 10 * (COMPARED_WHOLE + 2 * BLOCK)
    assert file.is_as_seen()


def test_a_time_that_has_moved_without_the_size_is_looked_at_again_first(make: Make) -> None:
    """A write changes the time first."""
    file = make(report(1, LARGE))
    os.utime(file.path)
    before = bytes_read()
    assert not file.confirm()
    file.append(b"one more\n")
    assert file.confirm()
    assert bytes_read() - before < COMPARED_WHOLE


def test_one_that_was_touched_is_read_once_more(make: Make) -> None:
    file = make(report(1, LARGE))
    os.utime(file.path)
    before = bytes_read()
    assert file.confirm_until_done() > 1
    assert bytes_read() - before >= LARGE
    assert file.is_as_seen()
    assert file.confirm_until_done() == 1


def test_in_one_step_only_some_of_it_is_read(make: Make) -> None:
    """Other files wait for the same thread."""
    file = make(report(1, 2**20))
    os.utime(file.path)
    assert not file.confirm()
    file.clock.advance(2 * SETTLED)
    steps = 1
    while not file.confirm():
        steps += 1
    assert steps >= 4


def test_what_was_written_while_it_is_read_once_more_is_noticed_by_the_next_look(make: Make) -> None:
    file = make(report(1, 2**20))
    os.utime(file.path)
    assert not file.confirm()
    file.clock.advance(2 * SETTLED)
    assert not file.confirm()
    file.path.write_bytes(report(1, 2**20))
    assert file.confirm_until_done() > 1
    assert not file.is_as_seen()
    file.path.write_bytes(report(2, 2**20))
    with pytest.raises(Truncated):
        file.confirm_until_done()


def test_a_rename_is_no_reason_to_read_it(make: Make) -> None:
    """Each rotation renames all generations."""
    file = make(report(1, LARGE))
    file.path = file.path.rename(file.path.with_name("app.log.1"))
    before = bytes_read()
    assert file.is_as_seen()
    assert file.confirm()
    file.path.unlink()
    assert file.is_as_seen()
    assert bytes_read() - before < BLOCK


def test_one_that_was_renamed_and_rewritten_is_noticed(make: Make) -> None:
    file = make(report(1))
    file.path = file.path.rename(file.path.with_name("app.log.1"))
    file.path.write_bytes(report(2))
    with pytest.raises(Truncated):
        file.confirm_until_done()


def test_one_that_was_cut_behind_what_was_read_is_proven(make: Make) -> None:
    """It may have been emptied, and not be full again."""
    file = make(b"")
    file.append(report(1) + TAIL)
    assert file.confirm()
    assert len(file.file.next()) < SMALL
    file.path.write_bytes(report(2))
    with pytest.raises(Truncated):
        file.confirm()


def test_one_that_is_shorter_than_what_was_read_is_truncated(make: Make) -> None:
    file = make(report(1))
    os.truncate(file.path, 10)
    with pytest.raises(Truncated):
        file.confirm()


def test_of_a_preallocated_file_the_times_move_without_the_size(make: Make) -> None:
    file = make(report(1, LARGE) + bytes(4096))
    before = bytes_read()
    with file.path.open("r+b") as writer:
        writer.seek(LARGE)
        writer.write(b"one more\n")
    assert file.confirm()
    assert bytes_read() - before < COMPARED_WHOLE
    file.read()
    assert file.file.offset == LARGE + len(b"one more\n")


def test_without_a_proof_nothing_can_be_compared(make: Make) -> None:
    file = make(report(1), proven=False)
    os.utime(file.path)
    assert file.confirm_until_done() > 1
    assert file.is_as_seen()


def test_of_a_file_of_which_nothing_was_read_nothing_need_be_proven(make: Make) -> None:
    file = make(b"")
    os.utime(file.path)
    assert file.confirm()
