"""The topics that the configuration names, by a list, a pattern or partitions, and those of them that exist.

Spark's source fails at once on a topic that does not exist. But a topic is often created by the first record, and the
order in which the parts of a pipeline are started should not matter: so the job waits for it, and logs that.
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
    """Return the topics or partitions that are read, for a message."""
    return f"partitions {describe_partitions(_configured_partitions(kafka))}" if kafka.partitions else kafka.described


def topics(kafka: KafkaSource, directory: TopicDirectory) -> set[str]:
    """Return the topics that exist now."""
    if kafka.topics_pattern:
        return directory.topics_matching(kafka.topics_pattern)
    return set(kafka.topic_names) & directory.topic_names()


def present(kafka: KafkaSource, directory: TopicDirectory) -> set[Partition]:
    """Return the partitions that exist now, of those that are wanted."""
    existing = directory.partitions(topics(kafka, directory))
    return existing & _configured_partitions(kafka) if kafka.partitions else existing


def missing(kafka: KafkaSource, directory: TopicDirectory, deleted: Collection[str] = ()) -> list[str]:
    """Return the topics and partitions that the job has to wait for, for a message; empty when it can start.

    `deleted`: topics that are not waited for.
    """
    if kafka.topics_pattern:
        return [] if deleted or topics(kafka, directory) else [f"a topic that matches {kafka.topics_pattern!r}"]
    if kafka.partitions:
        lacking = {place for place in _configured_partitions(kafka) if place[0] not in deleted}
        lacking -= present(kafka, directory)
        return [f"partition {describe_partitions([partition])}" for partition in sorted(lacking)]
    return [f"topic {name}" for name in sorted(set(kafka.topic_names) - directory.topic_names() - set(deleted))]


def wait_for(missing: Callable[[], Sequence[str]], log: Callable[[str], None], pause: Callable[[], bool]) -> bool:
    """Return True when nothing is missing, False as soon as `pause` returns True: it spends the time between two looks,
    and reports that the job is to stop."""
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
