"""Builds the choice of partitions, by `output.kafka.key` and `output.kafka.partition`."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.formats.text import without_surrogates
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.kafka_records import PartitionConfig
from log_shipper.shipper.output.encode import NOTHING_REFUSED
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_settings import clients, latest
from log_shipper.shipper.output.partitions import ByHash, Choice, InGroups, Partitions
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import path_of, roots
from log_shipper.shipper.processor.formatting import Formatter, is_shared

LOOKUP_TIMEOUT = 10.0  # seconds

_BASIS, _PRIME = 2166136261, 16777619  # FNV-1a of 32 bits

# The hash of each event, given its keys.
Hashes = Callable[[Batch, Sequence[str]], Sequence[int | None]]


class Keys:
    """The keys of events. Used by the publishing thread."""

    def __init__(self, key: str) -> None:
        """`key` is a format string."""
        self._formatter = Formatter(key)

    def __call__(self, batch: Batch) -> Sequence[str]:
        """Return the key of each event; the file id if it has no text, so that a file's events without a key stay in
        order."""
        keys, without = self._formatter.texts(batch)
        for index in without:
            keys[index] = batch.source.file_id
        return keys


@lru_cache(maxsize=10_000)
def fnv1a(data: bytes) -> int:
    """Return the hash as Filebeat uses it: without its sign bit."""
    value = _BASIS
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value & 0x7FFFFFFF


class FieldHashes:
    """Hashes of fields. Values shared by all events of a batch are hashed once."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths = [path_of(field) for field in fields]
        self._roots = roots(*self._paths)

    def __call__(self, batch: Batch) -> list[int | None]:
        """Return the hash of each event; None if it lacks a field, or has an object or a list there."""
        events = Events(batch)
        if batch.events and is_shared(events, self._roots):
            return [self._hash(events, 0)] * batch.events
        return [self._hash(events, index) for index in range(batch.events)]

    def refused(self, batch: Batch) -> Mapping[int, str]:
        """Return the reasons of events without a hash, by index."""
        reason = "a field of output.kafka.partition.hash.hash is missing, or is not a text, number or boolean"
        return {index: reason for index, value in enumerate(self(batch)) if value is None}

    def _hash(self, events: Events, index: int) -> int | None:
        pieces = [_bytes(events.get(index, path)) for path in self._paths]
        return None if None in pieces else fnv1a(b"".join(piece for piece in pieces if piece is not None))


def _bytes(value: Any) -> bytes | None:
    match value:
        case str():
            return without_surrogates(value).encode()
        case bool():
            return bytes([value])
        case int():
            return (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
        case float():
            return f"{value:g}".encode()
    return None


def partitions(config: KafkaOutputConfig, errors: ErrorReporter, clock: Clock) -> Partitions | None:
    """Return None if the client chooses the partition, by key."""
    wanted = config.partition
    if wanted is None or not wanted.is_explicit:
        return None
    look_up = _lookup(config, reachable_only=wanted.reachable_only)
    return Partitions(
        _choice(wanted), look_up, clock, lambda error, topic: errors.report(error.code(), error.str(), topic)
    )


def keys(config: KafkaOutputConfig) -> Keys | None:
    """Return None if the key is the file id."""
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
    """Return a function that returns the reasons of events without a hash, if they must not go to a random
    partition."""
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
    """Return a function that returns the partitions of a topic; with `reachable_only`, those with a leader, if any has
    one. It blocks, and raises KafkaException. Each call creates a client: calls are rare, and settings may have been
    renewed."""

    def look_up(topic: str) -> list[int]:
        try:
            admin: AdminClient = clients(latest(config)).admin()
        except StartError as error:  # for example a certificate during its renewal
            raise KafkaException(KafkaError(KafkaError._FAIL, str(error))) from error
        metadata = admin.list_topics(topic, timeout=LOOKUP_TIMEOUT).topics.get(topic)
        if metadata is None:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if metadata.error is not None:
            raise KafkaException(metadata.error)
        reachable = [number for number, partition in metadata.partitions.items() if partition.leader >= 0]
        return sorted(reachable if reachable_only and reachable else metadata.partitions)

    return look_up
