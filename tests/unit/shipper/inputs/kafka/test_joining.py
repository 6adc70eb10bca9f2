"""Messages that parsers join of several records: where they end, and what the group keeps of that."""

from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.event import TRUNCATED, Batch, resolve_after_all
from log_shipper.shipper.inputs.kafka.feed import group_offset
from log_shipper.shipper.inputs.kafka.offset_metadata import MAX_BYTES, OffsetMetadata
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.fakes import ManualClock
from tests.member_lab import PLACE, MemberLab

TOPIC = "shipper 1: topic id-logs"  # beside each offset of it
TIMEOUT = 5.0
INDENTED = MultilineConfig(pattern="^ ")


@pytest.fixture
def lab(clock: ManualClock) -> MemberLab:
    lab = MemberLab(clock, options={"parsers": (INDENTED,)})
    lab.topics.committed[PLACE] = 0
    return lab


def begin(lab: MemberLab, *lines: bytes) -> MemberLab:
    """Have a member read these lines, as far as they end."""
    lab.topics.write(PLACE, *lines)
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step(2)
    return lab


def continued(lab: MemberLab, *lines: bytes) -> list[Batch]:
    lab.topics.write(PLACE, *lines)
    lab.step(2)
    return lab.read()


def end_by_time(lab: MemberLab) -> list[Batch]:
    """Return what is given of a message whose timeout is over, and whose end the group has."""
    lab.read()
    lab.clock.advance(TIMEOUT)
    assert lab.read() == []
    lab.step(2)
    return lab.read()


def texts(batches: list[Batch]) -> list[str]:
    return [text for batch in batches for text in batch.messages.texts]


def kill(lab: MemberLab) -> MemberLab:
    """Return the member that begins after it."""
    after = MemberLab(lab.clock, lab.topics, lab.options, stage=lab.stage, commits=lab.commits)
    return begin(after)


def test_a_message_is_named_by_its_first_record_and_has_its_time_and_place(lab: MemberLab) -> None:
    begin(lab, b"one", b" more")
    assert lab.read() == []
    lab.topics.write(PLACE, b" still", name=b"k", time=(1, 1_763_000_009_000))
    (batch,) = continued(lab, b"two")
    messages = batch.messages
    assert (messages.texts, messages.offsets, messages.lengths) == (["one\n more\n still"], [0], [3])
    assert messages.docs is not None
    assert messages.docs[0]["kafka"] == {"topic": "logs", "partition": 0, "offset": 0, "key": "", "headers": []}
    assert messages.docs[0]["@timestamp"] == "2025-11-13T02:13:20.123Z"
    assert batch.size == len(b"one more stillktwo")


def test_a_pending_message_is_behind_the_position_and_counts_as_lag(lab: MemberLab) -> None:
    begin(lab, b"one", b"two", b" more")
    (batch,) = lab.read()
    batch.resolve()
    lab.step(2)
    assert lab.topics.committed == {PLACE: 1}
    assert (lab.partition.lag, lab.partition.is_done, lab.partition.is_settled) == (2, False, True)


def test_gaps_in_a_message_are_none_of_it_and_its_end_passes_those_behind_it(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one", b"compacted", b" more")
    del lab.topics.records[PLACE][1]
    lab.topics.skip(PLACE, 2)
    (batch,) = end_by_time(begin(lab))
    assert (batch.messages.texts, batch.messages.lengths) == (["one\n more"], [3])
    batch.resolve()
    lab.step(2)
    assert (lab.topics.committed, lab.topics.metadata) == ({PLACE: 5}, {PLACE: TOPIC})


def test_a_message_that_ends_by_time_is_sent_once_the_group_has_its_end(lab: MemberLab) -> None:
    begin(lab, b"one", b" more")
    lab.read()
    lab.clock.advance(TIMEOUT - 0.1)
    assert (lab.read(), lab.partition.cuts) == ([], ())
    lab.clock.advance(0.1)
    assert (lab.read(), lab.topics.metadata) == ([], {})
    lab.step()
    assert lab.topics.committed == {PLACE: 0}
    assert lab.read() == []  # it was not answered yet
    lab.step()
    assert lab.topics.metadata == {PLACE: f"{TOPIC} cuts 2"}
    (batch,) = lab.read()
    assert batch.messages.texts == ["one\n more"]
    batch.resolve()
    lab.step(2)
    assert (lab.topics.committed, lab.topics.metadata) == ({PLACE: 2}, {PLACE: TOPIC})
    assert (lab.partition.is_done, lab.partition.cuts) == (True, ())


def test_no_message_ends_by_time_at_an_end_behind_which_records_were_received(lab: MemberLab) -> None:
    """A poll may return the end of a partition, and then records behind it."""
    lab.topics.write(PLACE, b"one", b" more")
    lab.begin()
    lab.consumer.most_at_once = 1
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.consumer.before_consume = lambda: lab.topics.write(PLACE, b" still", b" yet")
    lab.step()
    lab.consumer.before_consume = lambda: None
    lab.read()
    lab.clock.advance(10 * TIMEOUT)
    assert (lab.read(), lab.partition.next, lab.partition.cuts) == ([], 3, ())
    lab.topics.write(PLACE, b"two")
    lab.step(3)
    assert texts(lab.read()) == ["one\n more\n still\n yet"]


def test_what_is_written_later_is_no_part_of_a_message_that_was_sent_by_a_killed_member(lab: MemberLab) -> None:
    (sent,) = end_by_time(begin(lab, b"one", b" more"))
    lab.topics.write(PLACE, b" later", b"two", b"three")
    after = kill(lab)
    batch, rest = after.read()
    assert (sent.messages.texts, sent.messages.offsets) == (["one\n more"], [0])
    assert (batch.messages.texts, rest.messages.texts) == (["one\n more"], [" later", "two"])
    assert rest.messages.offsets == [2, 3]


def test_until_all_was_read_no_message_ends_by_time(lab: MemberLab) -> None:
    """A killed member may have read, and sent, what comes next."""
    lab.topics.write(PLACE, b"one", b" more", b" still", b"two")
    lab.begin()
    lab.consumer.most_at_once = 1
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.read()
    lab.clock.advance(10 * TIMEOUT)
    assert (lab.read(), lab.partition.cuts) == ([], ())
    lab.step(3)
    assert texts(lab.read()) == ["one\n more\n still"]


def test_what_comes_at_the_last_moment_belongs_to_the_message(lab: MemberLab) -> None:
    begin(lab, b"one")
    lab.read()
    lab.clock.advance(TIMEOUT)
    assert texts(continued(lab, b" more", b"two")) == ["one\n more"]


@pytest.mark.parametrize("call", ["commit", "on_commit"])
def test_a_commit_that_fails_is_repeated_before_the_message_is_sent(lab: MemberLab, call: str) -> None:
    begin(lab, b"one")
    lab.read()
    lab.topics.failing[call] = [KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))]
    assert end_by_time(lab) == []
    lab.step(2)
    assert texts(lab.read()) == ["one"]


def test_a_message_whose_end_brokers_do_not_take_waits_and_is_a_problem(lab: MemberLab) -> None:
    begin(lab, b"one")
    lab.topics.most_metadata = 5
    assert end_by_time(lab) == []
    assert "set offset.metadata.max.bytes of the brokers to 4096" in lab.problems.now["kafka group g"]
    lab.topics.most_metadata = 4096
    lab.step(2)
    assert texts(lab.read()) == ["one"]


@pytest.mark.parametrize("taken", ["plan_revocation", "plan_loss"])
def test_of_a_partition_that_is_taken_a_message_that_waits_for_the_group_is_not_sent(
    lab: MemberLab, taken: str
) -> None:
    begin(lab, b"one", b" more")
    lab.read()
    lab.clock.advance(TIMEOUT)
    assert lab.read() == []
    reading, partition = lab.reading_of(lab.partition), lab.partition
    getattr(lab.consumer, taken)(PLACE)
    lab.step(3)  # nothing is in flight, so nothing is waited for
    assert (partition.is_lost, reading.read(), reading.is_ready) == (True, ([], 0), False)
    assert lab.topics.metadata == ({PLACE: f"{TOPIC} cuts 2"} if taken == "plan_revocation" else {})
    after = kill(lab)
    assert texts(after.read()) == (["one\n more"] if taken == "plan_revocation" else [])


def test_a_stop_does_not_wait_for_the_group(lab: MemberLab) -> None:
    begin(lab, b"one", b" more")
    lab.read()
    lab.clock.advance(TIMEOUT)
    assert lab.read() == []
    before = lab.clock.monotonic()
    lab.session.finish()
    lab.session.close()
    assert (lab.clock.monotonic(), lab.topics.committed) == (before, {PLACE: 0})


def test_a_cut_stays_until_the_position_passes_it(lab: MemberLab) -> None:
    (first,) = end_by_time(begin(lab, b"one"))
    lab.topics.write(PLACE, b" apart")
    lab.step(2)
    assert texts(end_by_time(lab)) == [" apart"]
    assert lab.topics.metadata == {PLACE: f"{TOPIC} cuts 1,2"}
    first.resolve()
    lab.step(2)
    assert (lab.topics.committed, lab.topics.metadata) == ({PLACE: 1}, {PLACE: f"{TOPIC} cuts 2"})
    assert texts(kill(lab).read()) == [" apart"]


def kept(count: int) -> str:
    """Return what the group keeps with so many cuts."""
    return OffsetMetadata("id-logs", cuts=tuple(range(1, count + 1))).text


def test_where_the_group_has_no_room_for_another_cut_the_position_has_to_pass_some(lab: MemberLab) -> None:
    cuts = next(count for count in range(1, MAX_BYTES) if len(kept(count + 1)) > MAX_BYTES)
    lab.topics.metadata[PLACE] = kept(cuts)
    begin(lab, *[b" one"] * cuts, b" last")
    batches = lab.read()
    assert (len(batches), len(lab.partition.cuts)) == (cuts, cuts)
    assert end_by_time(lab) == []
    for batch in batches[:5]:
        batch.resolve()
    assert lab.read() == []
    lab.step(2)
    assert texts(lab.read()) == [" last"]


@pytest.mark.parametrize(
    "foreign", ["consumer-1 at 12:00", "1", "shipper 1: cuts ", "shipper 1: cuts x,2", "shipper 2: cuts 1"]
)
def test_what_another_tool_has_committed_beside_an_offset_is_ignored(lab: MemberLab, foreign: str) -> None:
    lab.topics.metadata[PLACE] = foreign
    begin(lab, b"one", b" more", b"two")
    assert texts(lab.read()) == ["one\n more"]


@pytest.mark.parametrize("partitions", [None, 0, 12])
@pytest.mark.parametrize("topic_id", ["", "AbC-_7w"])
@pytest.mark.parametrize("cuts", [(), (5, 10**15)])
def test_what_is_kept_is_read_as_it_was_written(topic_id: str, partitions: int | None, cuts: tuple[int, ...]) -> None:
    metadata = OffsetMetadata(topic_id, partitions, cuts)
    assert OffsetMetadata.read(metadata.text, 3) == metadata


def test_cuts_that_the_offset_has_passed_are_not_read() -> None:
    assert OffsetMetadata.read("shipper 1: cuts 7,3,5", 3) == OffsetMetadata(cuts=(5, 7))


def test_nothing_is_kept_as_no_text() -> None:
    assert (OffsetMetadata().text, OffsetMetadata.read(None, 0)) == ("", OffsetMetadata())


def test_with_once_the_last_message_ends_where_the_partition_does(lab: MemberLab) -> None:
    lab.once = True
    lab.topics.write(PLACE, b"one", b"two", b" more")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.consumer.most_at_once = 1
    lab.step()
    lab.topics.write(PLACE, b" later")
    lab.step()  # to the end that it had, and not to the one that it has
    partition = lab.partition
    (first,) = lab.read()
    assert (first.messages.texts, partition.is_done) == (["one"], False)
    first.resolve()
    lab.step(2)
    (last,) = lab.read()
    assert (last.messages.texts, partition.is_done) == (["two\n more"], False)
    last.resolve()
    assert (partition.stopped, partition.is_done) == (True, True)


def test_a_message_that_is_too_long_is_cut_wherever_it_ends(lab: MemberLab) -> None:
    begin(lab, b"a" * 600_000, b" " + b"b" * 600_000)
    (batch,) = end_by_time(lab)
    assert [len(text) for text in batch.messages.texts] == [10**6]
    assert TRUNCATED in batch.messages.flags[0]


def test_records_that_are_lost_behind_a_pending_message_are_lost_with_it(lab: MemberLab) -> None:
    begin(lab, b"one", b" more")
    lab.read()
    lab.topics.write(PLACE, *[b"x"] * 5)
    lab.topics.delete_before(PLACE, 4)
    lab.step(3)
    assert lab.session.rebalances.records_lost == 4
    assert texts(lab.read()) == ["x", "x"]


def test_where_a_partition_stops_for_lost_records_the_message_before_them_is_sent(lab: MemberLab) -> None:
    lab.options["out_of_range"] = "fail"
    begin(lab, b"one", b" more")
    lab.read()
    lab.topics.write(PLACE, *[b"x"] * 5)
    lab.topics.delete_before(PLACE, 4)
    lab.step(3)
    lab.read()
    lab.step(2)
    assert texts(lab.read()) == ["one\n more"]


def test_parts_of_a_containers_lines_are_joined_by_stream(lab: MemberLab) -> None:
    lab.options["parsers"] = (ContainerConfig(),)
    time = b"2026-01-31T08:00:00.000000000Z"
    begin(lab, time + b" stdout P one ", time + b" stderr F other", time + b" stdout F more", time + b" stdout P end")
    (batch,) = lab.read()
    assert batch.messages.texts == ["one more", "other"]
    batch.resolve()
    (end,) = end_by_time(lab)
    assert (end.messages.texts, end.messages.offsets) == (["end"], [3])


class Offsets:
    """Keeps what a transaction is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, str]] = []

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: object, timeout: float) -> None:
        self.sent += [(position.offset, position.metadata) for position in positions]


class Member:
    def metadata(self) -> object:
        return "generation 1"


@pytest.fixture
def staging(lab: MemberLab) -> Staging:
    staging, member = Staging(), Member()
    lab.commits, lab.stage = False, lambda partition: staging.stage_for(partial(group_offset, member, partition))
    return staging


def offsets(staging: Staging, *batches: Batch) -> list[tuple[int, str]]:
    """Return what is committed in a transaction of these batches."""
    made = Offsets()
    positions = staging.prepare(batches)
    positions.add_offsets(made)
    positions.commit()
    return made.sent


def test_a_transaction_commits_the_cuts_behind_its_offset_with_the_messages(lab: MemberLab, staging: Staging) -> None:
    begin(lab, b"one", b"two", b" more")
    (first,) = lab.read()
    lab.clock.advance(TIMEOUT)
    (second,) = lab.read()  # without waiting: what it is sent with has its end
    assert second.messages.texts == ["two\n more"]
    assert offsets(staging, second) == [(0, f"{TOPIC} cuts 3")]
    assert offsets(staging, first) == [(3, TOPIC)]
    lab.step(2)
    assert lab.consumer.commit_calls == []


def test_a_transaction_with_some_messages_of_a_batch_has_the_cut_on_which_they_depend(
    lab: MemberLab, staging: Staging
) -> None:
    lab.options["parsers"] = (ContainerConfig(),)
    time = b"2026-01-31T08:00:00.000000000Z"
    begin(lab, time + b" stdout P one", time + b" stderr P other")
    lab.read()
    lab.clock.advance(TIMEOUT)
    (batch,) = lab.read()
    assert batch.messages.texts == ["one", "other"]
    first, second = resolve_after_all(batch.resolve, 2)
    batch.resolve = first
    assert offsets(staging, batch) == [(0, f"{TOPIC} cuts 2")]
    batch.resolve = second
    assert offsets(staging, batch) == [(2, TOPIC)]
