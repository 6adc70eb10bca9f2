"""Questions to Kafka: which topics and offsets it has, and what a group has committed.

A client of librdkafka connects by itself, and answers a question that no broker takes only when its time is over. Why
none does, it reports to a callback; so that is looked at while an answer is awaited.
"""

import base64
import re
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from threading import Lock
from typing import Any, Self

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AdminClient,
    ListOffsetsResultInfo,
    OffsetSpec,
)

from log_shipper.runtime.kafka.clients import answer_of
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka import client
from log_shipper.spark_sink.kafka.client import ClientOptions
from log_shipper.spark_sink.kafka.failures import CERTAIN, LEADER_MOVED, NO_ANSWER, TEMPORARY, is_certain, translate
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition

ANSWER_SECONDS = 20.0
LOOK_SECONDS = 0.1
# A client asks the broker that it takes for the controller, and learns of another one after minutes: while that one is
# away it has no answer, whatever the others know. So another client is asked then.
FIRST_SECONDS = 3.0  # twice as long after each time
FIRST_PIECE_SECONDS = 0.5  # the same of the one question during which no reason is looked at
OF_KAFKA = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class Admin:
    """Asks Kafka. Each method blocks `patience` seconds at most, then raises SinkError; `patience_if_down` where the
    client reports that no broker can be reached, which may be a broker that restarts. Thread-safe.

    `options` is asked before each question; when it returns others (`client.latest`: certificates were renewed), there
    is a new client for them.
    """

    def __init__(
        self,
        options: Callable[[], ClientOptions],
        patience: float = ANSWER_SECONDS,
        patience_if_down: float | None = None,
    ) -> None:
        self._options = options
        self._patience = patience
        self._patience_if_down = patience if patience_if_down is None else patience_if_down
        self._lock = Lock()
        self._used: ClientOptions | None = None
        self._client: AdminClient | None = None
        self._reasons: dict[int, tuple[float, KafkaError]] = {}  # by code: when it was reported last

    def __repr__(self) -> str:
        return f"<Admin {self._servers}>"  # the options contain secrets

    def __enter__(self) -> Self:
        self._connection()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._client = self._used = None

    def topic_names(self) -> set[str]:
        """Return all topics that these credentials may see, Kafka's own left out."""
        return set(self._topics()) - OF_KAFKA

    def topics_matching(self, pattern: str) -> set[str]:
        """Return those topics whose whole name the regular expression matches. Raises SinkError."""
        try:
            matches = re.compile(pattern).fullmatch
        except re.error as error:
            raise SinkError(f"cannot list topics that match {pattern!r}: {error}") from error
        return {name for name in self.topic_names() if matches(name)}

    def partitions(self, topics: Collection[str]) -> set[Partition]:
        """Return all partitions of the topics. Raises SinkError for a topic that does not exist."""
        descriptions = self._describe(topics)
        return {(name, partition.id) for name, topic in descriptions.items() for partition in topic.partitions}

    def ids(self, topics: Collection[str]) -> dict[str, str]:
        """Return the id that each topic got when it was created; "" from a broker that has none (before Kafka 2.8)."""
        return {name: text_of_id(topic.topic_id) for name, topic in self._describe(topics).items()}

    def earliest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as the library has it

    def latest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """Return the end of each partition for readers: before the first record of a transaction that is still open,
        where they read committed records only."""
        return self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # as above

    def at_timestamp(self, partitions: Collection[Partition], milliseconds: int) -> dict[Partition, int]:
        """Return the first offset of this time (ms of the epoch) or later; a partition without one is left out."""
        offsets = self._offsets(partitions, OffsetSpec.for_timestamp(milliseconds))
        return {partition: offset for partition, offset in offsets.items() if offset >= 0}

    def committed(self, group: str) -> dict[Partition, int]:
        """Return the offsets that the group has committed, of whatever topics; empty for an unknown group."""
        request = [ConsumerGroupTopicPartitions(group)]
        answers = self._ask(lambda asked, left: asked.list_consumer_group_offsets(request, request_timeout=left))
        # Kafka names a partition without an offset, too.
        return {(one.topic, one.partition): one.offset for one in _sound(answers[group]) if one.offset >= 0}

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]:
        """Start a commit and return at once. The function that is returned returns True when the commit is done; called
        with True it waits for that, `patience` at most. It raises SinkError when Kafka refused."""
        positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, positions)]
        started = time.monotonic()

        def start() -> tuple[AdminClient, Future[Any]]:
            asked = self._connection()
            return asked, asked.alter_consumer_group_offsets(request, request_timeout=self._patience)[group]

        asked, future = start()

        def done(wait: bool) -> bool:
            nonlocal asked, future
            while wait or future.done():
                try:
                    _sound(self._answer(asked, future, started))
                    return True
                except KafkaException as error:
                    if self._is_final(error, started):
                        raise self._translated(error.args[0], f"cannot commit offsets of the group {group}") from error
                    asked.poll(LOOK_SECONDS)
                    asked, future = start()
            return False

        return done

    def _topics(self) -> Mapping[str, Any]:
        """Return the metadata of all topics. This one question has no future: it is asked in short pieces."""
        started, piece = time.monotonic(), FIRST_PIECE_SECONDS
        while True:
            asked = self._connection()
            left = started + self._patience - time.monotonic()
            try:
                topics: Mapping[str, Any] = asked.list_topics(timeout=max(0.01, min(piece, left))).topics
            except KafkaException as error:
                asked.poll(LOOK_SECONDS)
                if self._is_final(error, started):
                    raise self._translated(error.args[0]) from error
                piece *= 2
            else:
                self._reasons.clear()
                return topics

    def _describe(self, topics: Collection[str]) -> dict[str, Any]:
        if not topics:
            return {}
        wanted = TopicCollection(list(topics))
        return self._ask(lambda asked, left: asked.describe_topics(wanted, request_timeout=left))

    def _offsets(self, partitions: Collection[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        wanted = {TopicPartition(*partition): spec for partition in partitions}
        if not wanted:
            return {}
        level = IsolationLevel[self._options().isolation.upper()]
        answers = self._ask(lambda asked, left: asked.list_offsets(wanted, isolation_level=level, request_timeout=left))
        return {(asked.topic, asked.partition): answer.offset for asked, answer in answers.items()}

    def _ask(self, question: Callable[[AdminClient, float], Mapping[Any, "Future[Any]"]]) -> dict[Any, Any]:
        """Return the answers to a question, by what it names. It is asked again as long as no broker answers, or not
        yet."""
        started, piece = time.monotonic(), FIRST_SECONDS
        while True:
            asked = self._connection()
            left = max(0.01, min(piece, started + self._patience - time.monotonic()))
            try:
                futures = question(asked, left)
                return {name: _known(self._answer(asked, future, started)) for name, future in futures.items()}
            except KafkaException as error:
                asked.poll(LOOK_SECONDS)
                if self._is_final(error, started):
                    raise self._translated(error.args[0]) from error
                code = error.args[0].code()
                if code in LEADER_MOVED | {KafkaError._TIMED_OUT, KafkaError.LEADER_NOT_AVAILABLE}:
                    self._forget(asked)
                if code == KafkaError._TIMED_OUT:
                    piece *= 2

    def _answer(self, asked: AdminClient, future: "Future[Any]", started: float) -> Any:
        """Return the result, awaited until the patience is over, or it is certain that there will be none. Raises
        KafkaException."""
        while True:
            try:
                answer = answer_of(future, LOOK_SECONDS)
            except NoAnswer:
                asked.poll(0)
                if (reason := self._certain_since(started)) is not None:
                    raise KafkaException(reason) from None
                if self._is_over(started):
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None
            else:
                self._reasons.clear()
                return answer

    def _connection(self) -> AdminClient:
        options = self._options()
        with self._lock:
            if self._client is None or options != self._used:
                self._client, self._used = client.admin(options, self._note), options
                self._reasons.clear()
            return self._client

    def _forget(self, client: AdminClient) -> None:
        """Have the next question asked by a client that knows nothing of the cluster yet."""
        with self._lock:
            if self._client is client:
                self._client = None

    def _note(self, error: KafkaError) -> None:
        self._reasons[error.code()] = (time.monotonic(), error)

    def _certain_since(self, started: float) -> KafkaError | None:
        reasons = list(self._reasons.values())
        return next((error for when, error in reasons if when >= started and is_certain(error)), None)

    def _is_over(self, started: float) -> bool:
        down, _ = self._reasons.get(KafkaError._ALL_BROKERS_DOWN, (0.0, None))
        patience = self._patience_if_down if down >= started else self._patience
        return time.monotonic() >= started + patience

    def _is_final(self, error: KafkaException, started: float) -> bool:
        """Return False while a broker that does not answer, or not yet, may still do so."""
        return (
            self._is_over(started) or error.args[0].code() not in TEMPORARY or self._certain_since(started) is not None
        )

    def _translated(self, error: KafkaError, doing: str = "cannot read from Kafka") -> SinkError:
        """Return the error in words: where nothing answered, the reason for it, if the client has reported one."""
        reasons = dict(self._reasons)
        codes = [*(code for code in reasons if code in CERTAIN), KafkaError._TRANSPORT]
        if error.code() in NO_ANSWER:
            error = next((reasons[code][1] for code in codes if code in reasons), error)
        return translate(error, f"{doing} at {self._servers}")

    @property
    def _servers(self) -> str:
        return self._options().servers


def _known(answer: Any) -> Any:
    """Return an answer. Raises KafkaException for the offset of a partition whose leader gave none: where brokers have
    answered about other partitions, the client reports no error, and asks the same one again."""
    if isinstance(answer, ListOffsetsResultInfo) and answer.offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return answer


def _sound(answer: ConsumerGroupTopicPartitions) -> list[TopicPartition]:
    """Return the partitions of an answer. Raises KafkaException for the first that Kafka refused."""
    partitions: list[TopicPartition] = answer.topic_partitions or []
    for partition in partitions:
        if partition.error is not None:
            raise KafkaException(partition.error)
    return partitions


def text_of_id(topic_id: Any) -> str:
    """Return a topic's id (a Uuid of the client) as Kafka's tools write it, "" for none."""
    numbers = (topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits())
    if not any(numbers):
        return ""
    data = b"".join(number.to_bytes(8, "big", signed=True) for number in numbers)
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
