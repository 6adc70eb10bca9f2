"""Requests to Kafka: topics, offsets, and the committed offsets of a group.

A librdkafka client connects by itself. If no broker is reachable, a request fails only at its timeout, and the client
reports the reason to a callback: so this module checks the reported reasons while it waits for an answer.
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
# A client sends requests to the broker that it takes for the controller, and learns of a new one only after minutes.
# While that broker is down, requests time out; so the retry uses a new client.
FIRST_SECONDS = 3.0  # timeout of the first request; doubled with each retry
FIRST_PIECE_SECONDS = 0.5  # the same for `list_topics`, which blocks and cannot check the reported reasons
OF_KAFKA = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class Admin:
    """Sends requests to Kafka. Each method blocks at most `patience` seconds, then raises SinkError; `patience_if_down`
    if the client reports that no broker is reachable, perhaps because it restarts. Thread-safe.

    `options` is called before each request; if they have changed (`client.latest`: certificates were renewed), a new
    client is made.
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
        self._reasons: dict[int, tuple[float, KafkaError]] = {}  # by code, with the time of the last report

    def __repr__(self) -> str:
        return f"<Admin {self._servers}>"  # the options contain secrets

    def __enter__(self) -> Self:
        self._connection()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._client = self._used = None

    def topic_names(self) -> set[str]:
        """Return all topics that these credentials may see, except Kafka's internal ones."""
        return set(self._topics()) - OF_KAFKA

    def topics_matching(self, pattern: str) -> set[str]:
        """Return the topics whose full name matches the regular expression. Raises SinkError."""
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
        """Return the id of each topic, which changes when it is re-created; "" from brokers before Kafka 2.8."""
        return {name: text_of_id(topic.topic_id) for name, topic in self._describe(topics).items()}

    def earliest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as the library has it

    def latest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """Return the end of each partition for readers: the last stable offset if they read only committed records."""
        return self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # as above

    def at_timestamp(self, partitions: Collection[Partition], milliseconds: int) -> dict[Partition, int]:
        """Return the first offset at or after this time (ms of the epoch); a partition without one is left out."""
        offsets = self._offsets(partitions, OffsetSpec.for_timestamp(milliseconds))
        return {partition: offset for partition, offset in offsets.items() if offset >= 0}

    def committed(self, group: str) -> dict[Partition, int]:
        """Return the committed offsets of the group, of all topics; empty for an unknown group."""
        request = [ConsumerGroupTopicPartitions(group)]
        answers = self._ask(lambda asked, left: asked.list_consumer_group_offsets(request, request_timeout=left))
        # Kafka also lists partitions without an offset.
        return {(one.topic, one.partition): one.offset for one in _sound(answers[group]) if one.offset >= 0}

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]:
        """Start a commit and return at once. The returned function returns True if the commit is done; called with
        True, it waits for that, at most `patience`. It raises SinkError if Kafka refused the commit."""
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
        """Return the metadata of all topics. This request has no future, so it is sent with short timeouts."""
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
        names = TopicCollection(list(topics))
        return self._ask(lambda asked, left: asked.describe_topics(names, request_timeout=left))

    def _offsets(self, partitions: Collection[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        specs = {TopicPartition(*partition): spec for partition in partitions}
        if not specs:
            return {}
        level = IsolationLevel[self._options().isolation.upper()]
        answers = self._ask(lambda asked, left: asked.list_offsets(specs, isolation_level=level, request_timeout=left))
        return {(asked.topic, asked.partition): answer.offset for asked, answer in answers.items()}

    def _ask(self, question: Callable[[AdminClient, float], Mapping[Any, "Future[Any]"]]) -> dict[Any, Any]:
        """Return the answers to a request, by topic, partition or group. Retries temporary errors."""
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
        """Return the result; wait for it until `patience` is over, or the client reports a permanent error. Raises
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
        """Drop the client, so that the next request uses a new one without cached metadata."""
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
        """Return False while a retry may succeed."""
        return (
            self._is_over(started) or error.args[0].code() not in TEMPORARY or self._certain_since(started) is not None
        )

    def _translated(self, error: KafkaError, doing: str = "cannot read from Kafka") -> SinkError:
        """Return the error in plain words; for a timeout, the reason if the client has reported one."""
        reasons = dict(self._reasons)
        codes = [*(code for code in reasons if code in CERTAIN), KafkaError._TRANSPORT]
        if error.code() in NO_ANSWER:
            error = next((reasons[code][1] for code in codes if code in reasons), error)
        return translate(error, f"{doing} at {self._servers}")

    @property
    def _servers(self) -> str:
        return self._options().servers


def _known(answer: Any) -> Any:
    """Return an answer. Raises KafkaException for an invalid offset: if only some leaders have answered, the client
    reports no error, and its retry would go to the same broker."""
    if isinstance(answer, ListOffsetsResultInfo) and answer.offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return answer


def _sound(answer: ConsumerGroupTopicPartitions) -> list[TopicPartition]:
    """Return the partitions of an answer. Raises KafkaException for the first refused one."""
    partitions: list[TopicPartition] = answer.topic_partitions or []
    for partition in partitions:
        if partition.error is not None:
            raise KafkaException(partition.error)
    return partitions


def text_of_id(topic_id: Any) -> str:
    """Return a topic id (the client's Uuid) in the form of Kafka's tools, "" for none."""
    numbers = (topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits())
    if not any(numbers):
        return ""
    data = b"".join(number.to_bytes(8, "big", signed=True) for number in numbers)
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
