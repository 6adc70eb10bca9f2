"""The session of a member: what is handed over, and what is committed, and when."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.room import HANDED_OVER
from log_shipper.shipper.pipeline.acks import Ledger, OpenBatch
from tests.fakes import ManualClock
from tests.member_lab import OTHER, PLACE, MemberLab
from tests.memory_topics import FakeMessage


def test_records_are_handed_over_and_committed_once_they_are_delivered(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one", b"two")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    assert (batch.messages.texts, batch.messages.offsets, batch.messages.lengths) == (["one", "two"], [0, 1], [1, 1])
    assert batch.size == len(b"onetwo")
    lab.step(3)
    assert lab.topics.committed == {PLACE: 0}  # where it begins
    batch.resolve()
    lab.step(2)
    assert lab.topics.committed == {PLACE: 2}


def test_only_the_longest_delivered_run_is_committed(lab: MemberLab) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    for value in (b"one", b"two", b"three"):
        lab.topics.write(PLACE, value)
        lab.step()
    batches = lab.read()
    batches[2].resolve()
    lab.step(2)
    assert lab.topics.committed == {PLACE: 0}
    batches[0].resolve()
    lab.step(2)
    assert lab.topics.committed == {PLACE: 1}
    batches[1].resolve()
    lab.step(2)
    assert lab.topics.committed == {PLACE: 3}


def test_gaps_of_compaction_and_markers_at_the_end_are_committed_past(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one", b"compacted", b"three")
    del lab.topics.records[PLACE][1]
    lab.topics.skip(PLACE, 1)  # the marker of a transaction
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step(2)
    (batch,) = lab.read()
    assert batch.messages.offsets == [0, 2]
    batch.resolve()
    lab.step(2)
    assert lab.topics.committed == {PLACE: 4}


class OddMessage(FakeMessage):
    """Its header has a name that is not UTF-8."""

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        if self.beside is None:
            raise SystemError("returned a result with an exception set")
        return self.beside

    def set_headers(self, value: Sequence[tuple[str, bytes | None]]) -> None:
        object.__setattr__(self, "beside", value)


def test_a_record_whose_headers_cannot_be_read_is_read_without_them(
    lab: MemberLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.topics.write(PLACE, b"one", beside=[("h", b"1")])
    lab.topics.records[PLACE].append(OddMessage(PLACE, 1, b"two"))
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    assert batch.messages.texts == ["one", "two"]
    assert batch.messages.docs is not None
    assert [doc["kafka"]["headers"] for doc in batch.messages.docs] == [["h: 1"], []]
    assert "record header name is not UTF-8: logs[0] from offset 1" in caplog.text


def test_a_group_resumes_at_its_offset(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one", b"two")
    lab.topics.committed[PLACE] = 1
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.texts() == ["two"]


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
    lab: MemberLab, initial: object, texts: list[str], committed: dict[object, int]
) -> None:
    lab.options["initial_offset"] = initial
    lab.topics.write(PLACE, b"early", time=(1, 1_763_000_000_000))
    lab.topics.write(PLACE, b"late", time=(1, 1_763_000_002_000))
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert (lab.texts(), lab.topics.committed) == (texts, committed)


def test_a_partition_that_is_taken_is_awaited_and_committed_before(lab: MemberLab, clock: ManualClock) -> None:
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    partition = lab.partition
    in_settle: list[bool] = []

    def deliver_meanwhile() -> None:
        in_settle.append(partition.is_ending)
        batch.resolve()

    partition.settled = _Calling(deliver_meanwhile)  # type: ignore[assignment]  # what the wait does
    lab.consumer.plan_revocation(PLACE)
    lab.step()
    assert in_settle == [True]
    assert lab.topics.committed == {PLACE: 1}
    assert partition.is_lost


@pytest.mark.parametrize("place", [PLACE, OTHER])
def test_a_record_received_just_before_a_rebalance_is_handed_over_once(lab: MemberLab, place: Place) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()

    def rebalance() -> None:
        lab.consumer.before_consume = lambda: None
        lab.consumer.plan_revocation(PLACE)
        lab.consumer.plan_assignment(place)
        lab.consumer.rebalance()

    lab.topics.write(PLACE, b"one", b"two")
    lab.topics.write(OTHER, b"other")
    lab.consumer.before_consume = rebalance
    lab.step(3)
    (partition,) = lab.session.rebalances.partitions.values()
    texts = [text for batch in lab.read(partition) for text in batch.messages.texts]
    assert texts == (["one", "two"] if place == PLACE else ["other"])


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
    lab: MemberLab, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    partition = lab.partition
    partition.settled = _Calling(lambda: clock.advance(1))  # type: ignore[assignment]  # what the wait does
    lab.consumer.plan_revocation(PLACE)
    lab.step()
    assert "records in flight of logs[0] were not delivered within wait_close (2 s)" in caplog.text
    batch.resolve()
    lab.step(2)
    assert lab.topics.committed in ({}, {PLACE: 0})


def test_of_a_lost_partition_nothing_is_committed_nor_handed_over(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    partition = lab.partition
    lab.topics.write(PLACE, b"two")
    lab.step()
    lab.consumer.plan_loss(PLACE)
    lab.step()
    batch.resolve()
    lab.step(2)
    assert lab.topics.committed in ({}, {PLACE: 0})
    assert partition.next_block() is None
    assert batch.source.is_lost()


@pytest.mark.parametrize(("strategy", "rest"), [("range", None), ("cooperative-sticky", {})])
def test_between_what_was_taken_and_what_is_given_then_it_is_not_known_what_there_is_to_read(
    lab: MemberLab, strategy: str, rest: dict[Place, Partition] | None
) -> None:
    """With --once nothing would be the end of all. A group that takes only what others get leaves the rest."""
    lab.options["rebalance"] = rebalance_config(strategy)
    lab.begin()
    assert lab.session.assignment is None
    for plan, left in ((lab.consumer.plan_revocation, rest), (lab.consumer.plan_loss, None)):
        lab.consumer.plan_assignment(PLACE)
        lab.step()
        assert list(lab.session.assignment or ()) == [PLACE]
        plan(PLACE)
        lab.step()
        assert lab.session.assignment == left
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.session.close()
    assert lab.session.assignment is None


def test_a_consumer_that_leaves_the_group_takes_its_time_with_nothing_to_read(lab: MemberLab) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    seen: list[object] = []

    def leave() -> None:
        lab.session.rebalances.revoked(lab.consumer, [TopicPartition(*PLACE)])
        seen.append(lab.session.assignment)

    lab.consumer.close = leave  # type: ignore[method-assign]  # as the client does, and takes seconds for it
    lab.session.close()
    assert seen == [None]


def test_with_transactions_the_group_is_left_to_them(lab: MemberLab) -> None:
    lab.commits = False
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.read()[0].resolve()
    lab.step(3)
    assert lab.consumer.commit_calls == []


def test_one_commit_at_a_time_and_one_that_fails_is_repeated(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.read()[0].resolve()
    lab.topics.failing["commit"] = [KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))]
    lab.step(3)
    assert lab.consumer.commit_calls == [{PLACE: 1}]
    lab.step(3)
    assert lab.consumer.commit_calls == [{PLACE: 1}]


def test_what_is_not_taken_pauses_its_partition_and_no_other(lab: MemberLab) -> None:
    large = b"x" * (HANDED_OVER // 4)
    lab.begin()
    lab.consumer.plan_assignment(PLACE, OTHER)
    for _ in range(20):
        lab.topics.write(PLACE, large)
        lab.step()
    assert lab.consumer.paused == {PLACE}
    assert lab.partition.waiting_bytes < 2 * HANDED_OVER
    lab.topics.write(OTHER, b"small")
    lab.step()
    other = lab.session.rebalances.partitions[OTHER]
    assert [batch.messages.texts for batch in lab.read(other)] == [["small"]]
    lab.read()
    lab.step()
    assert lab.consumer.paused == set()
    lab.step(20)
    assert len(lab.read()) > 0


def test_lost_records_are_logged_counted_and_read_past(lab: MemberLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.topics.write(PLACE, *[b"x"] * 10)
    lab.topics.committed[PLACE] = 2
    lab.topics.delete_before(PLACE, 7)
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step(2)
    assert lab.read()[0].messages.offsets == [7, 8, 9]
    assert lab.session.rebalances.records_lost == 5
    assert "offset 2 of logs[0] is no longer in Kafka, which has 7 to 9. Continuing at offset 7" in caplog.text


def in_flight(lab: MemberLab) -> tuple[Batch, Partition]:
    """Return a batch that is in flight, of one record, and its partition."""
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    return batch, lab.partition


def test_what_is_in_flight_when_records_are_lost_is_sent_without_an_offset(lab: MemberLab) -> None:
    batch, before = in_flight(lab)
    lab.topics.write(PLACE, *[b"x"] * 9)
    lab.topics.delete_before(PLACE, 7)
    lab.step(2)
    assert lab.partition is not before
    assert (batch.source.is_lost(), before.is_void, lab.partition.is_void) == (False, True, False)
    assert lab.session.rebalances.records_lost == 6


def test_lost_records_that_the_client_reports_twice_are_read_past_once(lab: MemberLab) -> None:
    lab.topics.write(PLACE, *[b"x"] * 10)
    lab.topics.committed[PLACE] = 2
    lab.topics.delete_before(PLACE, 7)
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step(2)
    (batch,), before = lab.read(), lab.partition
    lab.topics.write(PLACE, b"later")
    lab.session.rebalances.out_of_range(lab.consumer, PLACE)
    lab.step(2)
    assert lab.partition is before
    assert (batch.messages.offsets, lab.texts()) == ([7, 8, 9], ["later"])
    assert lab.session.rebalances.records_lost == 5


@pytest.mark.parametrize("policy", ["earliest", "latest", "fail"])
def test_records_that_are_deleted_before_the_first_fetch_are_not_lost(lab: MemberLab, policy: str) -> None:
    lab.options |= {"out_of_range": policy, "rebalance": rebalance_config("cooperative-sticky")}
    lab.topics.write(PLACE, *[b"old"] * 7, b"new")
    lab.begin()
    lab.consumer.paused.add(PLACE)
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.consumer.positions[PLACE] = 0  # looked up
    lab.topics.delete_before(PLACE, 7)
    lab.consumer.paused.clear()
    lab.step(2)
    assert lab.texts() == ["new"]
    assert (lab.session.rebalances.records_lost, lab.problems.now) == (0, {})


def test_with_fail_the_partition_stops_with_a_problem_and_others_do_not(lab: MemberLab) -> None:
    lab.options["out_of_range"] = "fail"
    lab.topics.write(PLACE, *[b"x"] * 10)
    lab.topics.write(OTHER, b"well")
    lab.topics.committed[PLACE] = 2
    lab.topics.delete_before(PLACE, 7)
    lab.begin()
    lab.consumer.plan_assignment(PLACE, OTHER)
    lab.step(3)
    assert lab.texts() == []
    assert "offset 2 of logs[0]" in lab.problems.now["kafka topic logs[0]"]
    assert lab.topics.committed[PLACE] == 2
    assert [batch.messages.texts for batch in lab.read(lab.session.rebalances.partitions[OTHER])] == [["well"]]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_topic_that_is_made_again_is_another_one_and_is_read_from_its_first_record(
    lab: MemberLab, strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options["rebalance"] = rebalance_config(strategy)
    lab.topics.write(PLACE, b"old", b"older")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (old,) = lab.read()
    before = lab.partition
    lab.topics.recreate("logs")
    lab.topics.write(PLACE, b"new", b"newer", b"newest")
    lab.clock.advance(60)
    assert not lab.session.is_over
    lab.step(3)
    assert "topic logs was re-created" in caplog.text
    assert lab.session.is_over
    old.resolve()
    lab.session.finish()
    lab.session.close()
    assert lab.topics.committed == {PLACE: 0}
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.texts() == ["new", "newer", "newest"]
    assert (old.source.is_lost(), before.is_void, lab.partition.topic_id != before.topic_id) == (False, True, True)
    assert not lab.session.is_over


def test_a_topic_that_is_another_one_is_reported_once(lab: MemberLab, caplog: pytest.LogCaptureFixture) -> None:
    _, before = in_flight(lab)
    lab.topics.recreate("logs")
    lab.clock.advance(60)
    lab.step()  # which finds that the next offset does not exist, and looks at the topics
    assert caplog.text.count("topic logs was re-created") == 1
    assert (before.is_void, lab.session.is_over) == (True, True)


def test_a_consumer_that_gets_a_topic_again_which_is_another_one_by_now_is_of_no_more_use(lab: MemberLab) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.consumer.plan_loss(PLACE)
    lab.step()
    assert not lab.session.is_over
    lab.topics.recreate("logs")
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.session.is_over


@pytest.mark.parametrize("initial", ["earliest", "latest"])
def test_an_offset_of_a_former_topic_is_none_of_the_one_that_has_its_name_now(
    lab: MemberLab, initial: str, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options["initial_offset"] = initial
    lab.topics.recreate("logs")
    lab.topics.write(PLACE, b"new", b"newer", b"newest")
    # Committed by a member that did not know yet, after the brokers had removed the offsets of the former.
    lab.topics.committed[PLACE], lab.topics.metadata[PLACE] = 2, "shipper 1: topic id-logs cuts 3"
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert "topic logs was re-created" in caplog.text
    assert "acknowledged offsets: [0] 2" in caplog.text
    (batch,) = lab.read()
    assert (batch.messages.texts, lab.partition.cuts) == (["new", "newer", "newest"], ())
    batch.resolve()
    lab.step(2)
    assert lab.topics.committed[PLACE] == 3
    assert lab.topics.metadata[PLACE] == f"shipper 1: topic {lab.partition.topic_id} of 0"


@pytest.mark.parametrize("brokers_know_ids", [False, True])
def test_an_offset_of_a_topic_whose_id_is_not_known_is_taken(lab: MemberLab, brokers_know_ids: bool) -> None:
    lab.topics.write(PLACE, b"one", b"two", b"three")
    lab.topics.committed[PLACE] = 2
    if not brokers_know_ids:
        lab.topics.ids["logs"] = ""
        lab.topics.metadata[PLACE] = "shipper 1: topic id-logs"
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.texts() == ["three"]


def rebalance_config(strategy: str) -> object:
    from log_shipper.shipper.inputs.kafka.options import RebalanceConfig

    return RebalanceConfig(strategy=strategy)  # type: ignore[arg-type]  # one of the choices


def test_a_broker_that_is_away_at_an_assignment_is_awaited(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one")
    lab.topics.failing["committed"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))] * 2
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.texts() == ["one"]
    assert lab.problems.now == {}


@pytest.mark.parametrize("times", [1, 2])
def test_a_broker_that_gives_no_answer_at_an_assignment_is_a_problem_where_another_gives_none_either(
    lab: MemberLab, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    lab.topics.failing["topic_lookup"] = [
        KafkaException(KafkaError(KafkaError._TIMED_OUT, "for the controller"))
    ] * times
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.texts() == ["one"]
    errors = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert ["for the controller" in message for message in errors] == [True] * (times - 1)


def test_offsets_that_the_brokers_hold_back_are_a_problem_with_what_to_do(
    lab: MemberLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.topics.write(PLACE, b"one")
    lab.topics.failing["committed"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))]
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert "a member died with an open transaction" in caplog.text
    assert "kafka-transactions.sh" in caplog.text
    assert lab.texts() == ["one"]
    assert lab.problems.now == {}


def test_errors_are_problems_in_words_until_it_works_again(lab: MemberLab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    lab.begin()
    lab.consumer.on_error(KafkaError(KafkaError._AUTHENTICATION, "SASL authentication error"))
    words = lab.problems.now["kafka group g"]
    assert words.startswith("authentication failed; check username, password and sasl.mechanism")
    lab.consumer.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert lab.problems.now["kafka group g"] == words
    lab.topics.write(PLACE, b"one")
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert lab.problems.now == {}
    assert "reading kafka group g again" in caplog.text


def test_a_broker_of_several_that_dies_is_no_problem_and_brokers_that_answer_again_are_none(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.consumer.on_error(KafkaError(KafkaError._TRANSPORT, "b:1/2: Connect to ipv4#10.0.0.2:1 failed: refused"))
    assert lab.problems.now == {}
    lab.consumer.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down"))
    assert list(lab.problems.now) == ["kafka group g"]
    lab.step(30)  # no record comes, and the topics are looked at
    assert lab.problems.now == {}


@pytest.mark.parametrize("is_given", [False, True])
def test_a_member_with_nothing_to_read_notices_that_brokers_answer_again(lab: MemberLab, is_given: bool) -> None:
    lab.options["topics"] = ("^logs-",)
    lab.begin()
    if is_given:
        lab.consumer.plan_assignment()
    lab.step()
    refused = KafkaError(KafkaError._TRANSPORT, "b:1/2: Connect to ipv4#10.0.0.2:1 failed: refused")
    lab.consumer.on_error(refused)
    lab.clock.advance(30)
    lab.consumer.on_error(refused)
    lab.consumer.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down"))
    assert sorted(lab.problems.now) == ["kafka brokers of group g", "kafka group g"]
    lab.topics.failing["topic_lookup"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))] * 3
    lab.step(30)
    assert lab.problems.now
    lab.step(120)
    assert lab.problems.now == {}


def test_a_commit_that_succeeds_ends_the_problem_of_the_one_before(lab: MemberLab) -> None:
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    (batch,) = lab.read()
    lab.topics.failing["commit"] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))]
    batch.resolve()
    lab.step()
    assert list(lab.problems.now) == ["kafka group g"]
    lab.step(3)
    assert (lab.problems.now, lab.topics.committed) == ({}, {PLACE: 1})


def test_commits_that_fail_are_one_problem_although_records_come(
    lab: MemberLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.topics.failing["commit"] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))] * 100
    for _ in range(10):
        lab.topics.write(PLACE, b"one")
        lab.step(2)
        for batch in lab.read():
            batch.resolve()
    assert list(lab.problems.now) == ["kafka group g"]
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
    lab.topics.failing.clear()
    lab.step(3)
    assert lab.problems.now == {}


def test_look_ups_of_topics_that_have_no_answer_hold_up_records_more_and_more_seldom(lab: MemberLab) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    unanswered = [KafkaException(KafkaError(KafkaError._TIMED_OUT, "waiting for controller"))] * 100
    lab.topics.failing["topic_lookup"] = unanswered
    lab.step(240)
    assert len(unanswered) == 100 - 5  # in two minutes: after 5, 5, 10, 20 and 40 seconds
    unanswered.clear()
    lab.step(120)
    lab.topics.recreate("logs")
    lab.step(11)  # it is asked every five seconds again
    assert lab.session.is_over


def test_with_once_what_is_there_at_the_assignment_is_read_and_no_more(lab: MemberLab) -> None:
    lab.once = True
    lab.topics.write(PLACE, b"one", b"two")
    lab.begin()
    lab.consumer.plan_assignment(PLACE, OTHER)
    lab.consumer._pending.append(lambda: lab.topics.write(PLACE, b"later"))
    lab.step(3)
    assert lab.texts() == ["one", "two"]
    assert all(partition.stopped for partition in lab.session.rebalances.partitions.values())


@pytest.mark.parametrize("way", ["a message", "the callback of errors"])
def test_a_client_that_has_failed_permanently_says_why(lab: MemberLab, way: str) -> None:
    lab.begin()
    fenced = KafkaError(KafkaError.FENCED_INSTANCE_ID).str()
    fatal = KafkaError(KafkaError._FATAL, f"Fatal error: {fenced}")  # as the client gives it, without its code or mark
    if way == "a message":
        lab.topics.records[PLACE] = [FakeMessage(PLACE, 0, failure=fatal)]
        lab.consumer.positions[PLACE] = 0
        lab.step()
    else:
        lab.consumer.on_error(fatal)
    assert lab.session.failure.startswith("another member of group g has the same group_instance_id; give each")
    assert lab.problems.now["kafka group g"] == lab.session.failure


def test_where_no_topic_exists_there_is_nothing_to_wait_for(lab: MemberLab) -> None:
    lab.begin()
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    lab.topics.records[PLACE] = [FakeMessage(PLACE, 0, failure=unknown)]
    lab.consumer.positions[PLACE] = 0
    assert lab.session.assignment is None
    lab.step()
    assert lab.session.assignment == {}
    assert lab.problems.now["kafka topic logs"].startswith("topic logs does not exist; create it")


def test_a_pattern_that_matches_nothing_is_a_problem_until_a_topic_matches(lab: MemberLab) -> None:
    lab.options["topics"] = ("^lo", "^other")
    lab.begin()
    for pattern in ("^lo", "^other"):
        lab.topics.records[pattern, 0] = [
            FakeMessage((pattern, 0), 0, failure=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        ]
        lab.consumer.positions[pattern, 0] = 0
    lab.step()
    assert lab.problems.now["kafka topic ^lo"].startswith("no topic matches ^lo; create one, or remove it from topics")
    lab.consumer.positions.clear()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert list(lab.problems.now) == ["kafka topic ^other"]


def test_a_topic_that_exists_now_is_no_problem_where_other_members_read_it(lab: MemberLab) -> None:
    lab.topics.ids["logs"] = ""
    lab.begin()
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    lab.topics.records[PLACE] = [FakeMessage(PLACE, 0, failure=unknown)]
    lab.consumer.positions[PLACE] = 0
    lab.step()
    lab.consumer.positions.clear()
    lab.step(20)
    assert list(lab.problems.now) == ["kafka topic logs"]
    lab.topics.ids["logs"] = "id-logs"
    lab.step(20)
    assert lab.problems.now == {}


def test_what_is_in_flight_of_a_deleted_topic_is_not_left_to_another_member(lab: MemberLab) -> None:
    batch, partition = in_flight(lab)
    lab.topics.deleted.add("logs")
    lab.step(10)
    assert not partition.is_void  # it may be that a broker is behind the others
    lab.step(10)
    assert partition.is_void
    lab.consumer.plan_loss(PLACE)
    lab.step()
    assert (lab.session.rebalances.partitions, batch.source.is_lost()) == ({}, False)


def test_a_topic_that_one_broker_did_not_know_is_not_deleted(lab: MemberLab) -> None:
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    for _ in range(3):
        lab.topics.deleted = {"logs"}
        lab.step(10)
        lab.topics.deleted = set()
        lab.step(10)
        assert not lab.partition.is_void


def test_a_transaction_gets_the_offsets_of_what_it_has(lab: MemberLab) -> None:
    staged: list[OpenBatch] = []

    def stage(ledger: Ledger, node: OpenBatch) -> bool:
        staged.append(node)
        return True

    lab.stage = lambda partition: stage
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    lab.read()[0].resolve()
    ledger = lab.partition.ledger
    assert ledger is not None
    assert (ledger.position, ledger.position_with(set(staged))) == (0, 1)
