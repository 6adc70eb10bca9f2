"""The session of a member: what is handed over, and what is committed, and when."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.room import HANDED_OVER
from log_shipper.shipper.pipeline.acks import Ledger, Node
from tests.fakes import ManualClock
from tests.member_desk import OTHER, PLACE, Desk
from tests.memory_topics import FakeMessage


def test_records_are_handed_over_and_committed_once_they_are_delivered(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one", b"two")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    assert (batch.messages.texts, batch.messages.offsets, batch.messages.lengths) == (["one", "two"], [0, 1], [1, 1])
    assert batch.size == len(b"onetwo")
    desk.step(3)
    assert desk.topics.committed == {PLACE: 0}  # where it begins
    batch.resolve()
    desk.step(2)
    assert desk.topics.committed == {PLACE: 2}


def test_only_the_longest_delivered_run_is_committed(desk: Desk) -> None:
    desk.begin()
    desk.consumer.give(PLACE)
    for value in (b"one", b"two", b"three"):
        desk.topics.write(PLACE, value)
        desk.step()
    batches = desk.read()
    batches[2].resolve()
    desk.step(2)
    assert desk.topics.committed == {PLACE: 0}
    batches[0].resolve()
    desk.step(2)
    assert desk.topics.committed == {PLACE: 1}
    batches[1].resolve()
    desk.step(2)
    assert desk.topics.committed == {PLACE: 3}


def test_gaps_of_compaction_and_markers_at_the_end_are_committed_past(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one", b"compacted", b"three")
    del desk.topics.records[PLACE][1]
    desk.topics.skip(PLACE, 1)  # the marker of a transaction
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step(2)
    (batch,) = desk.read()
    assert batch.messages.offsets == [0, 2]
    batch.resolve()
    desk.step(2)
    assert desk.topics.committed == {PLACE: 4}


class OddMessage(FakeMessage):
    """Its header has a name that is not UTF-8."""

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        if self.beside is None:
            raise SystemError("returned a result with an exception set")
        return self.beside

    def set_headers(self, value: Sequence[tuple[str, bytes | None]]) -> None:
        object.__setattr__(self, "beside", value)


def test_a_record_whose_headers_cannot_be_read_is_read_without_them(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.topics.write(PLACE, b"one", beside=[("h", b"1")])
    desk.topics.records[PLACE].append(OddMessage(PLACE, 1, b"two"))
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    assert batch.messages.texts == ["one", "two"]
    assert batch.messages.docs is not None
    assert [doc["kafka"]["headers"] for doc in batch.messages.docs] == [["h: 1"], []]
    assert "logs[0], from offset 1 on, have a header whose name is not UTF-8" in caplog.text


def test_a_group_resumes_at_its_offset(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one", b"two")
    desk.topics.committed[PLACE] = 1
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.texts() == ["two"]


@pytest.mark.parametrize(
    ("initial", "texts", "committed"),
    [
        ("earliest", ["early", "late"], {}),
        ("latest", [], {PLACE: 2}),
        (datetime(2025, 11, 13, 2, 13, 21, tzinfo=UTC), ["late"], {PLACE: 1}),
        (datetime(2035, 1, 1, tzinfo=UTC), [], {PLACE: 2}),
    ],
)
def test_a_new_group_begins_where_it_is_told_and_that_is_its_offset_at_once(
    desk: Desk, initial: object, texts: list[str], committed: dict[object, int]
) -> None:
    desk.options["initial_offset"] = initial
    desk.topics.write(PLACE, b"early", time=(1, 1_763_000_000_000))
    desk.topics.write(PLACE, b"late", time=(1, 1_763_000_002_000))
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert (desk.texts(), desk.topics.committed) == (texts, committed)


def test_a_partition_that_is_taken_is_awaited_and_committed_before(desk: Desk, clock: ManualClock) -> None:
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    partition = desk.partition
    in_settle: list[bool] = []

    def deliver_meanwhile() -> None:
        in_settle.append(partition.is_ending)
        batch.resolve()

    partition.settled = _Calling(deliver_meanwhile)  # type: ignore[assignment]  # what the wait does
    desk.consumer.take(PLACE)
    desk.step()
    assert in_settle == [True]
    assert desk.topics.committed == {PLACE: 1}
    assert partition.is_lost


class _Calling:
    """An event whose wait calls back."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def wait(self, timeout: float) -> bool:
        self._call()
        return True

    def set(self) -> None: ...

    def clear(self) -> None: ...


def test_what_is_not_delivered_by_the_deadline_is_not_committed_later_either(
    desk: Desk, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    partition = desk.partition
    partition.settled = _Calling(lambda: clock.advance(1))  # type: ignore[assignment]  # what the wait does
    desk.consumer.take(PLACE)
    desk.step()
    assert "what is in flight of logs[0] was not delivered within wait_close (2 s)" in caplog.text
    batch.resolve()
    desk.step(2)
    assert desk.topics.committed in ({}, {PLACE: 0})


def test_of_a_lost_partition_nothing_is_committed_nor_handed_over(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    partition = desk.partition
    desk.topics.write(PLACE, b"two")
    desk.step()
    desk.consumer.lose(PLACE)
    desk.step()
    batch.resolve()
    desk.step(2)
    assert desk.topics.committed in ({}, {PLACE: 0})
    assert partition.take() is None
    assert batch.source.is_lost()


@pytest.mark.parametrize(("strategy", "rest"), [("range", None), ("cooperative-sticky", {})])
def test_between_what_was_taken_and_what_is_given_then_it_is_not_known_what_there_is_to_read(
    desk: Desk, strategy: str, rest: dict[Place, Partition] | None
) -> None:
    """With --once nothing would be the end of all. A group that takes only what others get leaves the rest."""
    desk.options["rebalance"] = desk_rebalance(strategy)
    desk.begin()
    assert desk.session.assignment is None
    for take, left in ((desk.consumer.take, rest), (desk.consumer.lose, None)):
        desk.consumer.give(PLACE)
        desk.step()
        assert list(desk.session.assignment or ()) == [PLACE]
        take(PLACE)
        desk.step()
        assert desk.session.assignment == left
    desk.consumer.give(PLACE)
    desk.step()
    desk.session.close()
    assert desk.session.assignment is None


def test_a_consumer_that_leaves_the_group_takes_its_time_with_nothing_to_read(desk: Desk) -> None:
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    seen: list[object] = []

    def leave() -> None:
        desk.session.rebalances.revoked(desk.consumer, [TopicPartition(*PLACE)])
        seen.append(desk.session.assignment)

    desk.consumer.close = leave  # type: ignore[method-assign]  # as the client does, and takes seconds for it
    desk.session.close()
    assert seen == [None]


def test_with_transactions_the_group_is_left_to_them(desk: Desk) -> None:
    desk.commits = False
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    desk.read()[0].resolve()
    desk.step(3)
    assert desk.consumer.commit_calls == []


def test_one_commit_at_a_time_and_one_that_fails_is_repeated(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    desk.read()[0].resolve()
    desk.topics.failing["commit"] = [KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))]
    desk.step(3)
    assert desk.consumer.commit_calls == [{PLACE: 1}]
    desk.step(3)
    assert desk.consumer.commit_calls == [{PLACE: 1}]


def test_what_is_not_taken_pauses_its_partition_and_no_other(desk: Desk) -> None:
    large = b"x" * (HANDED_OVER // 4)
    desk.begin()
    desk.consumer.give(PLACE, OTHER)
    for _ in range(20):
        desk.topics.write(PLACE, large)
        desk.step()
    assert desk.consumer.paused == {PLACE}
    assert desk.partition.waiting_bytes < 2 * HANDED_OVER
    desk.topics.write(OTHER, b"small")
    desk.step()
    other = desk.session.rebalances.partitions[OTHER]
    assert [batch.messages.texts for batch in desk.read(other)] == [["small"]]
    desk.read()
    desk.step()
    assert desk.consumer.paused == set()
    desk.step(20)
    assert len(desk.read()) > 0


def test_lost_records_are_logged_counted_and_read_past(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.topics.write(PLACE, *[b"x"] * 10)
    desk.topics.committed[PLACE] = 2
    desk.topics.delete_before(PLACE, 7)
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step(2)
    assert desk.read()[0].messages.offsets == [7, 8, 9]
    assert desk.session.rebalances.records_lost == 5
    assert "offset 2 of logs[0] is not in Kafka any more, which has 7 to 9: it is read on from 7" in caplog.text


def in_flight(desk: Desk) -> tuple[Batch, Partition]:
    """Return a batch that is in flight, of one record, and its partition."""
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    return batch, desk.partition


def test_what_is_in_flight_when_records_are_lost_is_sent_without_an_offset(desk: Desk) -> None:
    batch, before = in_flight(desk)
    desk.topics.write(PLACE, *[b"x"] * 9)
    desk.topics.delete_before(PLACE, 7)
    desk.step(2)
    assert desk.partition is not before
    assert (batch.source.is_lost(), before.is_void, desk.partition.is_void) == (False, True, False)
    assert desk.session.rebalances.records_lost == 6


def test_lost_records_that_the_client_reports_twice_are_read_past_once(desk: Desk) -> None:
    desk.topics.write(PLACE, *[b"x"] * 10)
    desk.topics.committed[PLACE] = 2
    desk.topics.delete_before(PLACE, 7)
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step(2)
    (batch,), before = desk.read(), desk.partition
    desk.topics.write(PLACE, b"later")
    desk.session.rebalances.out_of_range(desk.consumer, PLACE)
    desk.step(2)
    assert desk.partition is before
    assert (batch.messages.offsets, desk.texts()) == ([7, 8, 9], ["later"])
    assert desk.session.rebalances.records_lost == 5


def test_with_fail_the_partition_stops_with_a_problem_and_others_do_not(desk: Desk) -> None:
    desk.options["out_of_range"] = "fail"
    desk.topics.write(PLACE, *[b"x"] * 10)
    desk.topics.write(OTHER, b"well")
    desk.topics.committed[PLACE] = 2
    desk.topics.delete_before(PLACE, 7)
    desk.begin()
    desk.consumer.give(PLACE, OTHER)
    desk.step(3)
    assert desk.texts() == []
    assert "offset 2 of logs[0]" in desk.problems.now["kafka topic logs[0]"]
    assert desk.topics.committed[PLACE] == 2
    assert [batch.messages.texts for batch in desk.read(desk.session.rebalances.partitions[OTHER])] == [["well"]]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_topic_that_is_made_again_is_another_one_and_is_read_from_its_first_record(
    desk: Desk, strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk.options["rebalance"] = desk_rebalance(strategy)
    desk.topics.write(PLACE, b"old", b"older")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (old,) = desk.read()
    before = desk.partition
    desk.topics.recreate("logs")
    desk.topics.write(PLACE, b"new", b"newer", b"newest")
    desk.clock.advance(60)
    assert not desk.session.is_over
    desk.step(3)
    assert "the topic logs was deleted, and is another one now" in caplog.text
    assert desk.session.is_over
    old.resolve()
    desk.session.finish()
    desk.session.close()
    assert desk.topics.committed == {PLACE: 0}
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.texts() == ["new", "newer", "newest"]
    assert (old.source.is_lost(), before.is_void, desk.partition.topic_id != before.topic_id) == (False, True, True)
    assert not desk.session.is_over


def test_a_consumer_that_gets_a_topic_again_which_is_another_one_by_now_is_of_no_more_use(desk: Desk) -> None:
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    desk.consumer.lose(PLACE)
    desk.step()
    assert not desk.session.is_over
    desk.topics.recreate("logs")
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.session.is_over


@pytest.mark.parametrize("initial", ["earliest", "latest"])
def test_an_offset_of_a_former_topic_is_none_of_the_one_that_has_its_name_now(
    desk: Desk, initial: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk.options["initial_offset"] = initial
    desk.topics.recreate("logs")
    desk.topics.write(PLACE, b"new", b"newer", b"newest")
    # Committed by a member that did not know yet, after the brokers had removed the offsets of the former.
    desk.topics.committed[PLACE], desk.topics.metadata[PLACE] = 2, "shipper 1: topic id-logs cuts 3"
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert "the topic logs was deleted, and is another one now" in caplog.text
    assert "(acknowledged up to [0] 2)" in caplog.text
    (batch,) = desk.read()
    assert (batch.messages.texts, desk.partition.cuts) == (["new", "newer", "newest"], ())
    batch.resolve()
    desk.step(2)
    assert desk.topics.committed[PLACE] == 3
    assert desk.topics.metadata[PLACE] == f"shipper 1: topic {desk.partition.topic_id} of 0"


@pytest.mark.parametrize("brokers_know_ids", [False, True])
def test_an_offset_of_a_topic_whose_id_is_not_known_is_taken(desk: Desk, brokers_know_ids: bool) -> None:
    desk.topics.write(PLACE, b"one", b"two", b"three")
    desk.topics.committed[PLACE] = 2
    if not brokers_know_ids:
        desk.topics.ids["logs"] = ""
        desk.topics.metadata[PLACE] = "shipper 1: topic id-logs"
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.texts() == ["three"]


def desk_rebalance(strategy: str) -> object:
    from log_shipper.shipper.inputs.kafka.options import RebalanceConfig

    return RebalanceConfig(strategy=strategy)  # type: ignore[arg-type]  # one of the choices


def test_a_broker_that_is_away_at_an_assignment_is_awaited(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one")
    desk.topics.failing["committed"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))] * 2
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.texts() == ["one"]
    assert desk.problems.now == {}


@pytest.mark.parametrize("times", [1, 2])
def test_a_broker_that_gives_no_answer_at_an_assignment_is_a_problem_where_another_gives_none_either(
    desk: Desk, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    desk.topics.failing["topic_lookup"] = [
        KafkaException(KafkaError(KafkaError._TIMED_OUT, "for the controller"))
    ] * times
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.texts() == ["one"]
    errors = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert ["for the controller" in message for message in errors] == [True] * (times - 1)


def test_offsets_that_the_brokers_hold_back_are_a_problem_with_what_to_do(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.topics.write(PLACE, b"one")
    desk.topics.failing["committed"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))]
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    assert "a transaction that has some of them is not ended yet" in caplog.text
    assert "kafka-transactions.sh" in caplog.text
    assert desk.texts() == ["one"]
    assert desk.problems.now == {}


def test_errors_are_problems_in_words_until_it_works_again(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    desk.begin()
    desk.consumer.on_error(KafkaError(KafkaError._AUTHENTICATION, "SASL authentication error"))
    words = desk.problems.now["kafka group g"]
    assert words.startswith("the broker refuses to let the user in; check username, password and sasl.mechanism")
    desk.consumer.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert desk.problems.now["kafka group g"] == words
    desk.topics.write(PLACE, b"one")
    desk.consumer.give(PLACE)
    desk.step()
    assert desk.problems.now == {}
    assert "kafka group g is read again" in caplog.text


def test_a_broker_of_several_that_dies_is_no_problem_and_brokers_that_answer_again_are_none(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    desk.consumer.on_error(KafkaError(KafkaError._TRANSPORT, "b:1/2: Connect to ipv4#10.0.0.2:1 failed: refused"))
    assert desk.problems.now == {}
    desk.consumer.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down"))
    assert list(desk.problems.now) == ["kafka group g"]
    desk.step(30)  # no record comes, and the topics are looked at
    assert desk.problems.now == {}


@pytest.mark.parametrize("is_given", [False, True])
def test_a_member_with_nothing_to_read_notices_that_brokers_answer_again(desk: Desk, is_given: bool) -> None:
    desk.options["topics"] = ("^logs-",)
    desk.begin()
    if is_given:
        desk.consumer.give()
    desk.step()
    refused = KafkaError(KafkaError._TRANSPORT, "b:1/2: Connect to ipv4#10.0.0.2:1 failed: refused")
    desk.consumer.on_error(refused)
    desk.clock.advance(30)
    desk.consumer.on_error(refused)
    desk.consumer.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down"))
    assert sorted(desk.problems.now) == ["kafka brokers of group g", "kafka group g"]
    desk.topics.failing["topic_lookup"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))] * 3
    desk.step(30)
    assert desk.problems.now
    desk.step(120)
    assert desk.problems.now == {}


def test_a_commit_that_succeeds_ends_the_problem_of_the_one_before(desk: Desk) -> None:
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    (batch,) = desk.read()
    desk.topics.failing["commit"] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))]
    batch.resolve()
    desk.step()
    assert list(desk.problems.now) == ["kafka group g"]
    desk.step(3)
    assert (desk.problems.now, desk.topics.committed) == ({}, {PLACE: 1})


def test_commits_that_fail_are_one_problem_although_records_come(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.begin()
    desk.consumer.give(PLACE)
    desk.topics.failing["commit"] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))] * 100
    for _ in range(10):
        desk.topics.write(PLACE, b"one")
        desk.step(2)
        for batch in desk.read():
            batch.resolve()
    assert list(desk.problems.now) == ["kafka group g"]
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
    desk.topics.failing.clear()
    desk.step(3)
    assert desk.problems.now == {}


def test_look_ups_of_topics_that_have_no_answer_hold_up_records_more_and_more_seldom(desk: Desk) -> None:
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    unanswered = [KafkaException(KafkaError(KafkaError._TIMED_OUT, "waiting for controller"))] * 100
    desk.topics.failing["topic_lookup"] = unanswered
    desk.step(240)
    assert len(unanswered) == 100 - 5  # in two minutes: after 5, 5, 10, 20 and 40 seconds
    unanswered.clear()
    desk.step(120)
    desk.topics.recreate("logs")
    desk.step(11)  # it is asked every five seconds again
    assert desk.session.is_over


def test_with_once_what_is_there_at_the_assignment_is_read_and_no_more(desk: Desk) -> None:
    desk.once = True
    desk.topics.write(PLACE, b"one", b"two")
    desk.begin()
    desk.consumer.give(PLACE, OTHER)
    desk.consumer._pending.append(lambda: desk.topics.write(PLACE, b"later"))
    desk.step(3)
    assert desk.texts() == ["one", "two"]
    assert all(partition.stopped for partition in desk.session.rebalances.partitions.values())


@pytest.mark.parametrize("way", ["a message", "the callback of errors"])
def test_a_client_that_has_failed_permanently_says_why(desk: Desk, way: str) -> None:
    desk.begin()
    fenced = KafkaError(KafkaError.FENCED_INSTANCE_ID).str()
    fatal = KafkaError(KafkaError._FATAL, f"Fatal error: {fenced}")  # as the client gives it, without its code or mark
    if way == "a message":
        desk.topics.records[PLACE] = [FakeMessage(PLACE, 0, failure=fatal)]
        desk.consumer.positions[PLACE] = 0
        desk.step()
    else:
        desk.consumer.on_error(fatal)
    assert desk.session.failure.startswith("another member of the group g has the same group_instance_id; give each")
    assert desk.problems.now["kafka group g"] == desk.session.failure


def test_where_no_topic_exists_there_is_nothing_to_wait_for(desk: Desk) -> None:
    desk.begin()
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    desk.topics.records[PLACE] = [FakeMessage(PLACE, 0, failure=unknown)]
    desk.consumer.positions[PLACE] = 0
    assert desk.session.assignment is None
    desk.step()
    assert desk.session.assignment == {}
    assert desk.problems.now["kafka topic logs"].startswith("the topic logs does not exist; create it")


def test_a_pattern_that_matches_nothing_is_a_problem_until_a_topic_matches(desk: Desk) -> None:
    desk.options["topics"] = ("^lo", "^other")
    desk.begin()
    for pattern in ("^lo", "^other"):
        desk.topics.records[pattern, 0] = [
            FakeMessage((pattern, 0), 0, failure=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        ]
        desk.consumer.positions[pattern, 0] = 0
    desk.step()
    assert desk.problems.now["kafka topic ^lo"].startswith("no topic matches ^lo; create one, or remove it from topics")
    desk.consumer.positions.clear()
    desk.consumer.give(PLACE)
    desk.step()
    assert list(desk.problems.now) == ["kafka topic ^other"]


def test_a_topic_that_exists_now_is_no_problem_where_other_members_read_it(desk: Desk) -> None:
    desk.topics.ids["logs"] = ""
    desk.begin()
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    desk.topics.records[PLACE] = [FakeMessage(PLACE, 0, failure=unknown)]
    desk.consumer.positions[PLACE] = 0
    desk.step()
    desk.consumer.positions.clear()
    desk.step(20)
    assert list(desk.problems.now) == ["kafka topic logs"]
    desk.topics.ids["logs"] = "id-logs"
    desk.step(20)
    assert desk.problems.now == {}


def test_what_is_in_flight_of_a_deleted_topic_is_not_left_to_another_member(desk: Desk) -> None:
    batch, partition = in_flight(desk)
    desk.topics.deleted.add("logs")
    desk.step(10)
    assert not partition.is_void  # it may be that a broker is behind the others
    desk.step(10)
    assert partition.is_void
    desk.consumer.lose(PLACE)
    desk.step()
    assert (desk.session.rebalances.partitions, batch.source.is_lost()) == ({}, False)


def test_a_topic_that_one_broker_did_not_know_is_not_deleted(desk: Desk) -> None:
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    for _ in range(3):
        desk.topics.deleted = {"logs"}
        desk.step(10)
        desk.topics.deleted = set()
        desk.step(10)
        assert not desk.partition.is_void


def test_a_transaction_gets_the_offsets_of_what_it_has(desk: Desk) -> None:
    staged: list[Node] = []

    def stage(ledger: Ledger, node: Node) -> bool:
        staged.append(node)
        return True

    desk.stage = lambda partition: stage
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step()
    desk.read()[0].resolve()
    ledger = desk.partition.ledger
    assert ledger is not None
    assert (ledger.position, ledger.position_with(set(staged))) == (0, 1)
