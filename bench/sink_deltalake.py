"""A baseline of the sink without Spark: one process reads the topic, and deltalake appends each record as a string.

    python -m bench.sink_deltalake CONFIG

It saves no position. The log line of each batch has the sink's format.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from deltalake import write_deltalake

from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.options.model import SinkConfig

FETCHED = 10_000  # maximum records per call
LAST_TIMEOUT = 1.0


def main() -> None:
    config = load([Path(sys.argv[1])], SinkConfig)
    consumer = Consumer(
        {
            "bootstrap.servers": config.kafka.bootstrap_servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.queue.backoff.ms": 10,
        }
    )
    (topic,) = config.kafka.topics
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    began = time.monotonic()
    for values in batches(consumer, len(partitions), config.max_offsets_per_trigger):
        write_deltalake(config.table.path, pyarrow.table({"value": values}), mode="append")
        line = {"message": "batch", "rows_in": len(values), "seconds": time.monotonic() - began}
        print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201
        began = time.monotonic()
    consumer.close()


def batches(consumer: Consumer, partitions: int, size: int) -> Iterator[pyarrow.Array]:
    """Yield values in chunks of at least `size` records, until the end of each partition."""
    chunks: list[pyarrow.Array] = []
    ended, count = 0, 0
    while ended < partitions:
        messages = consumer.consume(FETCHED, LAST_TIMEOUT)
        ended += sum(is_end(message.error()) for message in messages)
        values = [message.value() for message in messages if message.error() is None]
        chunks.append(pyarrow.array(values, pyarrow.binary()).cast(pyarrow.string()))
        count += len(values)
        if count >= size:
            yield pyarrow.concat_arrays(chunks)
            chunks, count = [], 0
    if count:
        yield pyarrow.concat_arrays(chunks)


def is_end(error: KafkaError | None) -> bool:
    """Return True for the end of a partition. Raises KafkaException for any other error."""
    if error is None:
        return False
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return True


if __name__ == "__main__":
    main()
