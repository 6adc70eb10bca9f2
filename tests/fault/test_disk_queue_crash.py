"""A program of writes and removals of the queue on disk, stopped at every operation, at every fault, and damaged at
every byte."""

from __future__ import annotations

import errno
import random
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from xxhash import xxh3_64_intdigest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.pipeline.disk_queue.frames import (
    HEADER_SIZE,
    MAGIC,
    PLAIN,
    VERSION,
    Frame,
    Payload,
)
from log_shipper.shipper.pipeline.disk_queue.options import QueueProgress
from log_shipper.shipper.pipeline.disk_queue.segments import LoadedSegments, load
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore
from tests.crashing_files import Crash, CrashingFiles
from tests.model.seeds import for_each_seed

HERE = Path("/queue")
SEED = 2**63 + 11
SEGMENT_SIZE = 250

# So many frames are written as a group; or all before the last so many are removed.
GROUPS = (1, 3, 1, 2, -1, 1, 1, -3, 2, 1, -1, 1)


def content_of(sequence: int) -> bytes:
    return (b"%d \xf5shq " % sequence) * (1 + sequence % 4)


def payload(sequence: int) -> Payload:
    return Payload(sequence, events=sequence % 3 + 1, raw_bytes=10, kind=PLAIN, content=content_of(sequence))


def events_before(sequence: int) -> int:
    return sum(number % 3 + 1 for number in range(sequence))


def loaded(files: CrashingFiles, position: int = 0, written: int | None = None) -> tuple[list[int], LoadedSegments]:
    """Return the sequence numbers that a start finds, whose contents must be right. The registry knows that frames
    before `position` are delivered, and those before `written` on disk; it is empty if that is None."""
    sequences = []
    progress = QueueProgress(position, events_before(position), events_before(max(position, written or 0)))

    def look(frame: Frame, content: bytes) -> None:
        assert content == content_of(frame.sequence)
        if frame.sequence >= position:
            sequences.append(frame.sequence)

    return sequences, load(files, HERE, SEED, progress if position or written is not None else None, look)


class Run:
    """`returned`: frames up to this sequence number are on disk, as `write` has returned; those before `removed` were
    removed."""

    def __init__(self, files: CrashingFiles) -> None:
        self.files = files
        self.returned = self.attempted = self.removed = 0

    def run(self) -> None:
        store = SegmentStore(self.files, HERE, SEED, SEGMENT_SIZE)
        for count in GROUPS:
            if count < 0:
                self.removed = self.returned + count
                with suppress(OSError):
                    store.remove_before(self.removed)
                continue
            self.attempted = self.returned + count
            self._write(store, [payload(number) for number in range(self.returned, self.attempted)])
            self.returned = self.attempted

    @staticmethod
    def _write(store: SegmentStore, payloads: list[Payload]) -> None:
        while True:
            try:
                store.write(payloads)
            except OSError:
                continue
            break

    def check(self, files: CrashingFiles) -> None:
        """Check that a start finds everything on disk, in order, and reports no loss."""
        for written in (self.removed, self.returned):  # the registry may know this later
            self._check(files.killed(), written)

    def _check(self, files: CrashingFiles, written: int) -> None:
        sequences, result = loaded(files, self.removed, written)
        assert sequences == list(range(self.removed, self.removed + len(sequences))), self.files.trace
        assert self.returned <= self.removed + len(sequences) <= self.attempted, self.files.trace
        assert result.lost.events == 0, self.files.trace
        assert result.next_sequence == max(self.removed, self.removed + len(sequences))
        assert result.waiting.frames == len(sequences)
        assert result.waiting.events == sum(number % 3 + 1 for number in sequences)


def crashed(crash_at: int | None, fail_at: dict[int, int] | None = None) -> Run | None:
    run = Run(CrashingFiles(crash_at, fail_at))
    try:
        run.run()
    except Crash:
        return run
    run.check(run.files.killed())
    return None


def all_crashes() -> Iterator[Run]:
    crash_at = 1
    while (run := crashed(crash_at)) is not None:
        yield run
        crash_at += 1
    assert crash_at > 30, "the program is too short to be meaningful"


def test_after_a_crash_at_any_operation_every_disk_loads_with_what_was_written() -> None:
    for run in all_crashes():
        for survivor in (*run.files.survivors(), run.files.killed()):
            run.check(survivor)


def test_what_a_start_found_after_a_kill_survives_a_power_failure() -> None:
    for run in all_crashes():
        again = run.files.killed()
        shown, _ = loaded(again, run.removed)
        for survivor in again.survivors():
            assert loaded(survivor, run.removed)[0] == shown, run.files.trace


def test_a_queue_that_survived_a_crash_takes_more() -> None:
    for run in all_crashes():
        for survivor in (*run.files.survivors(), run.files.killed()):
            before, result = loaded(survivor, run.removed)
            following = result.next_sequence
            store = SegmentStore(survivor, HERE, SEED, SEGMENT_SIZE, result.segments, result.written)
            store.write([payload(following)])
            for later in survivor.survivors():
                sequences, after = loaded(later, run.removed)
                assert sequences == [*before, following], run.files.trace
                assert after.lost.events == 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_after_any_one_failed_operation_nothing_is_lost(code: int) -> None:
    whole = CrashingFiles()
    Run(whole).run()
    for fail_at in range(1, len(whole.trace) + 1):
        for crash_at in (None, *range(fail_at + 1, fail_at + 9)):
            run = crashed(crash_at, {fail_at: code})
            if run is not None:
                for survivor in run.files.survivors():
                    run.check(survivor)


def test_two_failures_one_after_the_other_lose_nothing() -> None:
    whole = CrashingFiles()
    Run(whole).run()
    for fail_at in range(1, len(whole.trace) + 1):
        failures = {fail_at: errno.EIO, fail_at + 1: errno.EIO}
        for crash_at in (None, *range(fail_at + 2, fail_at + 8)):
            run = crashed(crash_at, failures)
            if run is not None:
                for survivor in run.files.survivors():
                    run.check(survivor)


def test_a_full_disk_takes_no_half_of_a_group_and_room_is_used_again() -> None:
    files = CrashingFiles()
    store = SegmentStore(files, HERE, SEED, SEGMENT_SIZE)
    store.write([payload(0)])
    files.room = 100
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            store.write([payload(1), payload(2)])
    assert store.bytes == sum(segment.end for segment in store.segments)
    files.room = None
    store.write([payload(1), payload(2)])
    sequences, result = loaded(files)
    assert (sequences, result.lost.events) == ([0, 1, 2], 0)


def written(groups: tuple[int, ...] = (2, 3, 1, 2, 2)) -> tuple[CrashingFiles, list[Path], int]:
    """Return a disk with frames, its segments, and how many frames there are in all of them."""
    files, following = CrashingFiles(), 0
    store = SegmentStore(files, HERE, SEED, SEGMENT_SIZE)
    for count in groups:
        store.write([payload(number) for number in range(following, following + count)])
        following += count
    assert len(store.segments) == 3
    return files, [segment.path for segment in store.segments], following


def changed(files: CrashingFiles, path: Path, data: bytes) -> CrashingFiles:
    again = files.killed()
    again.put(path, data)
    return again


def data_of(files: CrashingFiles, path: Path) -> bytes:
    data = files.read(path)
    assert data is not None
    return data


@pytest.mark.parametrize("flip", [0x01, 0x80])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_flipped_byte_costs_one_frame_and_is_reported(which: int, flip: int) -> None:
    files, paths, count = written()
    data = data_of(files, paths[which])
    for offset in range(len(data)):
        flipped = data[:offset] + bytes([data[offset] ^ flip]) + data[offset + 1 :]
        sequences, result = loaded(changed(files, paths[which], flipped), written=count)
        missing = set(range(count)) - set(sequences)
        assert len(missing) == (offset >= HEADER_SIZE), offset
        assert result.lost.events == sum(number % 3 + 1 for number in missing), offset
        sequences, result = loaded(changed(files, paths[which], flipped))
        missing = set(range(count)) - set(sequences)
        if missing & {count - 2, count - 1}:  # the registry does not know of the last group: a crash leaves it so
            assert (which, result.lost.events) == (2, 0), offset
        else:
            assert len(missing) == (offset >= HEADER_SIZE), offset
            assert result.lost.events == sum(number % 3 + 1 for number in missing), offset


def test_damage_within_the_last_segment_is_no_torn_tail_if_more_was_written_after_an_fsync() -> None:
    files = CrashingFiles()
    store = SegmentStore(files, HERE, SEED, segment_size=10_000)
    for number in range(4):
        store.write([payload(number)])
    path = store.segments[0].path
    data = bytearray(data_of(files, path))
    data[-1 - payload(3).size - payload(2).size] ^= 1
    sequences, result = loaded(changed(files, path, bytes(data)))
    assert (sequences, result.lost.events) == ([0, 2, 3], 2)


def test_damage_to_what_was_delivered_is_no_loss() -> None:
    files, paths, count = written()
    data = data_of(files, paths[0])
    flipped = changed(files, paths[0], data[:-1] + bytes([data[-1] ^ 1]))
    sequences, result = loaded(flipped, position=count - 1)
    assert (sequences, result.lost.events) == ([count - 1], 0)


def test_a_segment_cut_at_any_byte_loads_the_frames_before_the_cut() -> None:
    files, paths, count = written()
    data = data_of(files, paths[-1])
    before = count
    for size in range(len(data) - 1, -1, -1):
        sequences, result = loaded(changed(files, paths[-1], data[:size]))
        assert sequences == list(range(len(sequences)))
        assert before - 2 < len(sequences) + 1 <= before + 1
        assert result.lost.events == 0
        before = len(sequences)


def test_a_segment_of_a_later_release_is_refused() -> None:
    files, paths, _ = written()
    data = data_of(files, paths[0])
    head = struct.pack("<8sIQQ", MAGIC, VERSION + 1, SEED, 0)
    newer = head + struct.pack("<Q", xxh3_64_intdigest(head)) + data[HEADER_SIZE:]
    with pytest.raises(StartError, match=r"0001\.seg has the format of another release"):
        loaded(changed(files, paths[0], newer))


@for_each_seed(60)
def test_whatever_is_damaged_the_other_frames_are_found(seed: int) -> None:
    dice = random.Random(seed)
    files, paths, count = written()
    path = dice.choice(paths[:2])
    data = bytearray(data_of(files, path))
    start = dice.randrange(len(data))
    size = dice.randrange(1, 200)
    noise = dice.choice((b"\0" * size, dice.randbytes(size), b"\xf5shq" * size))[:size]
    data[start : start + size] = noise
    sequences, result = loaded(changed(files, path, bytes(data)), written=count)
    assert sequences == sorted(set(sequences))
    whole, _ = loaded(files)
    assert set(sequences) <= set(whole) == set(range(count))
    hurt = size // 90 + 2  # frames are longer than that
    assert len(sequences) >= count - hurt
    assert result.lost.events == events_before(count) - sum(number % 3 + 1 for number in sequences)
    assert len(sequences) < count or start < HEADER_SIZE


def test_a_segment_that_was_shortened_is_reported_wherever_it_ends() -> None:
    files, paths, count = written()
    data = data_of(files, paths[1])
    for size in range(len(data)):
        sequences, result = loaded(changed(files, paths[1], data[:size]))
        assert len(sequences) < count
        assert sequences[-1] == count - 1
        assert result.lost.events == events_before(count) - sum(number % 3 + 1 for number in sequences)


def test_a_segment_that_is_missing_between_others_is_reported_if_it_was_not_delivered() -> None:
    files, paths, count = written()
    first, _ = loaded(files)
    missing = files.killed()
    missing.unlink(paths[1])
    sequences, result = loaded(missing)
    assert set(sequences) < set(first)
    assert result.lost.events == sum(number % 3 + 1 for number in set(first) - set(sequences))
    sequences, result = loaded(missing, position=count - 1)
    assert (sequences, result.lost.events) == ([count - 1], 0)


def test_a_copy_of_a_segment_is_not_sent_twice(caplog: pytest.LogCaptureFixture) -> None:
    files, paths, count = written()
    sequences, result = loaded(changed(files, HERE / "0009.seg", data_of(files, paths[0])))
    assert (sequences, result.waiting.frames, result.lost.events) == (list(range(count)), count, 0)
    assert "0009.seg duplicates 5 batches of an earlier segment" in caplog.text
