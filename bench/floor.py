"""The floor: the same encoded bytes handed to librdkafka in batches, without reading, encoding or tracking anything.

python -m bench.floor BOOTSTRAP TOPIC COUNT
"""

import sys

from confluent_kafka import KafkaError, Message, Producer

from bench.data import line
from config.shipper.model import KafkaOutputConfig
from shipper.event import Batch, Constants, Messages, Source
from shipper.output.encode import Encoder
from shipper.output.kafka_settings import settings
from shipper.record import Agent, file_member, members

BATCH = 1600
IN_FLIGHT = 32_000


def records() -> list[str]:
    texts = [line(number) for number in range(BATCH)]
    lengths = [len(text) + 1 for text in texts]
    messages = Messages(0, sum(lengths), texts, [sum(lengths[:index]) for index in range(BATCH)], lengths)
    file = file_member("0" * 32, "/var/log/app/big.log", 1234567, 65024)
    shared = members(Agent("host", "host", "0" * 32, "0"), "filestream", "bench", file, {})
    source = Source("0" * 32, "/var/log/app/big.log", 1234567, 65024, "bench", "filestream", Constants(shared))
    return Encoder(1_000_000).encode(Batch(source, messages, 0.0, lambda: None))


def main(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer(settings(KafkaOutputConfig(hosts=(bootstrap,), topic=topic)))
    failed: list[KafkaError] = []

    def report(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    values = records()
    for start in range(0, count, BATCH):
        while len(producer) > IN_FLIGHT:
            producer.poll(0.01)
        batch = [{"value": value, "key": str(start // BATCH % 64)} for value in values[: count - start]]
        producer.produce_batch(topic, batch, callback=report)
        producer.poll(0)
    producer.flush()
    if failed:
        sys.exit(str(failed[0]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
