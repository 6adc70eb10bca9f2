"""The configured topics (by a list, a pattern or partitions), and which of them exist.

Spark's source fails at once on a missing topic. But a topic is often created by its first record, and the parts of a
pipeline may start in any order: so the job waits for the topic, and logs that.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from log_shipper.spark_sink.kafka.offsets import Partition, describe_partitions
from log_shipper.spark_sink.options.kafka import KafkaSource


class TopicDirectory(Protocol):
    """The topics that Kafka has. `Admin` is the implementation. Each method may block, and raises SinkError."""

    def topic_names(self) -> set[str]: ...

    def topics_matching(self, pattern: str) -> set[str]: ...

    def partitions(self, topics: Collection[str]) -> set[Partition]: ...


def describe(kafka: KafkaSource) -> str:
    """Return the configured topics or partitions, for a message."""
    return f"partitions {describe_partitions(_configured_partitions(kafka))}" if kafka.partitions else kafka.described


def topics(kafka: KafkaSource, directory: TopicDirectory) -> set[str]:
    """Return the configured topics that exist."""
    if kafka.topics_pattern:
        return directory.topics_matching(kafka.topics_pattern)
    return set(kafka.topic_names) & directory.topic_names()


def present(kafka: KafkaSource, directory: TopicDirectory) -> set[Partition]:
    """Return the configured partitions that exist."""
    existing = directory.partitions(topics(kafka, directory))
    return existing & _configured_partitions(kafka) if kafka.partitions else existing


def missing(kafka: KafkaSource, directory: TopicDirectory, deleted: Collection[str] = ()) -> list[str]:
    """Return the topics and partitions to wait for, for a message; empty when the job can start.

    `deleted`: topics to ignore.
    """
    if kafka.topics_pattern:
        return [] if deleted or topics(kafka, directory) else [f"a topic that matches {kafka.topics_pattern!r}"]
    if kafka.partitions:
        lacking = {place for place in _configured_partitions(kafka) if place[0] not in deleted}
        lacking -= present(kafka, directory)
        return [f"partition {describe_partitions([partition])}" for partition in sorted(lacking)]
    return [f"topic {name}" for name in sorted(set(kafka.topic_names) - directory.topic_names() - set(deleted))]


def wait_for(missing: Callable[[], Sequence[str]], log: Callable[[str], None], pause: Callable[[], bool]) -> bool:
    """Return True once nothing is missing, False if `pause` returns True. `pause`: waits before the next check; returns
    True if the job must stop."""
    logged: Sequence[str] = ()
    while now := missing():
        if now != logged:
            log(
                f"waiting for {', '.join(now)}: does not exist, or these credentials lack the permission to see it. "
                "Nothing lands until then. Create it, or correct `kafka` in the configuration"
            )
            logged = now
        if pause():
            return False
    if logged:
        log(f"{', '.join(logged)} appeared")
    return True


def _configured_partitions(kafka: KafkaSource) -> set[Partition]:
    return {(topic, number) for topic, numbers in kafka.partitions.items() for number in numbers}
