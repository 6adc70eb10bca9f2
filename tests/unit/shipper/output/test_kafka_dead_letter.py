import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.output.kafka_dead_letter import MAX_SILENCE, PATIENCE, KafkaDeadLetter
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile
from tests.builders import batch
from tests.fakes import FakeProducer, ManualClock, MemoryKafka, Sent

RETRY = 5.0  # seconds


class WaitingProducer(FakeProducer):
    """Waits in `poll` as the client does while no report comes."""

    def __init__(self, kafka: MemoryKafka, on_error: Callable[[KafkaError], None], clock: ManualClock) -> None:
        super().__init__(kafka, on_error)
        self._clock = clock

    def poll(self, timeout: float) -> int:
        served = super().poll(timeout)
        self._clock.advance(0 if served else timeout)
        return served


class DeadLetterLab:
    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.clock = clock
        self.answers = True  # the brokers, to the clients that are made from now on
        self.kafka = MemoryKafka()
        self.file = DeadLetterFile(directory / FILE, clock)
        self.letters = KafkaDeadLetter("letters", self.connect, self.file, clock)

    def connect(self, on_error: Callable[[KafkaError], None]) -> FakeProducer:
        client = WaitingProducer(self.kafka, on_error, self.clock)
        client.paused = not self.answers
        self.kafka.clients.append(client)
        return client

    def write(self, *texts: str) -> None:
        self.write_batch(batch(texts))

    def write_batch(self, made: Batch) -> None:
        self.letters.write(made, [Rejection(index, "x", "logs") for index in range(made.events)])

    def fail_to_write(self, made: Batch, match: str) -> None:
        """Try, as the publisher does, which waits before the next try."""
        with pytest.raises(OSError, match=match):
            self.write_batch(made)
        self.clock.advance(RETRY)

    @property
    def in_topic(self) -> list[str]:
        return [json.loads(value)["message"] for value in self.kafka.topics.get("letters", [])]

    @property
    def in_file(self) -> list[str]:
        lines = self.file.path.read_text().splitlines() if self.file.path.exists() else []
        return [json.loads(line)["message"] for line in lines]


@pytest.fixture
def lab(tmp_path: Path, clock: ManualClock) -> DeadLetterLab:
    return DeadLetterLab(tmp_path, clock)


def test_letters_are_in_the_topic_under_their_file_id_when_it_returns(lab: DeadLetterLab) -> None:
    lab.write("a", "b")
    assert lab.in_topic == ["a", "b"]
    assert {key for _, key, _ in lab.kafka.journal} == {"f1"}
    assert lab.in_file == []


def test_no_client_is_made_before_the_first_letter(lab: DeadLetterLab) -> None:
    assert lab.kafka.clients == []


def test_letters_of_a_batch_that_another_reader_has_taken_over_are_forgotten(lab: DeadLetterLab) -> None:
    lab.answers = False
    lost: list[str] = []
    given_up = batch(["theirs"])
    given_up.source = replace(given_up.source, is_lost=lambda: bool(lost))
    lab.fail_to_write(given_up, "no acknowledgement")
    lost.append("partition")
    lab.fail_to_write(batch(["ours"]), "no acknowledgement")
    assert [made.messages.texts for made, _ in lab.letters._letters] == [["ours"]]


def test_a_letter_that_is_too_large_for_the_topic_goes_to_the_file(lab: DeadLetterLab) -> None:
    lab.kafka.verdict = lambda request: [
        KafkaError.MSG_SIZE_TOO_LARGE if '"large"' in sent.value else None for sent in request
    ]
    lab.write("large", "b")
    assert (lab.in_topic, lab.in_file) == (["b"], ["large"])


def test_a_letter_that_is_too_large_for_the_client_goes_to_the_file(lab: DeadLetterLab) -> None:
    lab.kafka.record_bytes = 5000
    lab.write("x" * 5000, "b")
    assert (lab.in_topic, lab.in_file) == (["b"], ["x" * 5000])


def test_letters_that_kafka_does_not_take_now_are_an_error_and_are_tried_again(lab: DeadLetterLab) -> None:
    def refuse(request: Sequence[Sent]) -> list[int | None]:
        return [KafkaError.TOPIC_AUTHORIZATION_FAILED] * len(request)

    lab.kafka.verdict = refuse
    with pytest.raises(OSError, match="authorization"):
        lab.write("a")
    lab.kafka.verdict = lambda request: [None] * len(request)
    lab.write("a")
    assert lab.in_topic == ["a"]


def test_what_is_kept_already_is_not_written_again_while_another_letter_waits(lab: DeadLetterLab) -> None:
    codes = {"large": KafkaError.MSG_SIZE_TOO_LARGE, "later": KafkaError.TOPIC_AUTHORIZATION_FAILED}

    def verdict(request: Sequence[Sent]) -> list[int | None]:
        return [codes.get(json.loads(sent.value)["message"]) for sent in request]

    lab.kafka.verdict = verdict
    made = batch(["a", "large", "later"])
    for _ in range(3):
        lab.fail_to_write(made, "authorization")
    del codes["later"]
    lab.write_batch(made)
    assert (lab.in_topic, lab.in_file) == (["a", "later"], ["large"])
    sent = [value for what, _, value in lab.kafka.journal if what == "produced" and '"later"' in value]
    assert (len(sent), len(set(sent))) == (4, 1)  # the same bytes each time


def test_an_event_that_is_rejected_again_later_has_a_letter_again(lab: DeadLetterLab) -> None:
    made = batch(["a"])
    lab.write_batch(made)
    lab.write_batch(made)
    assert lab.in_topic == ["a", "a"]


def test_a_letter_that_kafka_acknowledges_late_is_sent_once(lab: DeadLetterLab, clock: ManualClock) -> None:
    lab.answers = False
    made = batch(["a"])
    before = clock.monotonic()
    lab.fail_to_write(made, "no acknowledgement")
    assert clock.monotonic() - before - RETRY == pytest.approx(PATIENCE, abs=0.2)
    lab.fail_to_write(made, "no acknowledgement")
    lab.kafka.clients[0].paused = False
    lab.write_batch(made)
    assert (lab.in_topic, len(lab.kafka.clients)) == (["a"], 1)


def test_after_a_minute_without_an_outcome_a_new_client_sends_the_letter(
    lab: DeadLetterLab, clock: ManualClock
) -> None:
    lab.write("first")
    clock.advance(10 * MAX_SILENCE)  # without a letter, which is not silence
    lab.kafka.clients[0].paused = True
    lab.kafka.clients[0].stubborn_flushes = 1  # nor does it report what it gives up
    made = batch(["a"])
    start = clock.monotonic()
    while clock.monotonic() - start < MAX_SILENCE:
        lab.fail_to_write(made, "no acknowledgement")
        assert len(lab.kafka.clients) == 1
    lab.fail_to_write(made, "no acknowledgement")
    lab.write_batch(made)
    assert (lab.in_topic, len(lab.kafka.clients)) == (["first", "a"], 2)


def test_a_client_that_failed_permanently_is_replaced(lab: DeadLetterLab) -> None:
    lab.write("first")
    lab.kafka.clients[0].fail_for_good()
    made = batch(["a"])
    lab.fail_to_write(made, "Fatal")
    lab.write_batch(made)
    assert (lab.in_topic, len(lab.kafka.clients)) == (["first", "a"], 2)


def test_a_client_that_fails_permanently_with_a_letter_in_flight_is_replaced(lab: DeadLetterLab) -> None:
    lab.answers = False
    made = batch(["a"])
    lab.fail_to_write(made, "no acknowledgement")
    lab.kafka.clients[0].fail_for_good()
    lab.answers = True
    lab.fail_to_write(made, "epoch")
    lab.write_batch(made)
    assert (lab.in_topic, len(lab.kafka.clients)) == (["a"], 2)


def test_a_client_that_cannot_be_made_is_an_error_and_tried_again(lab: DeadLetterLab, clock: ManualClock) -> None:
    failures = [StartError("the certificate is missing")]

    def make(on_error: Callable[[KafkaError], None]) -> FakeProducer:
        if failures:
            raise failures.pop()
        return lab.connect(on_error)

    lab.letters = KafkaDeadLetter("letters", make, lab.file, clock)
    made = batch(["a"])
    lab.fail_to_write(made, "certificate is missing")
    lab.write_batch(made)
    assert lab.in_topic == ["a"]
