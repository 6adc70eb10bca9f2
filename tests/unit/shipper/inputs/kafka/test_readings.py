"""The partitions of a member in the reading thread: turns, what is due, and how much may be pending."""

from collections.abc import Callable
from itertools import islice

import pytest

from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.feed import REFUSED_WAIT
from log_shipper.shipper.inputs.kafka.readings import PENDING_BYTES, ReadingContext, Readings
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.builders import Surroundings, source_context
from tests.fakes import ManualClock
from tests.member_lab import OTHER, PLACE, MemberLab

ALL = 10**9
TIMEOUT = 300.0


class Room:
    """The readings of a lab's member; `is_refused` is asked for each partition."""

    def __init__(self, lab: MemberLab) -> None:
        self.lab = lab
        self.metrics = Metrics()
        self.taken = 0
        self.is_refused: Callable[[str], bool] = lambda file_id: False
        lab.options["parsers"] = (MultilineConfig(pattern="^ ", timeout=TIMEOUT),)
        lab.topics.committed |= {PLACE: 0, OTHER: 0}
        lab.begin()
        lab.consumer.plan_assignment(PLACE, OTHER)
        around = Surroundings()
        around.takes_more = lambda source: not self.is_refused(source.file_id)  # type: ignore[method-assign]
        source = source_context(None, lab.clock, self.metrics, around=around)
        rebalances = lab.session.rebalances
        context = ReadingContext(lab.config, 10**6, source, lambda: rebalances.partitions, self.note_room)
        self.readings = Readings(context)
        self.step()

    def note_room(self) -> None:
        self.taken += 1

    def step(self) -> None:
        self.lab.step(2)

    def write(self, place: tuple[str, int], *lines: bytes) -> None:
        self.lab.topics.write(place, *lines)
        self.step()

    def read(self, budget: int = ALL) -> list[Batch]:
        return list(self.readings.read(budget))

    def texts(self) -> list[str]:
        return [text for batch in self.read() for text in batch.messages.texts]


@pytest.fixture
def room(clock: ManualClock) -> Room:
    return Room(MemberLab(clock))


def test_all_partitions_are_read_and_the_member_has_room_again(room: Room) -> None:
    room.write(PLACE, b"one", b"two")
    room.write(OTHER, b"other", b"last")
    assert sorted(room.texts()) == ["one", "other"]
    assert room.taken > 0


def test_it_is_read_when_something_came_or_a_message_is_due_or_its_end_is_kept(room: Room) -> None:
    assert room.readings.next_read == float("inf")
    room.write(PLACE, b"one", b" more")
    assert room.readings.next_read == 0.0
    assert room.read() == []
    assert room.readings.next_read == TIMEOUT
    room.lab.clock.advance(TIMEOUT)
    assert room.readings.next_read == 0.0
    assert room.read() == []
    assert room.readings.next_read == float("inf")  # the member's thread wakes the loop
    room.step()
    assert room.readings.next_read == 0.0
    assert room.texts() == ["one\n more"]


def test_a_partition_of_which_too_much_waits_is_asked_for_again_soon(room: Room) -> None:
    room.is_refused = lambda file_id: file_id == "file-0"
    room.write(PLACE, b"one", b"two")
    room.write(OTHER, b"other", b"last")
    assert room.texts() == ["other"]
    assert room.readings.next_read == REFUSED_WAIT
    room.is_refused = lambda file_id: False
    assert room.texts() == ["one"]


def test_who_stops_at_a_batch_is_given_the_others_the_next_time(room: Room) -> None:
    room.lab.topics.metadata[PLACE] = "shipper 1: cuts 1,2"
    room.lab.consumer.plan_loss(PLACE)
    room.step()
    room.lab.consumer.plan_assignment(PLACE)
    room.write(PLACE, b"one", b"two", b"three", b"four")
    (first,) = islice(room.readings.read(ALL), 1)
    assert first.messages.texts == ["one"]
    assert room.readings.next_read == 0.0
    assert room.texts() == ["two", "three"]


def test_what_was_made_of_a_partition_that_is_lost_is_not_given(room: Room) -> None:
    room.lab.topics.metadata[PLACE] = "shipper 1: cuts 1,2"
    room.lab.consumer.plan_loss(PLACE)
    room.step()
    room.lab.consumer.plan_assignment(PLACE)
    room.write(PLACE, b"one", b"two", b"three", b"four")
    list(islice(room.readings.read(ALL), 1))
    room.lab.consumer.plan_loss(PLACE)
    room.step()
    assert room.texts() == []


def test_what_was_pending_of_a_partition_that_is_lost_is_dropped(room: Room) -> None:
    room.write(PLACE, b"one", b" more")
    room.read()
    room.lab.consumer.plan_loss(PLACE)
    room.lab.consumer.plan_assignment(PLACE)
    room.write(PLACE, b" still", b"two")
    assert room.texts() == ["one\n more\n still"]
    room.lab.consumer.plan_loss(PLACE)
    room.step()
    assert room.readings.next_read == float("inf")


def test_the_largest_message_without_an_end_is_ended_where_too_much_is_pending(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.write(OTHER, b"other", b" small")
    room.write(PLACE, b"one")
    line = b" " + b"x" * 10**6
    for _ in range(PENDING_BYTES // len(line) + 1):
        assert room.texts() == []
        room.write(PLACE, line)
    assert room.texts() == []
    assert room.metrics.messages_cut_short == 1
    assert "/var/log/app.log: the unfinished message at offset 0 was split after" in caplog.text
    room.step()
    (batch,) = room.read()
    assert batch.messages.offsets == [0]
    room.write(PLACE, b" rest", b"two")
    assert room.texts() == [" rest"]
