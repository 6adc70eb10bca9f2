"""Transactions: what is committed together, and what happens to a transaction that fails."""

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import orjson
import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.errors import Fenced, StartError
from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.partitions import InGroups, Partitions
from log_shipper.shipper.output.positions_topic import Owner
from log_shipper.shipper.output.silent_topics import MAX_SILENT, STALLED
from log_shipper.shipper.output.transaction import TransactionLimits
from log_shipper.shipper.output.transactional_id import PATIENCE, Patience, TransactionalId
from log_shipper.shipper.output.transactions import Transactions
from tests.builders import RecordedDeliveries, batch
from tests.fake_transactions import (
    POSITIONS,
    FakeTransactionalProducer,
    MemoryPositions,
    NoAnswer,
    PlannedPositions,
    TransactionalKafka,
    Written,
    failure,
)
from tests.fakes import ManualClock, kafka_context
from tests.unit.shipper.output.test_partitions import await_known

INTERVAL = 0.1
OWNER = Owner("ours", "web-1", 7, "2026-11-23T10:00:00.000Z")
OTHER = Owner("theirs", "web-2", 8, "2026-11-23T11:00:00.000Z")


def forever() -> bool:
    return False


@dataclass
class TransactionsLab:
    """An output of transactions, and the cluster that it writes to."""

    clock: ManualClock
    kafka: TransactionalKafka = field(default_factory=TransactionalKafka)
    deliveries: RecordedDeliveries = field(default_factory=RecordedDeliveries)
    metrics: Metrics = field(default_factory=Metrics)
    positions: PlannedPositions = field(default_factory=PlannedPositions)
    renewals: int = 0
    partitions: Partitions | None = None
    patience: Patience = PATIENCE
    refused: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.output = self.make(OWNER)
        self.output.start(forever)

    def make(self, owner: Owner) -> Transactions:
        identity = TransactionalId(self.kafka.connect, MemoryPositions(self.kafka), owner, self.patience)
        kafka = kafka_context(
            self.clock,
            topics=lambda batch: Topics("logs", refused=self.refused),
            metrics=self.metrics,
            are_renewed=self.are_renewed,
            partitions=self.partitions,
        )
        return Transactions(identity, kafka, self.deliveries, self.positions, TransactionLimits(INTERVAL, 100, 100_000))

    def are_renewed(self) -> bool:
        came, self.renewals = self.renewals > 0, 0
        return came

    @property
    def producer(self) -> FakeTransactionalProducer:
        return self.kafka.producers[-1]

    @property
    def landed(self) -> list[str]:
        return [orjson.loads(value)["message"] for value in self.kafka.landed]

    def publish(self, *texts: str, file_id: str = "f1", start: int = 0) -> Batch:
        sent = batch(texts, file_id, start)
        self.output.publish(sent)
        return sent

    def poll(self, times: int = 1) -> None:
        for _ in range(times):
            self.output.poll(60.0)  # real seconds: the calls that block run in a thread, which may be late

    def drain(self) -> None:
        """Let time pass until nothing is in flight."""
        self.drain_until(lambda: not self.output.in_flight)

    def drain_until(self, is_over: Callable[[], bool]) -> None:
        for _ in range(500):
            if is_over():
                return
            self.clock.advance(INTERVAL)
            self.poll()
        raise AssertionError("does not drain")


@pytest.fixture
def lab(clock: ManualClock) -> TransactionsLab:
    return TransactionsLab(clock)


def test_what_comes_within_an_interval_is_one_transaction_with_its_positions(lab: TransactionsLab) -> None:
    lab.publish("a", "b")
    last = lab.publish("c", start=4)
    lab.poll(3)
    assert (lab.landed, lab.deliveries.texts) == ([], [])
    lab.clock.advance(INTERVAL)
    lab.poll(3)
    assert (lab.landed, lab.deliveries.texts) == (["a", "b", "c"], ["a", "b", "c"])
    assert lab.kafka.positions["web-1 f1"] == b"%d" % last.messages.end
    assert (lab.metrics.transactions_committed, lab.positions.commits) == (1, 1)


def test_the_partitions_of_records_are_chosen_as_without_transactions(clock: ManualClock) -> None:
    chosen = Partitions(InGroups(1, at_random=False), lambda topic: (4, 5, 6), clock, lambda error, topic: None)
    lab = TransactionsLab(clock, partitions=chosen)
    lab.publish("a", "b", "c")
    await_known(chosen, Topics("logs"))
    lab.drain()
    records = [record for record in lab.kafka.committed if record.topic == "logs"]
    assert {record.partition for record in records} == {4, 5, 6}


def test_a_transaction_ends_early_when_it_is_full(lab: TransactionsLab) -> None:
    lab.publish(*map(str, range(100)))
    lab.publish("later", start=1000)
    lab.poll(3)
    assert len(lab.kafka.transactions) == 2  # the first had the owner only
    assert len(lab.kafka.transactions[1]) == 100
    lab.drain()
    assert lab.landed[-1] == "later"


def test_what_comes_while_a_transaction_ends_waits_for_the_next(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.clock.advance(INTERVAL)
    lab.producer.paused = True
    lab.poll()
    lab.publish("b", start=2)
    lab.producer.paused = False
    lab.drain()
    assert [[orjson.loads(w.value)["message"] for w in group] for group in lab.kafka.transactions[1:]] == [
        ["a"],
        ["b"],
    ]


def test_a_failed_transaction_is_aborted_and_the_same_batches_are_sent_again(lab: TransactionsLab) -> None:
    lab.kafka.fail("commit_transaction", failure(KafkaError.COORDINATOR_NOT_AVAILABLE, abort=True))
    lab.publish("a")
    lab.publish("b", file_id="f2")
    lab.drain()
    assert lab.landed == ["a", "b"]
    assert (lab.kafka.aborted, lab.metrics.transactions_aborted, len(lab.positions.prepared)) == (1, 1, 1)


def test_a_commit_without_answer_is_repeated(lab: TransactionsLab) -> None:
    lab.kafka.fail("commit_transaction", failure(KafkaError._TIMED_OUT, retriable=True))
    lab.publish("a")
    lab.drain()
    assert (lab.landed, lab.kafka.aborted) == (["a"], 0)


@pytest.mark.parametrize("was_committed", [True, False])
def test_a_commit_whose_answer_was_lost_for_good_is_decided_by_the_positions_topic(
    lab: TransactionsLab, was_committed: bool
) -> None:
    lab.kafka.lost_answers = was_committed
    lab.kafka.fail("commit_transaction", failure(KafkaError._FATAL, fatal=True))
    lab.publish("a")
    lab.drain()
    assert (lab.landed, lab.deliveries.texts) == (["a"], ["a"])
    assert len(lab.kafka.producers) == 2


def test_a_producer_that_is_replaced_with_positions_in_its_open_transaction_does_not_wait_for_its_end(
    lab: TransactionsLab,
) -> None:
    lab.kafka.fail("commit_transaction", failure(KafkaError._FATAL, fatal=True))
    lab.publish("a")
    lab.poll()
    lab.clock.advance(INTERVAL)
    lab.poll(3)
    assert len(lab.kafka.producers) == 2
    lab.drain()
    assert (lab.landed, lab.deliveries.texts) == (["a"], ["a"])


@pytest.mark.parametrize("call", ["begin_transaction", "produce_batch"])
def test_a_producer_that_failed_before_the_commit_is_replaced(lab: TransactionsLab, call: str) -> None:
    lab.kafka.fail(call, failure(KafkaError._FATAL, fatal=True))
    lab.kafka.fail("init_transactions", failure(KafkaError._TIMED_OUT, retriable=True))
    lab.publish("a")
    lab.drain()
    assert lab.landed == ["a"]


def test_a_producer_that_cannot_be_created_now_is_created_later(
    lab: TransactionsLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.kafka.fail("begin_transaction", failure(KafkaError._FATAL, fatal=True))
    lab.kafka.fail("connect", *[StartError("the keytab cannot be read")] * 2)
    lab.publish("a")
    began = lab.clock.monotonic()
    lab.drain()
    assert (lab.landed, lab.deliveries.texts) == (["a"], ["a"])
    assert "the keytab cannot be read" in caplog.text
    assert lab.clock.monotonic() - began >= 3.0, "it waits for 1 s, and for 2 s"


def test_a_second_shipper_fences_the_first_which_names_it(lab: TransactionsLab) -> None:
    lab.publish("a")
    second = lab.make(OTHER)
    assert second.start(forever) == {}
    lab.clock.advance(INTERVAL)
    with pytest.raises(Fenced, match=re.escape(str(OTHER))):
        lab.poll(10)
    assert lab.landed == []


def test_a_start_returns_what_was_committed_under_the_id(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.drain()
    assert lab.make(OTHER).start(forever) == {"f1": b"2"}


def test_a_start_waits_until_kafka_answers(lab: TransactionsLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.kafka.fail("init_transactions", *[failure(KafkaError._TIMED_OUT, retriable=True)] * 3)
    assert lab.make(OTHER).start(forever) == {}
    assert "set transaction.state.log.replication.factor" in caplog.text


def test_a_start_that_waits_ends_when_the_agent_is_to_stop(lab: TransactionsLab) -> None:
    lab.kafka.fail("init_transactions", *[failure(KafkaError._TIMED_OUT, retriable=True)] * 3)
    answers = iter([False, True])
    assert lab.make(OTHER).start(lambda: next(answers)) is None


@pytest.mark.parametrize("code", [KafkaError.INVALID_RECORD, KafkaError.MSG_SIZE_TOO_LARGE])
def test_only_the_record_that_is_refused_alone_is_rejected(lab: TransactionsLab, code: int) -> None:
    def refuses(request: list[Written]) -> int | None:
        return code if any('"bad"' in record.value for record in request) else None

    lab.kafka.refuses = refuses
    texts = ["1", "2", "bad", "4", "5"]
    sent = lab.publish(*texts)
    lab.publish("good", file_id="f2")
    lab.drain()
    assert sorted(lab.landed) == ["1", "2", "4", "5", "good"]
    assert [rejection.index for rejection in lab.deliveries.rejections[sent]] == [2]
    assert lab.metrics.transactions_committed == 1


def test_rejected_events_are_saved_before_the_others_are_committed(lab: TransactionsLab) -> None:
    lab.kafka.refuses = lambda request: (
        KafkaError.INVALID_RECORD if any('"bad"' in record.value for record in request) else None
    )
    lab.deliveries.refuses_saving = True
    lab.publish("good", "bad")
    for _ in range(50):
        lab.clock.advance(1.0)
        lab.poll()
    assert lab.landed == []
    lab.deliveries.refuses_saving = False
    lab.drain()
    assert lab.landed == ["good"]


def test_a_batch_of_which_nothing_can_be_sent_is_rejected_with_the_others_of_its_transaction(
    lab: TransactionsLab,
) -> None:
    lab.refused = {0: "no text", 1: "no text"}
    bad = lab.publish("a", "b")
    lab.refused = {}
    lab.publish("c", start=4)
    lab.drain()
    assert [rejection.reason for rejection in lab.deliveries.rejections[bad]] == ["no text", "no text"]
    assert (lab.landed, lab.kafka.positions["web-1 f1"]) == (["c"], b"6")


def test_what_is_no_verdict_on_a_record_is_repeated_after_a_while(lab: TransactionsLab) -> None:
    lab.kafka.refuses = lambda request: KafkaError.NOT_ENOUGH_REPLICAS
    lab.publish("a")
    lab.poll(5)
    aborted = lab.kafka.aborted
    lab.poll(5)
    assert lab.kafka.aborted == aborted == 1
    lab.kafka.refuses = lambda request: None
    lab.drain()
    assert lab.landed == ["a"]


def test_a_forgotten_file_leaves_the_topic_with_the_next_transaction(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.drain()
    lab.output.forget("f1")
    lab.publish("b", file_id="f2")
    lab.drain()
    assert set(lab.kafka.positions) == {"web-1", "web-1 f2"}


def test_close_aborts_an_open_transaction(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.output.close()
    assert (lab.landed, lab.kafka.aborted) == ([], 1)


def test_renewed_certificates_are_used_by_a_new_producer_and_the_open_transaction_is_repeated(
    lab: TransactionsLab,
) -> None:
    lab.publish("a", "b")
    lab.poll()
    lab.renewals = 1
    lab.poll(2)
    assert len(lab.kafka.producers) == 2
    lab.publish("c", start=4)
    lab.drain()
    assert (lab.landed, lab.deliveries.texts) == (["a", "b", "c"], ["a", "b", "c"])


def test_certificates_that_are_renewed_during_a_commit_leave_nothing_to_repeat(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.poll(2)
    lab.clock.advance(INTERVAL)
    lab.poll()  # commits in the background
    lab.renewals = 1
    lab.poll(3)
    lab.publish("b", start=2)
    lab.drain()
    assert (len(lab.kafka.producers), lab.landed, lab.deliveries.texts) == (2, ["a", "b"], ["a", "b"])


def test_a_commit_that_the_old_certificate_cannot_make_is_left_to_the_renewed_one(lab: TransactionsLab) -> None:
    lab.kafka.fail("commit_transaction", *[failure(KafkaError._TIMED_OUT, retriable=True)] * 20)
    lab.publish("a")
    lab.clock.advance(INTERVAL)
    lab.poll(2)
    lab.renewals = 1
    lab.poll(3)
    assert len(lab.kafka.producers) == 2
    while lab.kafka.next_failure("commit_transaction"):
        pass  # the renewed one can commit
    lab.drain()
    assert (lab.landed, lab.deliveries.texts) == (["a"], ["a"])


def test_a_producer_is_replaced_once_when_the_offsets_of_groups_come_that_it_was_not_made_for(
    lab: TransactionsLab,
) -> None:
    lab.positions.has_groups = True
    lab.publish("a")
    lab.drain()
    lab.poll(3)
    assert (lab.landed, len(lab.kafka.producers)) == (["a"], 2)


def test_a_producer_that_was_made_for_the_offsets_of_groups_is_not_replaced(clock: ManualClock) -> None:
    lab = TransactionsLab(clock, positions=PlannedPositions(has_groups=True))
    lab.publish("a")
    lab.drain()
    assert (lab.landed, len(lab.kafka.producers)) == (["a"], 1)


def test_no_broker_is_reached_before_the_transactional_id_is_taken(lab: TransactionsLab) -> None:
    assert lab.output.reach(0.1)
    assert not lab.make(OTHER).reach(0.1)


def test_a_topic_for_which_the_client_waits_silently_is_looked_up_and_reported(lab: TransactionsLab) -> None:
    lab.kafka.refused = {
        "logs": KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART),
        "other": KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED),
    }
    lab.publish("a")
    lab.producer.paused = True
    lab.clock.advance(STALLED)
    lab.poll(5)
    assert not lab.output.errors.topics_waiting, "it may be answered soon"
    lab.clock.advance(INTERVAL)
    lab.poll(5)
    (words,) = lab.output.errors.waiting().values()
    assert "topic logs" in words
    assert "does not exist" in words
    lab.kafka.refused.clear()
    lab.clock.advance(STALLED)
    lab.poll(10)  # by another producer, as the first is paused for good
    lab.drain()
    assert (lab.landed, lab.output.errors.topics_waiting) == (["a"], 0)


def test_a_topic_that_was_created_again_before_the_first_look_up_gets_another_producer(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.producer.paused = True  # the client does not notice the new topic
    lab.clock.advance(INTERVAL)
    for _ in range(MAX_SILENT + 1):
        assert len(lab.kafka.producers) == 1
        lab.clock.advance(STALLED)
        lab.poll(5)
    lab.drain()
    assert (lab.landed, lab.output.errors.topics_waiting) == (["a"], 0)


def test_a_producer_whose_records_are_taken_slowly_is_not_replaced(lab: TransactionsLab) -> None:
    lab.publish("a", "b", "c", "d", "e", "f", "g", "h")
    lab.producer.paused = True
    lab.clock.advance(INTERVAL)
    for _ in range(2 * MAX_SILENT):
        lab.clock.advance(STALLED)
        lab.poll(5)
        lab.producer.take(1)
    assert len(lab.kafka.producers) == 1


def test_a_topic_is_looked_up_while_parts_wait_that_are_sent_alone(lab: TransactionsLab) -> None:
    refusals = iter([KafkaError.INVALID_RECORD])
    lab.kafka.refuses = lambda request: next(refusals, None)
    lab.publish("a", "b")
    lab.drain_until(lambda: bool(lab.kafka.aborted))
    lab.producer.paused = True
    lab.kafka.refused = {"logs": KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)}
    for _ in range(5):
        lab.clock.advance(STALLED)
        lab.poll(5)
    assert lab.output.errors.topics_waiting == 1


def test_a_topic_that_was_well_again_by_itself_replaces_no_producer_later(lab: TransactionsLab) -> None:
    lab.kafka.refused = {"logs": KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)}
    lab.publish("a")
    lab.producer.paused = True
    lab.clock.advance(INTERVAL + STALLED)
    lab.poll(5)
    assert lab.output.errors.topics_waiting == 1
    lab.kafka.refused.clear()
    lab.producer.paused = False
    lab.drain()
    lab.publish("b", start=2)
    lab.producer.paused = True
    lab.clock.advance(INTERVAL + STALLED)
    lab.poll(5)
    lab.producer.paused = False
    lab.drain()
    assert (lab.landed, len(lab.kafka.producers)) == (["a", "b"], 1)


def test_the_topic_of_the_positions_is_looked_up_too(lab: TransactionsLab) -> None:
    lab.kafka.refused = {POSITIONS: KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)}
    lab.publish("a")
    lab.producer.paused = True
    lab.clock.advance(INTERVAL + STALLED)
    lab.poll(5)
    assert POSITIONS in lab.output.errors.waiting()


def test_close_waits_for_a_look_up_to_abort_the_transaction(lab: TransactionsLab) -> None:
    lab.publish("a")
    lab.producer.paused = True
    lab.clock.advance(INTERVAL + STALLED)
    lab.kafka.answer_after = 0.1
    lab.output.poll(0.0)  # begins to look up
    lab.output.close()
    assert (lab.landed, lab.kafka.aborted) == ([], 1)


class Lost:
    """Whether another member has the partition that the batches are of."""

    def __init__(self) -> None:
        self.is_lost = False

    def publish(self, lab: TransactionsLab, text: str) -> Batch:
        sent = batch([text], "partition", 0)
        sent = replace(sent, source=replace(sent.source, is_lost=lambda: self.is_lost))
        lab.output.publish(sent)
        return sent


def test_what_another_member_reads_again_is_left_out_of_the_transaction_and_the_rest_is_sent(
    lab: TransactionsLab,
) -> None:
    partition = Lost()
    given_up = partition.publish(lab, "theirs")
    lab.publish("ours", file_id="f2")
    lab.poll()
    partition.is_lost = True
    lab.drain()
    assert lab.landed == ["ours"]
    assert (lab.deliveries.lost, lab.deliveries.texts, lab.output.in_flight) == ([given_up], ["ours"], 0)


def test_a_commit_that_is_refused_because_of_a_rebalance_leaves_out_what_was_lost(lab: TransactionsLab) -> None:
    partition = Lost()

    def lose(producer: object) -> None:
        partition.is_lost = True
        raise failure(KafkaError.ILLEGAL_GENERATION, abort=True)

    partition.publish(lab, "theirs")
    lab.positions.refuse = lose
    lab.drain()
    assert (lab.landed, lab.positions.drops, lab.kafka.aborted) == ([], 1, 1)
    lab.positions.refuse = lambda producer: None
    lab.publish("next", file_id="f2")
    lab.drain()
    assert lab.landed == ["next"]


def test_offsets_are_added_once_to_a_transaction_whose_commit_is_tried_again(lab: TransactionsLab) -> None:
    lab.kafka.fail("commit_transaction", failure(KafkaError._TIMED_OUT, retriable=True))
    lab.publish("a")
    lab.drain()
    assert (lab.landed, lab.positions.added) == (["a"], 1)


def test_a_call_for_offsets_that_does_not_return_has_the_producer_replaced(clock: ManualClock) -> None:
    lab, returns = TransactionsLab(clock, patience=Patience(Backoff(0.05, 0.05))), threading.Event()
    stuck = lab.producer

    def add(producer: object) -> None:
        if producer is stuck:
            returns.wait()

    lab.positions.refuse = add
    lab.publish("a")
    lab.drain()
    assert lab.landed == ["a"]
    assert lab.producer is not stuck
    returns.set()


def await_replacement(lab: TransactionsLab, no_answer: NoAnswer) -> None:
    stuck = lab.producer
    lab.publish("a")
    lab.drain()
    assert lab.landed == ["a"]
    assert lab.producer is not stuck
    no_answer.answer()


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_commit_that_does_not_return_has_the_producer_replaced(clock: ManualClock, *, is_committed: bool) -> None:
    lab, no_answer = TransactionsLab(clock, patience=Patience(end=0.05)), NoAnswer()
    lab.kafka.lost_answers = is_committed
    lab.kafka.fail("commit_transaction", no_answer)
    await_replacement(lab, no_answer)


def test_a_start_whose_commit_does_not_return_is_tried_again(clock: ManualClock) -> None:
    lab, no_answer = TransactionsLab(clock, patience=Patience(end=0.05)), NoAnswer()
    lab.kafka.fail("commit_transaction", no_answer)
    assert lab.make(OWNER).start(forever) == {}
    no_answer.answer()


def test_an_abort_that_does_not_return_has_the_producer_replaced(clock: ManualClock) -> None:
    lab, no_answer = TransactionsLab(clock, patience=Patience(end=0.05)), NoAnswer()
    lab.kafka.fail("commit_transaction", failure(KafkaError._TIMED_OUT, abort=True))
    lab.kafka.fail("abort_transaction", no_answer)
    await_replacement(lab, no_answer)


def test_the_patience_with_offsets_grows_until_they_are_taken() -> None:
    kafka, returns = TransactionalKafka(), threading.Event()
    transactional_id = TransactionalId(kafka.connect, MemoryPositions(kafka), OWNER, Patience(Backoff(0.01, 0.03)))
    transactional_id.take_over(lambda error: None)

    def await_return(producer: object) -> None:
        returns.wait()

    def await_offsets(*patience: float) -> None:
        for seconds in patience:
            with pytest.raises(
                KafkaException, match=f"no response to the offsets of consumer groups within {seconds:g} s"
            ):
                transactional_id.commit(await_return)

    def commit_in_time() -> None:
        """Retry the commit: patience is short, and the thread that adds the offsets may be late."""
        for _ in range(1000):
            with suppress(KafkaException):
                return transactional_id.commit(lambda producer: None)
        raise AssertionError("the offsets are never taken in time")

    transactional_id.begin()
    await_offsets(0.01, 0.02, 0.03, 0.03)
    commit_in_time()
    transactional_id.begin()
    await_offsets(0.01)
    returns.set()


def test_what_an_abort_takes_back_is_no_problem_of_the_topic_of_positions(lab: TransactionsLab) -> None:
    lab.producer.paused = True
    lab.publish("a")
    lab.clock.advance(INTERVAL)
    lab.poll()
    assert len(lab.producer) == 3  # the record, who commits, and the position
    lab.producer.purge()
    lab.producer.paused = False
    lab.drain()
    assert (lab.landed, lab.kafka.aborted, lab.output.errors.counts()) == (["a"], 1, {})
