"""Kafka's admin client, from the jar that Spark brings: its answers are those that Spark's source gets.

Java by Py4J, all of it here: org.apache.kafka.clients.admin (Admin, OffsetSpec, ListOffsetsOptions), TopicPartition and
OffsetAndMetadata of Kafka, java.util. Each object costs a call of some tenths of a millisecond: meant for questions
at a start, by a command, or between batches.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Self, TypeVar

from pyspark.sql import SparkSession

from spark_sink.errors import SPARK_ERRORS, translate
from spark_sink.kafka.offsets import Offsets, Partition
from spark_sink.platform.jvm import java_class

ANSWER_SECONDS = 20.0
Answer = TypeVar("Answer")


class Admin:
    """The client, as a context manager. Each method blocks `patience` seconds at most, then raises SinkError.
    Thread-safe."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], patience: float = ANSWER_SECONDS) -> None:
        self._spark = spark
        self._options = options
        self._milliseconds = round(patience * 1000)
        self._servers = options.get("bootstrap.servers", "")

    def __repr__(self) -> str:
        return f"<Admin {self._servers}>"  # the options may contain secrets

    def __enter__(self) -> Self:
        properties = self._java("java.util.Properties")()
        timeouts = {"default.api.timeout.ms": self._milliseconds, "request.timeout.ms": self._milliseconds // 2}
        for key, value in {**self._options, **timeouts}.items():
            properties.setProperty(key, str(value))
        self._client = self._ask(lambda: self._kafka("clients.admin.Admin").create(properties))
        return self

    def __exit__(self, *_: object) -> None:
        # Otherwise it would wait for pending requests for the whole `patience`.
        self._client.close(self._java("java.time.Duration").ofSeconds(1))

    def topic_names(self) -> set[str]:
        """Return all topics that these credentials may see, Kafka's own left out."""
        return {str(name) for name in self._ask(lambda: self._client.listTopics().names().get())}

    def topics_matching(self, pattern: str) -> set[str]:
        """Return those topics whose whole name the regular expression (Java's) matches. Raises SinkError."""

        def choose() -> set[str]:
            names = self._java("java.util.HashSet")(self._client.listTopics().names().get())
            matches = self._java("java.util.regex.Pattern").compile(pattern).asMatchPredicate()
            names.removeIf(getattr(self._java("java.util.function.Predicate"), "not")(matches))
            return {str(name) for name in names}

        return self._ask(choose, f"cannot look for topics like {pattern!r}")

    def partitions(self, topics: Collection[str]) -> set[Partition]:
        """Return all partitions of the topics. Raises SinkError for a topic that does not exist."""

        def describe() -> set[Partition]:
            descriptions = self._client.describeTopics(list(topics)).allTopicNames().get()
            return {
                (str(name), int(partition.partition()))
                for name in descriptions
                for partition in descriptions[name].partitions()
            }

        return self._ask(describe) if topics else set()

    def ids(self, topics: Collection[str]) -> dict[str, str]:
        """Return the id that each topic got when it was created; "" from a broker that has none (before Kafka 2.8)."""

        def describe() -> dict[str, str]:
            none = str(self._kafka("common.Uuid").ZERO_UUID.toString())
            descriptions = self._client.describeTopics(list(topics)).allTopicNames().get()
            return {str(name): str(descriptions[name].topicId().toString()).replace(none, "") for name in descriptions}

        return self._ask(describe) if topics else {}

    def earliest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return self._offsets(partitions, lambda: self._kafka("clients.admin.OffsetSpec").earliest())

    def latest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """Return the end of each partition for readers: before the first record of a transaction that is still open,
        where they read committed records only."""
        return self._offsets(partitions, lambda: self._kafka("clients.admin.OffsetSpec").latest())

    def at_timestamp(self, partitions: Collection[Partition], milliseconds: int) -> dict[Partition, int]:
        """Return the first offset of this time (ms of the epoch) or later; a partition without one is left out."""
        offsets = self._offsets(partitions, lambda: self._kafka("clients.admin.OffsetSpec").forTimestamp(milliseconds))
        return {partition: offset for partition, offset in offsets.items() if offset >= 0}

    def committed(self, group: str) -> dict[Partition, int]:
        """Return the offsets that the group has committed, of whatever topics; empty for an unknown group."""

        def read() -> dict[Partition, int]:
            committed = self._client.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
            # Kafka names a partition without an offset, too.
            return {
                _partition(partition): int(committed[partition].offset())
                for partition in committed
                if committed[partition] is not None
            }

        return self._ask(read)

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]:
        """Start a commit and return at once. The function that is returned returns True when the commit is done; called
        with True it waits for that, `patience` at most. It raises SinkError when Kafka refused."""

        def start() -> Any:
            given = self._java("java.util.HashMap")()
            for partition, offset in offsets.items():
                given.put(self._topic_partition(partition), self._kafka("clients.consumer.OffsetAndMetadata")(offset))
            return self._client.alterConsumerGroupOffsets(group, given).all()

        doing = f"cannot commit offsets of the group {group}"
        future = self._ask(start, doing)

        def done(wait: bool) -> bool:
            if not wait and not future.isDone():
                return False
            self._ask(future.get, doing)
            return True

        return done

    def _offsets(self, partitions: Collection[Partition], spec: Callable[[], Any]) -> dict[Partition, int]:
        def read() -> dict[Partition, int]:
            asked, what = self._java("java.util.HashMap")(), spec()
            for partition in partitions:
                asked.put(self._topic_partition(partition), what)
            offsets = self._client.listOffsets(asked, self._readable()).all().get()
            return {_partition(partition): int(offsets[partition].offset()) for partition in offsets}

        return self._ask(read) if partitions else {}

    def _java(self, name: str) -> Any:
        return java_class(self._spark, name)

    def _kafka(self, name: str) -> Any:
        return java_class(self._spark, f"org.apache.kafka.{name}")

    def _readable(self) -> Any:
        """Return the isolation that Spark's source has by the same options."""
        level = self._options.get("isolation.level", "read_uncommitted").upper()
        return self._kafka("clients.admin.ListOffsetsOptions")(self._kafka("common.IsolationLevel").valueOf(level))

    def _topic_partition(self, partition: Partition) -> Any:
        return self._kafka("common.TopicPartition")(*partition)

    def _ask(self, question: Callable[[], Answer], doing: str = "cannot read from Kafka") -> Answer:
        try:
            return question()
        except SPARK_ERRORS as error:
            raise translate(str(error), f"{doing} at {self._servers}") from error


def _partition(partition: Any) -> Partition:
    return str(partition.topic()), int(partition.partition())
