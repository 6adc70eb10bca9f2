import pytest

from log_shipper.shipper.event import Source
from log_shipper.shipper.inputs.files.reading.batch_reader import LOOK_AGAIN, LOOKS_AT_ONCE, BatchReader, ReadHooks
from log_shipper.shipper.inputs.files.reading.pending_bytes import PendingBytes
from tests.reading_room import Room

MANY = 3 * LOOKS_AT_ONCE


class BatchReaderLab:
    """Reads files of a room, of which the pipeline takes those in `taken`; `asked`: how often it was asked."""

    def __init__(self, room: Room, files: int) -> None:
        self.taken: set[str] = set()
        self.asked = 0
        pending = PendingBytes(2**31, room.metrics, room.clock)
        hooks = ReadHooks(lambda harvester, error: None)
        running = room.open_files.running
        self.reading = BatchReader(room.scheduler, room.registrar, pending, running, self.takes_more, hooks)
        self.files = [room.read(f"{number}.log", b"one\n") for number in range(files)]
        for harvester in self.files:
            self.reading.wake(harvester)
        for _ in range(files):
            assert list(self.reading.read(1000)) == []
        self.asked = 0

    def takes_more(self, source: Source) -> bool:
        self.asked += 1
        return source.file_id in self.taken


@pytest.fixture
def lab(room: Room) -> BatchReaderLab:
    return BatchReaderLab(room, MANY)


def test_of_very_many_files_that_wait_for_room_some_are_looked_at_in_each_turn(lab: BatchReaderLab) -> None:
    assert len(list(lab.reading.waiting(all_of_them=False))) == MANY
    list(lab.reading.read(1000))
    assert lab.asked == LOOKS_AT_ONCE
    assert lab.reading.next_read == LOOK_AGAIN
    assert lab.asked == 2 * LOOKS_AT_ONCE


def test_each_of_them_has_its_turn(lab: BatchReaderLab) -> None:
    last = lab.files[-1]
    lab.taken.add(last.state.id)
    turns = [list(lab.reading.read(1000)) for _ in range(MANY // LOOKS_AT_ONCE)]
    (batch,) = [batch for turn in turns for batch in turn]
    assert batch.source.file_id == last.state.id


def test_few_are_all_looked_at(room: Room) -> None:
    lab = BatchReaderLab(room, 3)
    assert lab.reading.next_read > LOOK_AGAIN
    lab.taken.add(lab.files[2].state.id)
    assert lab.reading.next_read == 0
    assert [batch.source.file_id for batch in lab.reading.read(1000)] == [lab.files[2].state.id]
