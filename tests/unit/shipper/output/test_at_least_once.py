import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaError

from log_shipper.runtime.kafka.renewal import never
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.at_least_once import RENEWAL_PATIENCE, AtLeastOnce
from log_shipper.shipper.output.topic_shares import TopicShares
from tests.builders import RecordedDeliveries, batch, source
from tests.fakes import FakeProducer, ManualClock, MemoryKafka, Sent, Verdict, accept, kafka_context, refuse_above

DOWN = KafkaError._TRANSPORT


def refuse_all(code: int) -> Verdict:
    return lambda request: [code] * len(request)


def refuse_texts(code: int, *texts: str) -> Verdict:
    """Refuse a request that has one of these messages, all of it."""

    def verdict(request: Sequence[Sent]) -> list[int | None]:
        hit = any(json.loads(sent.value)["message"] in texts for sent in request)
        return [code if hit else None] * len(request)

    return verdict


@dataclass
class AtLeastOnceLab:
    clock: ManualClock
    kafka: MemoryKafka = field(default_factory=MemoryKafka)
    deliveries: RecordedDeliveries = field(default_factory=RecordedDeliveries)
    metrics: Metrics = field(default_factory=Metrics)
    topics: Callable[[Batch], Topics] = lambda batch: Topics("logs")
    shares: TopicShares | None = None
    are_renewed: Callable[[], bool] = never

    def __post_init__(self) -> None:
        context = kafka_context(self.clock, topics=self.topics, metrics=self.metrics, are_renewed=self.are_renewed)
        self.output = AtLeastOnce(self.kafka.connect, context, self.deliveries, self.shares)

    @property
    def client(self) -> FakeProducer:
        return self.kafka.clients[-1]

    @property
    def landed(self) -> list[str]:
        return [json.loads(value)["message"] for value in self.kafka.landed]

    def publish(self, *texts: str, file_id: str = "f1", start: int = 0) -> Batch:
        made = batch(texts, file_id, start)
        assert self.output.publish(made)
        return made

    def poll(self, times: int = 1) -> None:
        for _ in range(times):
            self.output.poll(0)

    @property
    def rejected(self) -> list[tuple[str, str]]:
        return [
            (batch.messages.texts[rejection.index], rejection.reason)
            for batch, rejections in self.deliveries.rejections.items()
            for rejection in rejections
        ]


@pytest.fixture
def lab(clock: ManualClock) -> AtLeastOnceLab:
    return AtLeastOnceLab(clock)


def test_a_batch_is_delivered_after_the_report_of_its_last_record(lab: AtLeastOnceLab) -> None:
    lab.kafka.request_records = 1
    lab.publish("a", "b")
    lab.poll()
    assert (lab.landed, lab.deliveries.batches, lab.output.in_flight) == (["a"], [], 1)
    lab.poll()
    assert (lab.landed, lab.deliveries.texts, lab.output.in_flight) == (["a", "b"], ["a", "b"], 0)


def test_what_failed_is_sent_again_after_a_while(lab: AtLeastOnceLab, clock: ManualClock) -> None:
    lab.kafka.verdict = refuse_all(DOWN)
    lab.publish("a", "b")
    lab.poll()
    lab.kafka.verdict = accept
    lab.poll(3)
    assert lab.landed == []
    clock.advance(1)
    lab.poll(2)
    assert lab.landed == ["a", "b"]
    assert (lab.deliveries.texts, lab.deliveries.rejections, lab.metrics.batches_retried) == (["a", "b"], {}, 1)


def test_the_wait_grows_while_it_continues_to_fail(lab: AtLeastOnceLab, clock: ManualClock) -> None:
    lab.kafka.verdict = refuse_all(DOWN)
    lab.publish("a")
    for _ in range(31):
        lab.poll(2)
        clock.advance(1)
    assert len([what for what, _, _ in lab.kafka.journal if what == "produced"]) == 5  # after 0, 1, 3, 7 and 15 s


def test_after_a_failed_report_nothing_newer_of_that_file_is_sent(lab: AtLeastOnceLab, clock: ManualClock) -> None:
    lab.kafka.verdict = refuse_all(DOWN)
    lab.publish("a")
    lab.poll()
    lab.kafka.verdict = accept
    lab.publish("b", start=10)
    lab.publish("other", file_id="f2")
    lab.poll(3)
    assert lab.landed == ["other"]
    clock.advance(1)
    lab.poll(3)
    assert lab.landed == ["other", "a", "b"]


def test_what_failed_waits_for_every_outstanding_report(lab: AtLeastOnceLab, clock: ManualClock) -> None:
    lab.kafka.request_records = 1
    lab.kafka.verdict = refuse_texts(DOWN, "a")
    lab.publish("a")
    lab.publish("b", start=10)
    lab.publish("c", start=20)
    lab.poll()
    lab.kafka.verdict = accept
    clock.advance(5)
    lab.client.paused = True
    lab.poll(3)
    produced = [json.loads(value)["message"] for what, _, value in lab.kafka.journal if what == "produced"]
    assert produced == ["a", "b", "c"]
    lab.client.paused = False
    lab.poll(3)
    clock.advance(5)
    lab.poll(3)
    assert lab.landed == ["b", "c", "a"]


def test_a_request_that_is_too_large_is_no_verdict_on_its_records(lab: AtLeastOnceLab) -> None:
    lab.kafka.verdict = refuse_above(1500)
    texts = [f"{n}" for n in range(10)]
    lab.publish(*texts)
    lab.poll(30)
    assert lab.landed == texts
    assert lab.rejected == []


# What a broker, or the client, may say of a record that is alone in its request, and whether it is about that record.
REJECTED = [
    (KafkaError.MSG_SIZE_TOO_LARGE, "larger than max.message.bytes, or than the client's own limit"),
    (KafkaError.RECORD_LIST_TOO_LARGE, "larger than segment.bytes: it fits no segment of the topic"),
    (KafkaError.INVALID_RECORD, "what the broker, or a schema check in it, finds wrong with the record"),
    (KafkaError._INVALID_DIFFERENT_RECORD, "says that one of the request is invalid, and there is but one"),
]
KEPT = [
    (KafkaError.INVALID_TIMESTAMP, "a clock is wrong; all records are refused until it is right"),
    (KafkaError.INVALID_MSG, "CORRUPT_MESSAGE: bytes were damaged on the way; the next request has its own checksum"),
    (KafkaError.INVALID_MSG_SIZE, "not of a produce request; nothing is known of the record"),
    (KafkaError.POLICY_VIOLATION, "a rule for the topic or of a proxy, which may be changed"),
    (KafkaError.UNSUPPORTED_COMPRESSION_TYPE, "the compression is an option, and the same for all records"),
    (KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT, "the message format is the topic's"),
    (KafkaError.TOPIC_EXCEPTION, "the topic's name is invalid or reserved"),
    (KafkaError.TOPIC_AUTHORIZATION_FAILED, "rights may be given"),
    (KafkaError.INVALID_REQUEST, "about the request; no record is named"),
    (KafkaError.INVALID_REQUIRED_ACKS, "about the request; no record is named"),
    (KafkaError.SECURITY_DISABLED, "a setting of the broker"),
    (KafkaError.THROTTLING_QUOTA_EXCEEDED, "passes"),
    (KafkaError.KAFKA_STORAGE_ERROR, "the broker's disk"),
    (KafkaError.UNKNOWN, "an error within the broker; it may be about anything"),
    (KafkaError._MSG_TIMED_OUT, "passes"),
    (KafkaError._BAD_MSG, "an answer that the client cannot read"),
]


@pytest.mark.parametrize("code", [code for code, _ in REJECTED])
def test_only_the_record_that_is_refused_alone_is_rejected(lab: AtLeastOnceLab, code: int) -> None:
    lab.kafka.verdict = refuse_texts(code, "poison")
    lab.publish("a", "b", "poison", "c")
    lab.publish("d", start=100)
    lab.poll(30)
    assert sorted(lab.landed) == ["a", "b", "c", "d"]
    assert lab.rejected == [("poison", KafkaError(code).str())]
    assert lab.output.in_flight == 0


@pytest.mark.parametrize("code", [code for code, _ in KEPT])
def test_what_is_no_verdict_on_a_record_keeps_it_until_it_is_taken(
    lab: AtLeastOnceLab, clock: ManualClock, code: int
) -> None:
    lab.kafka.verdict = refuse_all(code)
    lab.publish("alone")
    for _ in range(10):
        lab.poll(3)
        clock.advance(60)
    assert (lab.landed, lab.rejected, lab.output.in_flight) == ([], [], 1)
    lab.kafka.verdict = accept
    lab.poll(3)
    assert (lab.landed, lab.rejected, lab.output.in_flight) == (["alone"], [], 0)


def test_a_wrong_clock_has_no_record_rejected(
    lab: AtLeastOnceLab, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def verdict(request: Sequence[Sent]) -> list[int | None]:
        """As librdkafka reports it: a broker that names several records of a request makes them all invalid."""
        return [KafkaError.INVALID_RECORD if len(request) > 1 else KafkaError.INVALID_TIMESTAMP] * len(request)

    lab.kafka.verdict = verdict
    lab.publish("a", "b", "c")
    for _ in range(10):
        lab.poll(3)
        clock.advance(60)
    assert (lab.landed, lab.rejected, lab.output.in_flight) == ([], [], 1)
    assert "correct the clock of this host or of the broker" in caplog.text
    lab.kafka.verdict = accept
    lab.poll(9)
    assert (sorted(lab.landed), lab.rejected) == (["a", "b", "c"], [])


@pytest.mark.parametrize(
    ("code", "limit"),
    [(KafkaError.MSG_SIZE_TOO_LARGE, "max.message.bytes"), (KafkaError.RECORD_LIST_TOO_LARGE, "segment.bytes")],
)
def test_a_request_that_is_too_large_is_logged_once_with_the_limit_of_the_topic(
    lab: AtLeastOnceLab, code: int, limit: str, caplog: pytest.LogCaptureFixture
) -> None:
    lab.kafka.verdict = refuse_texts(code, "poison")
    lab.publish("a", "b", "poison", "c")
    lab.poll(30)
    (line,) = caplog.messages
    assert f"a request exceeds the topic's {limit}: resending it in smaller parts" in line


def test_a_neighbour_in_the_request_does_not_have_a_good_record_rejected(lab: AtLeastOnceLab) -> None:
    lab.kafka.verdict = refuse_texts(KafkaError.INVALID_RECORD, "poison")
    lab.publish("good", file_id="f1")
    lab.publish("poison", file_id="f2")
    lab.publish("fine", file_id="f3")
    lab.poll(30)
    assert sorted(lab.landed) == ["fine", "good"]
    assert [text for text, _ in lab.rejected] == ["poison"]


class Renewing(MemoryKafka):
    """A cluster for which no client can be created at the attempts `failing`; `attempts` has their times."""

    def __init__(self, clock: ManualClock, *failing: int) -> None:
        super().__init__()
        self._clock = clock
        self._failing = failing
        self.attempts: list[float] = []

    def connect(self, on_error: Callable[[KafkaError], None]) -> FakeProducer:
        self.attempts.append(self._clock.monotonic())
        if len(self.attempts) in self._failing:
            raise StartError("the certificate is missing")
        return super().connect(on_error)


def test_a_record_waits_while_no_client_can_be_made_that_sends_it_alone(clock: ManualClock) -> None:
    kafka = Renewing(clock, 2, 3)  # the first is the client of all records
    lab = AtLeastOnceLab(clock, kafka)
    kafka.verdict = refuse_texts(KafkaError.INVALID_RECORD, "poison")
    lab.publish("poison", "b")
    for _ in range(100):
        lab.poll()
        clock.advance(0.1)
    assert (lab.landed, [text for text, _ in lab.rejected]) == (["b"], ["poison"])
    assert [round(after - before, 1) for before, after in itertools.pairwise(kafka.attempts[1:])] == [1.0, 2.0]


def test_a_record_that_the_client_itself_refuses_is_rejected(lab: AtLeastOnceLab) -> None:
    lab.kafka.record_bytes = 1000
    lab.publish("a", "x" * 2000, "b")
    lab.poll(10)
    assert sorted(lab.landed) == ["a", "b"]
    assert [text for text, _ in lab.rejected] == ["x" * 2000]
    assert "too large" in lab.rejected[0][1]


def test_a_topic_for_which_the_client_takes_nothing_is_logged(
    lab: AtLeastOnceLab, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It has learned from the broker that the user has no right to the topic, before it was given the first record."""
    lab.kafka.refused["logs"] = KafkaError.TOPIC_AUTHORIZATION_FAILED
    lab.publish("one")
    lab.poll(3)
    assert "topic logs at" in caplog.text
    assert "not authorized to write to the topic" in caplog.text
    assert lab.metrics.topics_waiting == 1
    lab.kafka.refused.clear()
    clock.advance(60)
    lab.poll(3)
    assert (lab.landed, lab.metrics.topics_waiting) == (["one"], 0)


def test_what_a_full_client_did_not_take_goes_before_anything_later(lab: AtLeastOnceLab, clock: ManualClock) -> None:
    lab.kafka.queue_records = 2
    lab.publish("a", "b", "c")
    lab.publish("d", start=100)
    for _ in range(10):
        lab.poll()
        clock.advance(10)
    assert lab.landed == ["a", "b", "c", "d"]
    assert lab.rejected == []


def test_a_producer_that_failed_for_good_is_replaced_and_nothing_is_lost(
    lab: AtLeastOnceLab, clock: ManualClock
) -> None:
    lab.publish("a", "b")
    lab.client.fail_for_good()
    lab.poll()
    lab.publish("c", start=10)
    for _ in range(5):
        lab.poll()
        clock.advance(10)
    assert len(lab.kafka.clients) == 2
    assert lab.landed == ["a", "b", "c"]


def test_a_failed_producer_that_cannot_be_replaced_now_is_replaced_after_a_growing_delay(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = Renewing(clock, 2, 3)
    lab = AtLeastOnceLab(clock, kafka)
    lab.publish("a")
    lab.client.fail_for_good()
    for _ in range(50):
        lab.poll()
        clock.advance(0.1)
    assert lab.landed == ["a"]
    assert [round(after - before, 1) for before, after in itertools.pairwise(kafka.attempts[1:])] == [1.0, 2.0]
    assert "the certificate is missing. Retrying in 2 s" in caplog.text


def test_a_producer_is_not_replaced_before_its_last_report(lab: AtLeastOnceLab, clock: ManualClock) -> None:
    lab.publish("a")
    lab.client.fail_for_good()
    lab.client.stubborn_flushes = 1
    lab.poll()
    for _ in range(5):
        lab.poll()
        clock.advance(10)
    assert lab.landed == ["a"]
    assert lab.output.in_flight == 0


@dataclass
class Renewals:
    """Says once after `come` was called that certificates are renewed."""

    waiting: int = 0

    def come(self) -> None:
        self.waiting += 1

    def are_renewed(self) -> bool:
        came, self.waiting = self.waiting > 0, 0
        return came


@pytest.fixture
def renewals() -> Renewals:
    return Renewals()


@pytest.fixture
def lab_with_tls(clock: ManualClock, renewals: Renewals) -> AtLeastOnceLab:
    return AtLeastOnceLab(clock, are_renewed=renewals.are_renewed)


def test_a_renewed_certificate_is_used_by_a_new_producer(lab_with_tls: AtLeastOnceLab, renewals: Renewals) -> None:
    lab = lab_with_tls
    lab.publish("a")
    lab.poll()
    renewals.come()
    lab.poll()
    lab.publish("b", start=10)
    lab.poll()
    assert len(lab.kafka.clients) == 2
    assert lab.landed == ["a", "b"]


def test_a_renewed_certificate_waits_for_what_is_in_flight_so_that_nothing_is_sent_twice(
    lab_with_tls: AtLeastOnceLab, renewals: Renewals
) -> None:
    lab = lab_with_tls
    lab.client.paused = True
    lab.publish("a")
    renewals.come()
    lab.poll()
    assert not lab.output.publish(batch(["b"], "f1", 10))
    assert len(lab.kafka.clients) == 1
    lab.client.paused = False
    lab.poll(2)
    assert len(lab.kafka.clients) == 2
    lab.publish("b", start=10)
    lab.poll()
    assert lab.landed == ["a", "b"]
    assert lab.metrics.batches_retried == 0


def test_what_the_old_certificate_cannot_deliver_is_sent_with_the_renewed_one(
    lab_with_tls: AtLeastOnceLab, renewals: Renewals, clock: ManualClock
) -> None:
    lab = lab_with_tls
    lab.client.paused = True
    lab.publish("a", "b")
    renewals.come()
    lab.poll()
    clock.advance(RENEWAL_PATIENCE)
    for _ in range(5):
        lab.poll()
        clock.advance(10)
    assert len(lab.kafka.clients) == 2
    assert lab.landed == ["a", "b"]


def test_a_renewal_for_which_no_producer_can_be_created_is_retried_and_the_old_one_works_meanwhile(
    clock: ManualClock, renewals: Renewals
) -> None:
    kafka = Renewing(clock, 2)
    lab = AtLeastOnceLab(clock, kafka, are_renewed=renewals.are_renewed)
    renewals.come()
    lab.poll()
    lab.publish("a")
    lab.poll()
    assert (lab.landed, len(kafka.clients)) == (["a"], 1)
    clock.advance(1.0)
    lab.poll()
    assert len(kafka.clients) == 2


def test_an_error_that_belongs_to_no_record_is_logged(lab: AtLeastOnceLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.client.lose_connection()
    lab.poll()
    assert "no broker is reachable" in caplog.text


def test_close_gives_up_what_is_in_flight(lab: AtLeastOnceLab) -> None:
    lab.client.paused = True
    lab.publish("a")
    lab.output.close()
    assert (lab.landed, lab.deliveries.batches) == ([], [])


def test_a_file_whose_topic_takes_nothing_is_not_read_further_and_others_are(clock: ManualClock) -> None:
    lab = AtLeastOnceLab(
        clock, topics=lambda batch: Topics(batch.source.file_id), shares=TopicShares(640, 2**40, clock)
    )
    lab.kafka.verdict = lambda request: [DOWN if sent.topic == "bad" else None for sent in request]
    lab.publish(*"abcdefghij", file_id="bad")
    lab.publish("k", file_id="good")
    lab.poll(2)
    lab.publish("l", file_id="bad", start=20)  # waits in its lane, and counts all the same
    assert [lab.output.takes_more(source(file_id)) for file_id in ("bad", "good")] == [False, True]
    lab.kafka.verdict = accept
    lab.clock.advance(61)
    lab.poll(4)
    assert lab.output.takes_more(source("bad"))
    assert lab.output.in_flight == 0


def test_one_topic_for_all_may_fill_the_queue(clock: ManualClock) -> None:
    lab = AtLeastOnceLab(clock)
    lab.publish(*["x"] * 10_000)
    assert lab.output.takes_more(source("f1"))
    assert not lab.output.awaits_reports
