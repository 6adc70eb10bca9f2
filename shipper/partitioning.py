"""Makes what chooses the partitions of records, by `output.kafka.key` and `output.kafka.partition`."""

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from log_shipper.config.shipper.kafka_records import PartitionConfig
from log_shipper.config.shipper.model import KafkaOutputConfig
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.encode import NOTHING_REFUSED
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_settings import clients, latest
from log_shipper.shipper.output.partitions import ByHash, Choice, InGroups, Partitions
from log_shipper.shipper.processor.field_hashes import FieldHashes, fnv1a
from log_shipper.shipper.processor.keys import Keys

LOOKUP_TIMEOUT = 10.0  # seconds

# The hash of each event, given its keys.
Hashes = Callable[[Batch, Sequence[str]], Sequence[int | None]]


def partitions(config: KafkaOutputConfig, errors: ErrorReporter, clock: Clock) -> Partitions | None:
    """Return None where the client chooses the partition, by the key."""
    wanted = config.partition
    if wanted is None or not wanted.is_explicit:
        return None
    look_up = _lookup(config, reachable_only=wanted.reachable_only)
    return Partitions(
        _choice(wanted), look_up, clock, lambda error, topic: errors.report(error.code(), error.str(), topic)
    )


def keys(config: KafkaOutputConfig) -> Keys | None:
    """Return None where the key is the file id."""
    return None if config.key is None else Keys(config.key)


def hashes(config: KafkaOutputConfig) -> Hashes | None:
    wanted = config.partition
    if wanted is None or wanted.hash is None or not wanted.is_explicit:
        return None
    if not wanted.hash.hash:
        return lambda batch, keys: [fnv1a(key.encode()) for key in keys]
    of_fields = FieldHashes(wanted.hash.hash)
    return lambda batch, keys: of_fields(batch)


def unhashable(config: KafkaOutputConfig) -> Callable[[Batch], Mapping[int, str]]:
    """Return a function that gives the reasons of events which have no hash, and must not go to a random partition."""
    by_hash = None if config.partition is None else config.partition.hash
    if by_hash is None or by_hash.random or not by_hash.hash:
        return lambda batch: NOTHING_REFUSED
    return FieldHashes(by_hash.hash).refused


def _choice(wanted: PartitionConfig) -> Choice:
    if wanted.random is not None:
        return InGroups(wanted.random.group_events, at_random=True)
    if wanted.round_robin is not None:
        return InGroups(wanted.round_robin.group_events, at_random=False)
    return ByHash()


def _lookup(config: KafkaOutputConfig, *, reachable_only: bool) -> Callable[[str], list[int]]:
    """Return a function that gives the partitions of a topic; with `reachable_only` those that have a leader, if any
    has one. It blocks, and raises KafkaException. Each call makes a client of its own: they are rare, and settings may
    have been renewed."""

    def look_up(topic: str) -> list[int]:
        try:
            admin: AdminClient = clients(latest(config)).admin()
        except StartError as error:  # a certificate that is being renewed, for instance
            raise KafkaException(KafkaError(KafkaError._FAIL, str(error))) from error
        metadata = admin.list_topics(topic, timeout=LOOKUP_TIMEOUT).topics.get(topic)
        if metadata is None:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if metadata.error is not None:
            raise KafkaException(metadata.error)
        reachable = [number for number, partition in metadata.partitions.items() if partition.leader >= 0]
        return sorted(reachable if reachable_only and reachable else metadata.partitions)

    return look_up
