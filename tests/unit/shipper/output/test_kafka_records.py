"""What the Kafka client gets for a batch, and texts as the payload of records."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaError

from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.output.kafka_records import RecordExtras, RecordMaker
from log_shipper.shipper.output.place_headers import PlaceHeaders
from log_shipper.shipper.outputs.partitioning import Keys
from log_shipper.shipper.processor.formatting import Formatter
from tests.builders import RecordedDeliveries, batch, encoder
from tests.fakes import ManualClock, MemoryKafka, Sent, accept, kafka_context
from tests.processing import batch_of

MESSAGE = Formatter("%{[message]}").texts
CONFIGURED = [("source", "web"), ("source", "again")]


def test_a_record_has_its_value_and_the_file_id_and_nothing_else() -> None:
    events = batch(["a", "b"])
    assert RecordMaker(encoder()).records(events) == [
        {"value": value, "key": "f1"} for value in encoder().encode(events)
    ]


def test_keys_and_configured_headers_travel_beside_the_value() -> None:
    events = batch_of([{"message": "a", "user": "u"}, {"message": "b"}])
    made = RecordMaker(encoder(), RecordExtras(Keys("%{[user]}"), CONFIGURED)).records(events)
    assert [(record["key"], record["headers"]) for record in made] == [("u", CONFIGURED), ("f1", CONFIGURED)]


def test_the_places_of_texts_travel_before_configured_headers() -> None:
    events, places = batch(["a", "b"]), PlaceHeaders()
    made = RecordMaker(FormatCodec(MESSAGE, 1000), RecordExtras(None, CONFIGURED, places)).records(events)
    assert [record["value"] for record in made] == ["a", "b"]
    assert [record["headers"] for record in made] == [place + CONFIGURED for place in places(events)]


def test_a_text_that_is_cut_is_flagged_in_its_headers() -> None:
    places = PlaceHeaders()
    size = places.size(batch([""])) + 10
    maker = RecordMaker(FormatCodec(MESSAGE, size, places.size), RecordExtras(places=places))
    short, long = maker.records(batch(["x" * 10, "y" * 11]))
    assert (short["value"], dict(short["headers"]).get("log.flags")) == ("x" * 10, None)
    assert (long["value"], dict(long["headers"])["log.flags"]) == ("y" * 10, "truncated")


@dataclass
class TextOutputLab:
    """An output that sends texts: what identifies an event is not in the value."""

    clock: ManualClock
    beside: RecordExtras = field(default_factory=lambda: RecordExtras(places=PlaceHeaders()))
    kafka: MemoryKafka = field(default_factory=MemoryKafka)
    deliveries: RecordedDeliveries = field(default_factory=RecordedDeliveries)

    def __post_init__(self) -> None:
        maker = RecordMaker(FormatCodec(MESSAGE, 10**6), self.beside)
        context = kafka_context(self.clock, records=maker)
        self.output = AtLeastOnce(self.kafka.connect, context, self.deliveries)

    def publish(self, *texts: str, start: int = 0) -> Batch:
        made = batch(texts, start=start)
        assert self.output.publish(made)
        return made

    def poll(self, times: int) -> None:
        for _ in range(times):
            self.output.poll(0)
            self.clock.advance(1)

    @property
    def offsets(self) -> list[tuple[str, str]]:
        """Return the value and the offset of each record that landed."""
        return [(sent.value, dict(sent.headers)["log.offset"]) for sent in self.kafka.sent]


@pytest.fixture
def lab(clock: ManualClock) -> TextOutputLab:
    return TextOutputLab(clock)


def test_equal_texts_are_told_apart_when_they_are_sent_again(lab: TextOutputLab) -> None:
    def refuse_second(request: Sequence[Sent]) -> list[int | None]:
        return [KafkaError._TRANSPORT if dict(sent.headers)["log.offset"] == "5" else None for sent in request]

    lab.kafka.verdict = refuse_second
    lab.publish("same", "same", "same")
    lab.poll(1)
    lab.kafka.verdict = accept
    lab.poll(5)
    assert lab.offsets == [("same", "0"), ("same", "10"), ("same", "5")]
    assert lab.deliveries.rejections == {}


def test_only_the_text_that_is_refused_alone_is_rejected(lab: TextOutputLab) -> None:
    def refuse_poison(request: Sequence[Sent]) -> list[int | None]:
        hit = any(sent.value == "poison" for sent in request)
        return [KafkaError.INVALID_RECORD if hit else None] * len(request)

    lab.kafka.verdict = refuse_poison
    made = lab.publish("a", "poison", "b", "b")
    lab.poll(30)
    assert sorted(lab.offsets) == [("a", "0"), ("b", "11"), ("b", "9")]
    assert [rejection.index for rejection in lab.deliveries.rejections[made]] == [1]


def test_what_the_client_does_not_take_is_sent_again_or_rejected(lab: TextOutputLab) -> None:
    lab.kafka.queue_records = 2
    lab.kafka.record_bytes = 100
    made = lab.publish("a", "b", "x" * 101, "c")
    lab.poll(30)
    assert sorted(lab.offsets) == [("a", "0"), ("b", "2"), ("c", "106")]
    assert [rejection.index for rejection in lab.deliveries.rejections[made]] == [2]


TIME = 1_795_000_000.25
OLD = "2001-01-01T00:00:00.000Z"


def refuse_old_times(request: Sequence[Sent]) -> list[int | None]:
    """As librdkafka reports it: a broker that names several records of a request makes them all invalid."""
    old = [0 < sent.timestamp < 10**12 for sent in request]
    code = KafkaError.INVALID_TIMESTAMP if sum(old) == 1 else KafkaError.INVALID_RECORD
    return [code if is_old else KafkaError._INVALID_DIFFERENT_RECORD if any(old) else None for is_old in old]


def test_the_time_of_a_record_may_be_that_of_its_event() -> None:
    events = batch_of([{"message": "a"}, {"message": "b", "@timestamp": OLD}], time=TIME)
    maker = RecordMaker(encoder(), RecordExtras(times=True))
    assert [record["timestamp"] for record in maker.records(events)] == [1_795_000_000_250, 978_307_200_000]
    assert all("timestamp" not in record for record in maker.records(events, with_times=False))
    before = batch_of([{"message": "a", "@timestamp": "1969-12-31T23:59:59.000Z"}])
    assert [record["timestamp"] for record in maker.records(before)] == [0]


@pytest.mark.parametrize("old", [{1}, {0, 2}, {0, 1, 2}])
def test_an_event_whose_time_is_refused_is_sent_with_the_time_of_sending(
    clock: ManualClock, old: set[int], caplog: pytest.LogCaptureFixture
) -> None:
    lab = TextOutputLab(clock, RecordExtras(places=PlaceHeaders(), times=True))
    lab.kafka.verdict = refuse_old_times
    docs = [{"message": str(number)} | ({"@timestamp": OLD} if number in old else {}) for number in range(3)]
    assert lab.output.publish(batch_of(docs, time=TIME))
    lab.output.poll(0)
    lab.output.poll(0)
    assert [(sent.value, sent.timestamp) for sent in lab.kafka.sent] == [("0", 0), ("1", 0), ("2", 0)]
    assert lab.deliveries.rejections == {}
    assert "resending the records with the current time" in caplog.text
    assert lab.output.publish(batch_of([{"message": "later"}], time=TIME))
    lab.output.poll(0)
    assert lab.kafka.sent[-1].timestamp == 1_795_000_000_250


def test_a_record_that_is_poison_whatever_its_time_is_rejected(clock: ManualClock) -> None:
    def refuse_poison(request: Sequence[Sent]) -> list[int | None]:
        hit = any(sent.value == "poison" for sent in request)
        return [KafkaError.INVALID_RECORD if hit else None] * len(request)

    lab = TextOutputLab(clock, RecordExtras(places=PlaceHeaders(), times=True))
    lab.kafka.verdict = refuse_poison
    events = batch_of([{"message": "a"}, {"message": "poison"}, {"message": "b"}], time=TIME)
    assert lab.output.publish(events)
    lab.poll(20)
    assert sorted(sent.value for sent in lab.kafka.sent) == ["a", "b"]
    assert [rejection.index for rejection in lab.deliveries.rejections[events]] == [1]
