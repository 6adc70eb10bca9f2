import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from shipper.event import Rejection
from shipper.output.kafka_dead_letter import PATIENCE, KafkaDeadLetter
from shipper.pipeline.dead_letter import FILE, DeadLetterFile
from tests.builders import batch
from tests.fakes import FakeProducer, ManualClock, MemoryKafka, Sent


class Desk:
    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.clock = clock
        self.kafka = MemoryKafka()
        self.file = DeadLetterFile(directory / FILE, clock)
        self.letters = KafkaDeadLetter("letters", self.kafka.connect, self.file, clock)

    def write(self, *texts: str) -> None:
        self.letters.write(batch(texts), [Rejection(index, "x", "logs") for index in range(len(texts))])

    @property
    def in_topic(self) -> list[str]:
        return [json.loads(value)["message"] for value in self.kafka.topics.get("letters", [])]

    @property
    def in_file(self) -> list[str]:
        lines = self.file.path.read_text().splitlines() if self.file.path.exists() else []
        return [json.loads(line)["message"] for line in lines]


@pytest.fixture
def desk(tmp_path: Path, clock: ManualClock) -> Desk:
    return Desk(tmp_path, clock)


def test_letters_are_in_the_topic_under_their_file_id_when_it_returns(desk: Desk) -> None:
    desk.write("a", "b")
    assert desk.in_topic == ["a", "b"]
    assert {key for _, key, _ in desk.kafka.journal} == {"f1"}
    assert desk.in_file == []


def test_no_client_is_made_before_the_first_letter(desk: Desk) -> None:
    assert desk.kafka.clients == []


def test_a_letter_that_is_too_large_for_the_topic_goes_to_the_file(desk: Desk) -> None:
    desk.kafka.verdict = lambda request: [
        KafkaError.MSG_SIZE_TOO_LARGE if '"large"' in sent.value else None for sent in request
    ]
    desk.write("large", "b")
    assert (desk.in_topic, desk.in_file) == (["b"], ["large"])


def test_a_letter_that_is_too_large_for_the_client_goes_to_the_file(desk: Desk) -> None:
    desk.kafka.record_bytes = 5000
    desk.write("x" * 5000, "b")
    assert (desk.in_topic, desk.in_file) == (["b"], ["x" * 5000])


def test_letters_that_kafka_does_not_take_now_are_an_error_and_are_tried_again(desk: Desk) -> None:
    def refuse(request: Sequence[Sent]) -> list[int | None]:
        return [KafkaError.TOPIC_AUTHORIZATION_FAILED] * len(request)

    desk.kafka.verdict = refuse
    with pytest.raises(OSError, match="authorization"):
        desk.write("a")
    desk.kafka.verdict = lambda request: [None] * len(request)
    desk.write("a")
    assert desk.in_topic == ["a"]


def test_a_broker_that_does_not_answer_is_an_error_and_a_new_client_is_made(desk: Desk, clock: ManualClock) -> None:
    class Silent(FakeProducer):
        def poll(self, timeout: float) -> int:
            clock.advance(timeout)
            return 0

    connect = desk.kafka.connect
    silent = Silent(desk.kafka, lambda error: None)
    clients = [silent]
    desk.letters = KafkaDeadLetter(
        "letters", lambda on_error: clients.pop() if clients else connect(on_error), desk.file, clock
    )
    before = clock.monotonic()
    with pytest.raises(OSError, match="does not answer"):
        desk.write("a")
    assert clock.monotonic() - before == pytest.approx(PATIENCE, abs=0.2)
    desk.write("a")
    assert desk.in_topic == ["a"]
