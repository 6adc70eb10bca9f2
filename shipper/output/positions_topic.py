"""The compacted topic of the positions: what was committed with the records, and who did it.

Its keys begin with the transactional id, so that shippers may share the topic:

    <id>             who commits under the id, and the number of the last transaction
    <id> <file id>   the registry's entry of a file, as it is with that transaction

Both are written in the transaction itself. So a shipper that starts finds exactly the positions of what readers with
read_committed see, and one that was fenced finds the name of the other.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol
from zlib import crc32

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AdminClient,
    ConfigResource,
    ResourceType,
    TopicMetadata,
)
from confluent_kafka.cimpl import NewTopic

from log_shipper.runtime.kafka.clients import answer_of
from log_shipper.shipper.errors import StartError

TIMEOUT = 5.0  # seconds of one request
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # seconds between requests after creating a topic
# Read from the beginning at each start: small segments are compacted soon.
TOPIC_CONFIG = {"cleanup.policy": "compact", "segment.bytes": "16777216", "segment.ms": "3600000"}


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that commits under a transactional id. `started` is a time as text; `transaction`: the number of its
    last one."""

    instance: str
    host: str
    pid: int
    started: str
    transaction: int = 0

    def numbered(self, transaction: int) -> "Owner":
        return replace(self, transaction=transaction)

    def __str__(self) -> str:
        return f"process {self.pid} on host {self.host}, started {self.started}"


@dataclass(frozen=True, slots=True)
class Committed:
    """The content of the topic for a transactional id; `entries` by file id."""

    owner: Owner | None = None
    entries: Mapping[str, bytes] = field(default_factory=dict)


class PositionStore(Protocol):
    """The store of positions of transactions. Methods block, and may raise KafkaException; `prepare` also
    StartError."""

    @property
    def topic(self) -> str: ...

    def prepare(self) -> None:
        """Create the topic if it does not exist, and check it."""

    def refused(self, topics: Collection[str], timeout: float) -> dict[str, KafkaError] | None:
        """Return the error of each topic that the broker refuses; None without a response within `timeout` seconds.
        Raises nothing."""

    def read(self, *, past_open: bool = True) -> Committed:
        """Return the last committed state. Without `past_open`, the state before the first open transaction; otherwise
        that must end first, or reading times out."""

    def records(self, owner: Owner, entries: Mapping[str, bytes | None]) -> list[dict[str, Any]]:
        """Return the records of a transaction; the entry of a forgotten file is None."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Creates the clients that create and read the topic; a consumer gets its isolation level."""

    admin: Callable[[], AdminClient]
    consumer: Callable[[str], Consumer]


class PositionsTopic:
    def __init__(
        self, topic: str, transactional_id: str, clients: Clients, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.topic = topic
        self._id = transactional_id
        self._clients = clients
        self._sleep = sleep
        self._partitions: list[int] = []

    def prepare(self) -> None:
        admin = self._clients.admin()
        known = self._metadata(admin)
        if known is None:
            self._create(admin)
            known = self._created(admin)
        self._check(admin)
        self._partitions = sorted(known.partitions)

    def refused(self, topics: Collection[str], timeout: float) -> dict[str, KafkaError] | None:
        try:
            admin = self._clients.admin()
            answers = {topic: _refusal(admin.list_topics(topic, timeout=timeout).topics[topic]) for topic in topics}
        except (KafkaException, StartError):
            return None
        return {topic: error for topic, error in answers.items() if error is not None}

    def inspect(self) -> str:
        """Return what `prepare` would find, without changing anything. Raises as `prepare`."""
        admin = self._clients.admin()
        if self._metadata(admin) is None:
            self._create(admin, validate_only=True)
            return "does not exist, can be created"
        self.prepare()
        self.read()
        return "compacted, can be read"

    def _metadata(self, admin: AdminClient) -> TopicMetadata | None:
        """Return the topic's metadata; None if it does not exist."""
        known: TopicMetadata = admin.list_topics(self.topic, timeout=TIMEOUT).topics[self.topic]
        if known.error is None:
            return known
        if known.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        raise KafkaException(known.error)

    def _create(self, admin: AdminClient, *, validate_only: bool = False) -> None:
        """Create the topic explicitly: an auto-created one would delete old records."""
        new = NewTopic(self.topic, num_partitions=1, config=TOPIC_CONFIG)
        try:
            self._answer(admin.create_topics([new], validate_only=validate_only)[self.topic])
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _created(self, admin: AdminClient) -> TopicMetadata:
        """Return the metadata of the topic just created by the controller: brokers learn of it a moment later."""
        for pause in PAUSES:
            known = self._metadata(admin)
            if known is not None:
                return known
            self._sleep(pause)
        words = f"topic {self.topic} was created, but the brokers do not know it yet"
        raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, words))

    def _check(self, admin: AdminClient) -> None:
        resource = ConfigResource(ResourceType.TOPIC, self.topic)
        try:
            policy = self._answer(admin.describe_configs([resource])[resource])["cleanup.policy"].value
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return  # its configuration may not be read
            raise
        if policy != "compact":
            raise StartError(
                f"output.kafka.transaction.topic: topic {self.topic} has cleanup.policy={policy}: Kafka would "
                "delete positions, and lines would be sent again. Set it to compact (kafka-configs --alter "
                f"--topic {self.topic} --add-config cleanup.policy=compact), or use another topic"
            )

    def _answer(self, asked: Future[Any]) -> Any:
        """Return the response. Raises KafkaException, also on a timeout: the client asks the supposed controller, which
        may be down."""
        try:
            return answer_of(asked, TIMEOUT)
        except TimeoutError as error:
            words = f"no response about topic {self.topic} within {TIMEOUT:g} s"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, words)) from error

    def read(self, *, past_open: bool = True) -> Committed:
        bounds = self._bounds()
        owner, entries = b"", dict[str, bytes]()
        consumer = self._clients.consumer("read_committed")
        try:
            # By offset: the client would take half a second to look up the beginning.
            consumer.assign([TopicPartition(self.topic, number, start) for number, (start, _) in bounds.items()])
            missing = {number for number, (start, end) in bounds.items() if end > start}
            while missing:
                message = consumer.poll(TIMEOUT)
                if message is None:  # a transaction is open, and nothing after its first record can be read yet
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{self.topic} is not read to its end"))
                error, number = message.error(), message.partition()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    # The end is also reported at an open transaction.
                    is_end = not past_open or (message.offset() or 0) >= bounds[number or 0][1]
                    missing -= {number} if is_end else set()
                elif error is not None:
                    raise KafkaException(error)
                else:
                    key, value = (message.key() or b"").decode(), message.value()
                    if key == self._id:
                        owner = value or b""
                    elif key.startswith(f"{self._id} "):
                        _change(entries, key.removeprefix(f"{self._id} "), value)
        finally:
            consumer.close()
        return Committed(Owner(**json.loads(owner)) if owner else None, entries)

    def _bounds(self) -> dict[int, tuple[int, int]]:
        """Return the start and end of each partition, including open transactions of others: later commits lie behind
        their first record."""
        consumer = self._clients.consumer("read_uncommitted")
        try:
            return {
                number: consumer.get_watermark_offsets(TopicPartition(self.topic, number), timeout=TIMEOUT)
                for number in self._partitions
            }
        finally:
            consumer.close()

    def records(self, owner: Owner, entries: Mapping[str, bytes | None]) -> list[dict[str, Any]]:
        partition = self._partitions[crc32(self._id.encode()) % len(self._partitions)]
        values: dict[str, bytes | None] = {self._id: json.dumps(asdict(owner)).encode()}
        values |= {f"{self._id} {file_id}": entry for file_id, entry in entries.items()}
        return [{"key": key, "value": value, "partition": partition} for key, value in values.items()]


def _change(entries: dict[str, bytes], file_id: str, entry: bytes | None) -> None:
    if entry is None:
        entries.pop(file_id, None)
    else:
        entries[file_id] = entry


def _refusal(topic: TopicMetadata) -> KafkaError | None:
    """Return why the topic or one of its partitions accepts no records; None if all do."""
    if topic.error is None and any(partition.leader < 0 for partition in topic.partitions.values()):
        return KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    return topic.error
