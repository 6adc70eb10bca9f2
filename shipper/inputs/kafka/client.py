"""Define the parts of confluent_kafka.Consumer and AdminClient that are used, and make both from the options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from log_shipper.runtime.kafka.clients import answer_of, client_settings
from log_shipper.runtime.kafka.security import Security
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.librdkafka import ClientMaker, latest

MIB = 1024**2
PREFETCHED_KBYTES = 16 * 1024  # kept by the client, in addition to records already handed over
SESSION_SECONDS = 45.0  # Kafka's default
# An offset that Kafka does not have is an error: where to continue is decided here, and logged.
FIXED: dict[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
}

OnPartitions = Callable[[Any, list[TopicPartition]], None]
OnError = Callable[[KafkaError], None]
OnCommit = Callable[[KafkaError | None, list[TopicPartition]], None]


def raised_by_poll(callback: OnPartitions) -> OnPartitions:
    """Return the callback for `subscribe`, which re-raises errors as KafkaException. Otherwise `poll` raises the bare
    KafkaError of a client call within the callback. That is no Exception, so `except Exception` would miss it, and the
    thread would end."""

    def call(consumer: Any, partitions: list[TopicPartition]) -> None:
        try:
            callback(consumer, partitions)
        except KafkaException as error:
            raise KafkaException(*error.args) from error

    return call


class Consumer(Protocol):
    """The consumer. Used by one thread, except `consumer_group_metadata`. All methods raise KafkaException."""

    def subscribe(
        self, topics: list[str], *, on_assign: OnPartitions, on_revoke: OnPartitions, on_lost: OnPartitions
    ) -> None: ...

    def poll(self, timeout: float) -> Message | None: ...

    def consume(self, num_messages: int, timeout: float) -> list[Message]: ...

    def assign(self, partitions: list[TopicPartition]) -> None: ...

    def incremental_assign(self, partitions: list[TopicPartition]) -> None: ...

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None: ...

    def pause(self, partitions: list[TopicPartition]) -> None: ...

    def resume(self, partitions: list[TopicPartition]) -> None: ...

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> Any: ...

    def committed(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]: ...

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]: ...

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = ..., cached: bool = ...
    ) -> tuple[int, int] | None: ...

    def consumer_group_metadata(self) -> object: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `id`: Kafka's, "" if the broker has none. `partitions`: their number, None if unknown. `leaderless`: the
    numbers of partitions without a leader."""

    id: str = ""
    partitions: int | None = None
    exists: bool = True
    leaderless: frozenset[int] = frozenset()


class TopicLookup(Protocol):
    def look_up(self, topics: Sequence[str]) -> dict[str, Topic]:
        """Return the current topics. Blocks, and raises KafkaException."""

    def close(self) -> None:
        """End the client's threads and connections. Calling it again does nothing."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The maker of clients; the callbacks are called within `poll` and `consume`. Both raise StartError."""

    consumer: Callable[[OnError, OnCommit], Consumer]
    topic_lookup: Callable[[], TopicLookup]


def clients(config: KafkaInputConfig) -> Clients:
    """Return the clients. Raises StartError for settings that librdkafka rejects, and for unusable TLS files."""
    configured, maker = latest(lambda: settings(config)), _maker(config)
    refusal = maker.refusal(ConfluentConsumer, configured())
    if refusal:
        raise StartError(refusal)

    def consumer(on_error: OnError, on_commit: OnCommit) -> Consumer:
        made: Consumer = maker.new(ConfluentConsumer, {**configured(), "error_cb": on_error, "on_commit": on_commit})
        return made

    def admin() -> AdminClient:
        made: AdminClient = maker.new(AdminClient, {**client_settings(configured()), "error_cb": lambda error: None})
        return made

    return Clients(consumer, lambda: DescribedTopics(admin))


def settings(config: KafkaInputConfig) -> dict[str, Any]:
    """Return librdkafka's settings. Raises StartError for unusable TLS files."""
    security = Security(config)
    if security.problems:
        where = f"input {config.id}"
        raise StartError("\n".join(f"{where}: {option}: {message}" for option, message in security.problems))
    fetch, rebalance = config.fetch, config.rebalance
    configured: dict[str, Any] = {
        "bootstrap.servers": ",".join(config.hosts),
        "client.id": config.client_id,
        "group.id": config.group_id,
        "isolation.level": config.isolation_level,
        "partition.assignment.strategy": rebalance.strategy,
        "max.poll.interval.ms": round(rebalance.timeout * 1000),
        "session.timeout.ms": round(min(SESSION_SECONDS, rebalance.timeout) * 1000),
        "heartbeat.interval.ms": round(min(3.0, rebalance.timeout / 3) * 1000),
        "fetch.min.bytes": fetch.min,
        "max.partition.fetch.bytes": fetch.default,
        "fetch.wait.max.ms": round(config.max_wait_time * 1000),
        "queued.max.messages.kbytes": PREFETCHED_KBYTES,
        "queued.min.messages": 100_000,
        # Time before a full queue is checked again; with the default of a second, a fast reader waits for it.
        "fetch.queue.backoff.ms": 5,
        # Time within which new matching topics, and topics that did not exist, are found.
        "topic.metadata.refresh.interval.ms": 30_000,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 10_000,
        **security.settings,
        **_maker(config).tokens(security),
    }
    if fetch.max:
        configured["fetch.max.bytes"] = fetch.max
    if config.group_instance_id:
        configured["group.instance.id"] = config.group_instance_id
    return configured | config.librdkafka | FIXED


class DescribedTopics:
    """The topics as a client describes them. `make` makes the client at once, and again after a request without a
    response.

    A client asks only the broker that it believes to be the controller, and learns of another one after minutes: while
    that broker is down, it gets no response, whatever the others know.
    """

    def __init__(self, make: Callable[[], AdminClient]) -> None:
        """Make the first client. Raises StartError."""
        self._make = make
        self._admin: AdminClient | None = make()

    def close(self) -> None:
        # The client has no close method: it ends with its last reference, and this object is in reference cycles.
        self._admin = None

    def look_up(self, topics: Sequence[str]) -> dict[str, Topic]:
        from confluent_kafka import TopicCollection

        described = self._client().describe_topics(TopicCollection(list(topics)), request_timeout=2.0)
        topics_now = {}
        for topic, future in described.items():
            try:
                description = answer_of(future)
                partitions = description.partitions
                leaderless = frozenset(partition.id for partition in partitions if partition.leader is None)
                topics_now[topic] = Topic(topic_id(description), len(partitions), leaderless=leaderless)
            except KafkaException as error:
                if error.args[0].code() == KafkaError._TIMED_OUT:
                    self._admin = None
                if error.args[0].code() not in NO_IDS:
                    raise
                topics_now[topic] = Topic(exists=error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART)
        return topics_now

    def _client(self) -> AdminClient:
        if self._admin is None:
            try:
                self._admin = self._make()
            except StartError as error:  # a certificate that is being renewed, for instance
                raise KafkaException(KafkaError(KafkaError._FAIL, str(error))) from error
        return self._admin


# Responses of brokers without ids, or that must not give them to this user; or the topic does not exist.
NO_IDS = (
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


def topic_id(description: Any) -> str:
    """Return the id in a topic's description; "" for the zeros that older brokers send for all topics."""
    uuid = description.topic_id
    bits = (uuid.get_most_significant_bits(), uuid.get_least_significant_bits())
    return str(uuid) if any(bits) else ""


def _maker(config: KafkaInputConfig) -> ClientMaker:
    where = f"input {config.id}"
    return ClientMaker(f"{where}: librdkafka refuses its settings", f"{where}: sasl.aws_msk_iam")
