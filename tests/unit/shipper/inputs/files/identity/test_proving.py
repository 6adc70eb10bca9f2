import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Disproved
from log_shipper.shipper.inputs.files.identity.content import Content, Plain, Zipped
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE
from log_shipper.shipper.inputs.files.identity.prefix import BLOCK, ReadBytes
from log_shipper.shipper.inputs.files.identity.proving import Proving, SecondReading, must_be_proven
from log_shipper.shipper.reader.log_file import FIRST_READ
from tests.failing_disk import PAGE, FailingDisk
from tests.reading_room import entry_of, proof_of

LINES = b"".join(b"line %06d\n" % number for number in range(20_000))  # 240 KB
POSITION = 120_000  # the end of a line
REST = b"one more\n"


class File:
    """One that is open, and may be written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()
        self.fd = os.open(path, os.O_RDONLY)

    def write(self, content: bytes) -> None:
        self.path.write_bytes(content)

    def plain(self, content: bytes) -> Content:
        self.write(content)
        return Plain(self.fd)

    def zipped(self, content: bytes) -> Content:
        self.write(gzip.compress(content))
        return Zipped(self.fd)

    def holding(self, content: bytes, *, compressed: bool) -> Content:
        return self.zipped(content) if compressed else self.plain(content)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    file = File(tmp_path / "app.log")
    yield file
    os.close(file.fd)


def shipped(content: bytes, *, cuts: tuple[int, ...] = ()) -> FileState:
    """Return the entry of a file of which all this was shipped."""
    return FileState("known", "/l/app.log", 1, 2, position=len(content), proof=proof_of(content), cuts=cuts)


def steps_to_prove(proving: Proving) -> int:
    steps = 1
    while not proving.step():
        steps += 1
    return steps


def with_another_byte(content: bytes, offset: int) -> bytes:
    return content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("position", [1, 12, BLOCK - 1, BLOCK, 3 * BLOCK, POSITION, len(LINES)])
def test_equal_bytes_are_proven_wherever_the_position_is(file: File, position: int, compressed: bool) -> None:
    assert steps_to_prove(Proving(file.holding(LINES, compressed=compressed), shipped(LINES[:position]))) >= 1


@pytest.mark.parametrize("compressed", [False, True])
def test_in_one_step_only_some_of_them_are_read(file: File, compressed: bool) -> None:
    """Other files wait for the same thread."""
    proving = Proving(file.holding(LINES, compressed=compressed), shipped(LINES))
    assert not proving.step()
    assert proving.file.offset == FIRST_READ
    assert steps_to_prove(proving) > 1


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("offset", [0, HEAD_SIZE - 1, HEAD_SIZE, 5 * BLOCK, POSITION - 300, POSITION - 1])
def test_one_other_byte_anywhere_before_the_position_disproves(file: File, offset: int, compressed: bool) -> None:
    content = file.holding(with_another_byte(LINES, offset), compressed=compressed)
    with pytest.raises(Disproved):
        steps_to_prove(Proving(content, shipped(LINES[:POSITION])))


@pytest.mark.parametrize("compressed", [False, True])
def test_what_lies_behind_the_position_is_of_no_account(file: File, compressed: bool) -> None:
    content = file.holding(with_another_byte(LINES, POSITION), compressed=compressed)
    assert steps_to_prove(Proving(content, shipped(LINES[:POSITION])))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("size", [0, 12, POSITION - 1])
def test_a_shorter_file_is_another(file: File, size: int, compressed: bool) -> None:
    content = file.holding(LINES[:size], compressed=compressed)
    with pytest.raises(Disproved) as caught:
        steps_to_prove(Proving(content, shipped(LINES[:POSITION])))
    assert caught.value.size == file.path.stat().st_size


@pytest.mark.parametrize("content", [b"new\n", LINES[::-1]])
def test_so_is_one_that_is_rewritten_meanwhile(file: File, content: bytes) -> None:
    proving = Proving(file.plain(LINES), shipped(LINES))
    assert not proving.step()
    file.write(content)
    with pytest.raises(Disproved):
        steps_to_prove(proving)


@pytest.mark.parametrize("good", [LINES[:1200], LINES[: POSITION - 1]])
def test_so_is_a_compressed_file_that_is_damaged_before_the_position(file: File, good: bytes) -> None:
    content = file.zipped(good)
    file.write(gzip.compress(good) + b"rubbish" + gzip.compress(LINES[len(good) :]))
    with pytest.raises(Disproved):
        steps_to_prove(Proving(content, shipped(LINES[:POSITION])))


def test_damage_behind_the_position_is_of_no_account(file: File) -> None:
    """The damage is reported when the file is read."""
    content = file.zipped(LINES)
    file.write(gzip.compress(LINES) + b"rubbish")
    assert steps_to_prove(Proving(content, shipped(LINES[:POSITION]))) > 1


def test_so_is_a_compressed_file_that_ends_before_the_position(file: File) -> None:
    content = file.zipped(LINES)
    file.write(gzip.compress(LINES)[:1000])
    with pytest.raises(Disproved):
        steps_to_prove(Proving(content, shipped(LINES)))


def test_a_compressed_file_of_many_members_is_proven_as_one_content(file: File) -> None:
    content = file.zipped(LINES)
    file.write(b"".join(gzip.compress(LINES[start : start + 1200]) for start in range(0, len(LINES), 1200)))
    assert steps_to_prove(Proving(content, shipped(LINES[:POSITION]))) > 1


@pytest.mark.parametrize("compressed", [False, True])
def test_a_page_that_cannot_be_read_disproves_nothing(file: File, disk: FailingDisk, compressed: bool) -> None:
    proving = Proving(file.holding(LINES, compressed=compressed), shipped(LINES))
    disk.damage(file.path, page=2)
    with pytest.raises(OSError, match="Input/output error"):
        steps_to_prove(proving)
    disk.repair()
    assert steps_to_prove(proving)


def test_nor_does_it_show_that_an_open_file_was_rewritten(file: File, disk: FailingDisk) -> None:
    file.write(LINES)
    length = 10 * PAGE - 100
    reading = SecondReading(file.fd, ReadBytes(proof_of(LINES[:length]), length, LINES[length : 10 * PAGE + 100]))
    disk.damage(file.path, page=10)
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            reading.step()
    disk.repair()
    assert reading.step()


# What was proven is read on.


@pytest.mark.parametrize("compressed", [False, True])
def test_what_follows_is_read_from_the_position_on_and_has_proofs(file: File, compressed: bool) -> None:
    proving = Proving(file.holding(LINES + REST, compressed=compressed), shipped(LINES))
    steps_to_prove(proving)
    assert proving.file.offset == len(LINES)
    assert (proving.file.next(), proving.file.offset) == (REST, len(LINES + REST))
    assert proving.trail.proof_at(len(LINES + REST)) == proof_of(LINES + REST)


@pytest.mark.parametrize("compressed", [False, True])
def test_the_position_is_no_cut_and_those_behind_it_are(file: File, compressed: bool) -> None:
    state = shipped(LINES, cuts=(len(LINES) + 4,))
    proving = Proving(file.holding(LINES + REST, compressed=compressed), state)
    steps_to_prove(proving)
    assert not proving.file.pop_cut()
    assert (proving.file.next(), proving.file.pop_cut()) == (REST[:4], True)
    assert proving.file.next() == REST[4:]


# Whether there is need of it.


def test_a_file_to_which_nothing_was_written_since_is_proven_already(file: File) -> None:
    content = file.plain(LINES)
    assert not must_be_proven(content, entry_of(file.path, POSITION, seen=True))


def change_anything(path: Path) -> None:
    """Wait until its ctime differs: file systems count in ticks of some milliseconds."""
    before = path.stat().st_ctime_ns
    while path.stat().st_ctime_ns == before:
        os.utime(path, (1, 1))


def test_one_that_was_changed_must_be_proven_whatever_its_size_and_its_other_time(file: File) -> None:
    content = file.plain(LINES)
    os.utime(file.path, (1, 1))
    state = entry_of(file.path, POSITION, seen=True)
    file.write(with_another_byte(LINES, 0))
    change_anything(file.path)
    status = file.path.stat()
    assert (status.st_size, status.st_mtime_ns) == (len(LINES), state.modified)
    assert must_be_proven(content, state)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"changed": 0}, "its times were not noted when it was closed"),
        ({"inode": 7}, "another file"),
        ({"device": 7}, "another disk"),
    ],
)
def test_what_is_not_known_to_be_unchanged_must_be_proven(file: File, changes: dict[str, int], why: str) -> None:
    content = file.plain(LINES)
    state = entry_of(file.path, POSITION, seen=True)
    assert must_be_proven(content, replace(state, **changes)), why  # type: ignore[arg-type] # all of them are numbers


def test_where_nothing_was_acknowledged_nothing_can_be_proven(file: File) -> None:
    assert not must_be_proven(file.plain(LINES), FileState("new", "/l", 1, 2, proof="ab"))


def test_without_a_proof_to_compare_with_all_is_read_so_that_there_is_one(file: File) -> None:
    """An entry taken over from Filebeat."""
    content = file.plain(LINES)
    state = FileState("old", "/l", 1, 2, position=POSITION)
    assert must_be_proven(content, state)
    proving = Proving(content, state)
    while not proving.step():
        pass
    assert proving.trail.proof_at(POSITION) == proof_of(LINES[:POSITION])
