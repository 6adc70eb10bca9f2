"""Records of which the client says nothing, as of a partition without a leader."""

from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError

from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.at_least_once import STALLED_AFTER, UNACKNOWLEDGED_CHECK, AtLeastOnce
from log_shipper.shipper.output.kafka_errors import UNACKNOWLEDGED_AFTER, ErrorReporter
from tests.builders import RecordedDeliveries, batch
from tests.fakes import FakeProbe, ManualClock, MemoryKafka, Sent, kafka_context

STUCK, OTHER = "stuck", "other"  # files


class UnansweredLab:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.kafka = MemoryKafka()
        self.metrics = Metrics()
        self.topics = Topics("logs")
        self.errors = ErrorReporter("a:9092", "logs", clock)
        self.probe = FakeProbe(serving=False)
        context = kafka_context(
            clock, topics=lambda batch: self.topics, errors=self.errors, metrics=self.metrics, probe=self.probe
        )
        self.output = AtLeastOnce(self.kafka.connect, context, RecordedDeliveries())
        self._start = 0

    def publish(self, file_id: str) -> None:
        self._start += 10
        made: Batch = batch(["text"], file_id, self._start)
        assert self.output.publish(made)

    def poll(self) -> None:
        for _ in range(3):
            self.output.poll(0)

    def pass_time(self, seconds: float, *files: str) -> None:
        """Publish a line of each of these files every five seconds, and poll as often."""
        for _ in range(int(seconds / UNACKNOWLEDGED_CHECK)):
            for file_id in files:
                self.publish(file_id)
            self.poll()
            self.clock.advance(UNACKNOWLEDGED_CHECK)
        self.poll()


@pytest.fixture
def lab(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> UnansweredLab:
    caplog.set_level("INFO")
    lab = UnansweredLab(clock)
    lab.publish(OTHER)
    lab.poll()
    lab.kafka.leaderless = {STUCK}
    return lab


def test_what_waits_while_later_records_are_delivered_is_named_once_a_minute(
    lab: UnansweredLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.publish(STUCK)
    lab.pass_time(UNACKNOWLEDGED_AFTER, OTHER)
    assert not caplog.records
    lab.pass_time(2 * UNACKNOWLEDGED_CHECK, OTHER)
    (words,) = lab.errors.waiting().values()
    assert "records of /var/log/app.log have been unacknowledged for 30 s; a partition of the topic has no " in words
    assert "kafka-topics.sh --describe" in words
    assert lab.metrics.topics_waiting == 1
    lab.pass_time(50, OTHER)
    assert [record.getMessage() for record in caplog.records] == [
        f"{words}. Events are kept and sent when it works again; nothing is lost"
    ]
    lab.pass_time(10, OTHER)
    assert len(caplog.records) == 2


def test_it_is_over_when_they_have_their_answer(lab: UnansweredLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.publish(STUCK)
    lab.pass_time(UNACKNOWLEDGED_AFTER + 10, OTHER)
    lab.kafka.leaderless = set()
    lab.pass_time(10, OTHER)
    assert lab.errors.waiting() == {}
    assert lab.metrics.topics_waiting == 0
    assert caplog.messages[-1] == "Kafka (topic logs at a:9092): records are acknowledged again"


def test_the_number_of_files_that_wait_is_named(lab: UnansweredLab) -> None:
    lab.kafka.leaderless = {STUCK, "second"}
    for file_id in (STUCK, "second", STUCK):
        lab.publish(file_id)
    lab.pass_time(UNACKNOWLEDGED_AFTER + 10, OTHER)
    assert "records of /var/log/app.log and 1 more have been unacknowledged" in lab.errors.waiting()["logs"]


def test_each_topic_of_them_is_named(lab: UnansweredLab) -> None:
    lab.topics = Topics("audit")
    lab.publish(STUCK)
    lab.topics = Topics("logs")
    lab.pass_time(UNACKNOWLEDGED_AFTER + 10, OTHER)
    assert list(lab.errors.waiting()) == ["audit"]


def test_where_nothing_is_delivered_and_no_error_says_why_it_is_named_too(lab: UnansweredLab) -> None:
    """As when what waits has filled the queue."""
    lab.publish(STUCK)
    lab.pass_time(UNACKNOWLEDGED_AFTER)
    assert list(lab.errors.waiting()) == ["logs"]


def test_an_outage_that_is_known_is_not_reported_twice(lab: UnansweredLab) -> None:
    lab.kafka.clients[-1].lose_connection()
    lab.publish(STUCK)
    lab.pass_time(2 * UNACKNOWLEDGED_AFTER)
    assert lab.errors.waiting() == {}


def test_an_error_that_follows_the_silence_is_no_answer(lab: UnansweredLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.publish(STUCK)
    lab.pass_time(UNACKNOWLEDGED_AFTER + UNACKNOWLEDGED_CHECK)
    lab.kafka.clients[-1].lose_connection()
    lab.pass_time(UNACKNOWLEDGED_AFTER)
    assert list(lab.errors.waiting()) == ["logs"]
    assert "are acknowledged again" not in caplog.text
    lab.kafka.leaderless = set()
    lab.pass_time(2 * UNACKNOWLEDGED_CHECK)
    assert lab.errors.waiting() == {}
    assert "are acknowledged again" in caplog.text


def test_the_end_of_what_was_not_logged_is_not_logged_either(
    lab: UnansweredLab, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):  # the second time within a minute
        lab.kafka.leaderless = {STUCK}
        lab.publish(STUCK)
        lab.pass_time(UNACKNOWLEDGED_AFTER + 2 * UNACKNOWLEDGED_CHECK, OTHER)
        assert list(lab.errors.waiting()) == ["logs"]
        lab.kafka.leaderless = set()
        lab.pass_time(UNACKNOWLEDGED_CHECK, OTHER)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_slow_network_is_no_silence(lab: UnansweredLab) -> None:
    lab.kafka.leaderless = set()
    lab.kafka.request_records = 1
    for number in range(int(4 * UNACKNOWLEDGED_AFTER / UNACKNOWLEDGED_CHECK)):
        lab.publish(f"f{number}")
    for _ in range(int(3 * UNACKNOWLEDGED_AFTER / UNACKNOWLEDGED_CHECK)):
        lab.output.poll(0)
        assert lab.errors.waiting() == {}
        lab.clock.advance(UNACKNOWLEDGED_CHECK)
    assert lab.output.in_flight


def refuse_stuck(request: Sequence[Sent]) -> list[int | None]:
    return [KafkaError._TRANSPORT if sent.key == STUCK else None for sent in request]


def test_what_failed_has_its_answer_however_long_it_waits(lab: UnansweredLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.kafka.leaderless = set()
    lab.kafka.verdict = refuse_stuck
    lab.publish(STUCK)
    lab.pass_time(5 * UNACKNOWLEDGED_AFTER, OTHER)
    assert "connection lost" in caplog.text
    assert "unacknowledged" not in caplog.text


def test_what_is_sent_again_has_its_time_from_the_beginning(
    lab: UnansweredLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.kafka.leaderless = set()
    lab.kafka.verdict = refuse_stuck
    lab.publish(STUCK)
    lab.pass_time(UNACKNOWLEDGED_AFTER, OTHER)
    lab.kafka.leaderless = {STUCK}
    lab.pass_time(UNACKNOWLEDGED_AFTER, OTHER)
    assert lab.metrics.batches_retried > 4
    assert "unacknowledged" not in caplog.text
    lab.pass_time(UNACKNOWLEDGED_AFTER, OTHER)
    assert "unacknowledged" in caplog.text


def test_a_client_that_is_stuck_after_an_outage_is_replaced(
    lab: UnansweredLab, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing more is delivered or reported, though the cluster could take it."""
    lab.probe.serving = True
    lab.kafka.clients[-1].lose_connection()
    lab.kafka.clients[-1].paused = True
    lab.publish(OTHER)
    lab.pass_time(STALLED_AFTER - UNACKNOWLEDGED_CHECK)
    assert (len(lab.kafka.clients), lab.output.in_flight) == (1, 1)
    lab.pass_time(3 * UNACKNOWLEDGED_CHECK)
    assert (len(lab.kafka.clients), lab.output.in_flight) == (2, 0)
    assert lab.probe.asked == [{"logs"}]
    (words,) = [message for message in caplog.messages if "replacing" in message]
    assert words == (
        "replacing the Kafka producer because it has neither delivered a record nor reported an error for 90 s, "
        "although all brokers of logs respond to another client. Unacknowledged events are sent again"
    )


def test_a_client_is_not_replaced_while_the_cluster_has_a_reason_to_wait(lab: UnansweredLab) -> None:
    """It is asked again at intervals; what the client holds would arrive twice."""
    lab.publish(STUCK)
    lab.pass_time(3 * STALLED_AFTER + 4 * UNACKNOWLEDGED_CHECK)
    assert (len(lab.kafka.clients), lab.probe.asked) == (1, 3 * [{"logs"}])


def test_a_client_that_delivers_or_reports_is_not_stuck(lab: UnansweredLab) -> None:
    lab.probe.serving = True
    lab.publish(STUCK)
    lab.pass_time(2 * STALLED_AFTER, OTHER)
    lab.kafka.clients[-1].paused = True
    for _ in range(3):
        lab.pass_time(STALLED_AFTER / 2)
        lab.kafka.clients[-1].lose_connection()
    assert (len(lab.kafka.clients), lab.probe.asked) == (1, [])
