"""The content of a topic, as a consumer reads it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, TopicPartition

PARTITIONS = 4
POLL_INTERVAL = 0.02


def wait_for(
    bootstrap: str,
    topic: str,
    count: int,
    check: Callable[[], None],
    timeout: float = 300.0,
    partitions: int = PARTITIONS,
) -> float:
    """Return the monotonic time at which `count` records are readable; `check` raises if the process failed."""
    deadline = time.monotonic() + timeout
    with _counting(bootstrap) as consumer:
        while (number := readable(consumer, topic, partitions)) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{number} of {count} records in {topic} after {timeout:.0f} s")
            check()
            time.sleep(POLL_INTERVAL)
        return time.monotonic()


def settled(bootstrap: str, topic: str, pause: float = 3.0) -> int:
    """Return the number of records after `pause` seconds without a new one."""
    with _counting(bootstrap) as consumer:
        count, since = 0, time.monotonic()
        while time.monotonic() - since < pause:
            now = readable(consumer, topic)
            if now != count:
                count, since = now, time.monotonic()
            time.sleep(POLL_INTERVAL)
        return count


@contextmanager
def _counting(bootstrap: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench-count", "enable.auto.commit": False})
    try:
        yield consumer
    finally:
        consumer.close()


def readable(consumer: Consumer, topic: str, partitions: int = PARTITIONS) -> int:
    """Return the number of records in all partitions; 0 while a partition of a new topic has no leader."""
    try:
        return _readable(consumer, topic, partitions)
    except KafkaException:
        return 0


def _readable(consumer: Consumer, topic: str, partitions: int) -> int:
    marks = [consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=10) for part in range(partitions)]
    return sum(high - low for low, high in marks)


def follow(bootstrap: str, topic: str) -> Iterator[tuple[bytes, float]]:
    """Yield new values with their wall-clock time of arrival. An empty value means that none arrived within 0.1 s; the
    first one, that the consumer is ready."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-follow",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "fetch.min.bytes": 1,
        }
    )
    parts = [TopicPartition(topic, part) for part in range(PARTITIONS)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    consumer.assign([TopicPartition(topic, part, end) for part, end in enumerate(ends)])
    try:
        while True:
            # Not consume(): it would wait for several messages.
            message = consumer.poll(0.1)
            value = message.value() if message is not None and message.error() is None else None
            yield value or b"", time.time()
    finally:
        consumer.close()
