"""What there is of the topics that the configuration names: a list, a pattern, or partitions.

Spark's source fails at once on a topic that does not exist. But a topic is often made by the first record, and the
order in which the parts of a pipeline are started should not matter: so the job waits for it, and says so.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from config.sink.kafka import KafkaSource
from spark_sink.kafka.offsets import Partition, words


class Directory(Protocol):
    """What Kafka has. `Admin` is one. Each may block, and raises SinkError."""

    def names(self) -> set[str]: ...

    def matching(self, pattern: str) -> set[str]: ...

    def partitions(self, topics: Collection[str]) -> set[Partition]: ...


def named(kafka: KafkaSource) -> str:
    """For messages: what is read."""
    return f"partitions {words(_listed(kafka))}" if kafka.partitions else kafka.described


def topics(kafka: KafkaSource, directory: Directory) -> set[str]:
    """The topics that are there now."""
    if kafka.topics_pattern:
        return directory.matching(kafka.topics_pattern)
    return set(kafka.topic_names) & directory.names()


def present(kafka: KafkaSource, directory: Directory) -> set[Partition]:
    """The partitions that are there now, of those that are wanted."""
    found = directory.partitions(topics(kafka, directory))
    return found & _listed(kafka) if kafka.partitions else found


def missing(kafka: KafkaSource, directory: Directory) -> list[str]:
    """What the job has to wait for, in words; nothing when it can start."""
    if kafka.topics_pattern:
        return [] if topics(kafka, directory) else [f"a topic like {kafka.topics_pattern!r}"]
    if kafka.partitions:
        lacking = _listed(kafka) - present(kafka, directory)
        return [f"partition {words([at])}" for at in sorted(lacking)]
    return [f"topic {name}" for name in sorted(set(kafka.topic_names) - directory.names())]


def wait_for(missing: Callable[[], Sequence[str]], say: Callable[[str], None], pause: Callable[[], bool]) -> bool:
    """Until nothing is missing. `pause` sits out the time between two looks; False as soon as it says to stop."""
    said: Sequence[str] = ()
    while now := missing():
        if now != said:
            say(
                f"waiting for {', '.join(now)}: Kafka does not have it yet, or does not show it to these credentials. "
                "Nothing is landed before it is there; if it never will be, correct `kafka` in the configuration"
            )
            said = now
        if pause():
            return False
    if said:
        say(f"{', '.join(said)} appeared")
    return True


def _listed(kafka: KafkaSource) -> set[Partition]:
    return {(topic, number) for topic, numbers in kafka.partitions.items() for number in numbers}
