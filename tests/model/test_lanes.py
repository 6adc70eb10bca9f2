"""The Kafka output against a cluster that fails in every way: order, no early report of delivery, nothing stuck."""

import json
import random
from collections import defaultdict
from collections.abc import Collection, Sequence

from confluent_kafka import KafkaError

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.output.kafka_records import RecordExtras, RecordMaker
from tests.builders import batch, encoder
from tests.fakes import ManualClock, MemoryKafka, Sent, kafka_context
from tests.model.seeds import for_each_seed

REQUEST_BYTES = 4000
RECORD_BYTES = 2500  # the client's limit; a broker's request limit below a lone record of this size is another poison
TRANSIENT = [KafkaError._TRANSPORT, KafkaError.NOT_ENOUGH_REPLICAS, KafkaError._MSG_TIMED_OUT]

Place = tuple[str, int]  # file id, offset


def place(value: str) -> Place:
    log = json.loads(value)["log"]
    return log["file"]["id"], log["offset"]


class Cluster:
    """The broker's answers: it refuses poison and large requests, and now and then anything."""

    def __init__(self, dice: random.Random) -> None:
        self.kafka = MemoryKafka(
            self.judge,
            request_records=dice.choice([1, 3, 10]),
            queue_records=dice.choice([5, 1000]),
            record_bytes=RECORD_BYTES,
        )
        self.trouble = dice.choice([0.0, 0.1, 0.5])
        self._too_large = dice.choice([KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE])
        # If the broker names the invalid records of a request, its library reports the others differently.
        self._neighbour = dice.choice([KafkaError.INVALID_RECORD, KafkaError._INVALID_DIFFERENT_RECORD])
        self._dice = dice

    def judge(self, request: Sequence[Sent]) -> list[int | None]:
        if self._dice.random() < self.trouble:
            return self._fail(request)
        if sum(len(sent.value) for sent in request) > REQUEST_BYTES:
            return [self._too_large] * len(request)
        if any("poison" in sent.value for sent in request):  # the broker refuses the batch, the library all of it
            return [KafkaError.INVALID_RECORD if "poison" in sent.value else self._neighbour for sent in request]
        return [None] * len(request)

    def _fail(self, request: Sequence[Sent]) -> list[int | None]:
        code = self._dice.choice(TRANSIENT)
        return [code if "poison" in sent.value or self._dice.random() < 0.7 else None for sent in request]


class Pipeline:
    """The pipeline behind the output: compares each report of delivery with what is in the topic."""

    def __init__(self, kafka: MemoryKafka) -> None:
        self._kafka = kafka
        self.batches: list[Batch] = []
        self.rejected: dict[Place, str] = {}

    def delivered(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        self.batches.append(batch)
        refused = {rejection.index for rejection in rejected}
        landed = {place(value) for value in self._kafka.landed}
        for index, offset in enumerate(batch.messages.offsets):
            if index in refused:
                self.rejected[batch.source.file_id, offset] = batch.messages.texts[index]
            else:
                assert (batch.source.file_id, offset) in landed


def check_order(journal: Sequence[tuple[str, str, str]], rejected: Collection[Place]) -> None:
    """Check that no record of a file overtakes an earlier one, neither one in the client nor one that failed."""
    in_client: dict[str, set[int]] = defaultdict(set)
    failed: dict[str, set[int]] = defaultdict(set)
    met: set[Place] = set()
    for what, key, value in journal:
        file_id, offset = place(value)
        assert key == file_id
        if what == "produced":
            assert all(earlier < offset for earlier in in_client[file_id]), "passes one that is in the client"
            if (file_id, offset) not in met:
                assert all(offset <= earlier for earlier in failed[file_id]), "passes one that failed"
            met.add((file_id, offset))
            in_client[file_id].add(offset)
        else:
            in_client[file_id].discard(offset)
        if what == "failed" and (file_id, offset) not in rejected:
            failed[file_id].add(offset)
        else:
            failed[file_id].discard(offset)


def random_text(dice: random.Random, number: int) -> str:
    kind = dice.random()
    if kind < 0.03:
        return f"{number} poison"
    return f"{number} " + "x" * (dice.choice([500, 1500, 3000]) if kind < 0.1 else 5)


@for_each_seed(250)
def test_every_record_lands_in_order_or_is_rejected_for_a_reason_of_its_own(seed: int) -> None:
    dice = random.Random(seed)
    clock, cluster = ManualClock(), Cluster(dice)
    pipeline = Pipeline(cluster.kafka)
    topics = dice.choice([lambda batch: Topics("logs"), topics_by_text])
    beside = dice.choice(
        [RecordExtras(), RecordExtras(headers=[("sent-by", "the model")])]
    )  # in one call, or one by one
    records = RecordMaker(encoder(), beside)
    context = kafka_context(clock, records=records, topics=topics, backoff=Backoff(1.0, 8.0))
    output = AtLeastOnce(cluster.kafka.connect, context, pipeline)
    positions: dict[str, int] = defaultdict(int)
    published: list[Batch] = []
    for number in range(dice.randrange(10, 120)):
        action = dice.random()
        if action < 0.4:
            file_id = dice.choice("ABC")
            texts = [random_text(dice, number) for _ in range(dice.randrange(1, 8))]
            made = batch(texts, file_id, positions[file_id])
            positions[file_id] = made.messages.end
            if output.publish(made):
                published.append(made)
            else:
                positions[file_id] = made.messages.start
        elif action < 0.43:
            client = dice.choice(cluster.kafka.clients)
            client.fail_for_good()
            client.stubborn_flushes = dice.choice([0, 0, 2])
        elif action < 0.5:
            dice.choice(cluster.kafka.clients).paused = dice.random() < 0.5
        else:
            output.poll(0)
            clock.advance(dice.choice([0, 0.01, 1, 10]))
    cluster.trouble = 0.0
    for _ in range(3000):
        if not output.in_flight:
            break
        for client in cluster.kafka.clients:
            client.paused = False
        output.poll(0)
        clock.advance(10)
    assert output.in_flight == 0, "stuck"
    names = {"logs"} if topics is not topics_by_text else {"even", "odd"}
    for name in names:
        check_order(in_topic(cluster.kafka.journal, names, name), pipeline.rejected)
    assert sorted(map(id, pipeline.batches)) == sorted(map(id, published))
    check_topic(cluster.kafka, published, pipeline.rejected, has_topics=topics is topics_by_text)


def topics_by_text(batch: Batch) -> Topics:
    """Events of one batch have several topics, and some have none."""
    of_each = [topic_of(text) for text in batch.messages.texts]
    refused = {index: "no topic" for index, topic in enumerate(of_each) if topic is None}
    return Topics(None, of_each, refused)


def topic_of(text: str) -> str | None:
    number = len(text) + int(text.split()[0])
    return None if number % 7 == 0 else ("odd" if number % 2 else "even")


def in_topic(journal: Sequence[tuple[str, str, str]], names: Collection[str], name: str) -> list[tuple[str, str, str]]:
    """Return what happened to the records of one topic: only these have an order."""
    if names == {"logs"}:
        return list(journal)
    return [entry for entry in journal if topic_of(json.loads(entry[2])["message"]) == name]


def check_topic(
    kafka: MemoryKafka, published: Sequence[Batch], rejected: dict[Place, str], *, has_topics: bool
) -> None:
    """Check that each record is in its topic with its own text, or was refused when it was sent alone, or has no
    topic."""
    topic: dict[Place, str] = {}
    for value in kafka.landed:
        text = json.loads(value)["message"]
        assert topic.setdefault(place(value), text) == text
    sent = {
        (b.source.file_id, o): t for b in published for o, t in zip(b.messages.offsets, b.messages.texts, strict=True)
    }
    assert topic.keys() | rejected.keys() == sent.keys()
    assert all(sent[where] == text for where, text in topic.items())
    refused = {
        where
        for where, text in sent.items()
        if "poison" in text or len(text) > RECORD_BYTES or (has_topics and topic_of(text) is None)
    }
    assert rejected.keys() == refused
    for name, values in kafka.topics.items():
        assert all(name == (topic_of(json.loads(value)["message"]) if has_topics else "logs") for value in values)
