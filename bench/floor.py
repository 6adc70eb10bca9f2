"""The floor: librdkafka alone sends the same encoded bytes, without reading, encoding or saving positions.

python -m bench.floor BOOTSTRAP TOPIC COUNT            in batches, as fast as possible
python -m bench.floor BOOTSTRAP TOPIC --rate RATE      one by one, until it is stopped
"""

import argparse
import sys

from confluent_kafka import KafkaError, Message, Producer

from bench.appends import at_rate, stamped_line
from bench.data import line
from log_shipper.shipper.event import Batch, Constants, Messages, Source
from log_shipper.shipper.formats.record import Agent, file_member, members_of_file, members_of_input
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.output.kafka_settings import settings

BATCH = 1600
IN_FLIGHT = 32_000
HOLE = "|"  # occurs in no other part of a record


def records(texts: list[str]) -> list[str]:
    lengths = [len(text) + 1 for text in texts]
    messages = Messages(0, sum(lengths), texts, [sum(lengths[:index]) for index in range(len(texts))], lengths)
    file = file_member("0" * 32, "/var/log/app/big.log", 1234567, 65024)
    of_input = members_of_input(Agent("host", "host", "0" * 32, "0"), "filestream", "bench", {})
    shared = members_of_file(of_input, file)
    source = Source("0" * 32, "/var/log/app/big.log", 1234567, 65024, "bench", "filestream", Constants(shared))
    return Encoder(1_000_000).encode(Batch(source, messages, 0.0, lambda: None))


def stamped_record(template: str) -> str:
    """Return the record of a line with the current time, from the record of HOLE."""
    return template.replace(HOLE, stamped_line().decode().rstrip())


class Floor:
    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(settings(KafkaOutputConfig(hosts=(bootstrap,), topic=topic)))

    def produce_all(self, count: int) -> None:
        values = records([line(number) for number in range(BATCH)])
        for start in range(0, count, BATCH):
            while len(self._producer) > IN_FLIGHT:
                self._producer.poll(0.01)
            batch = [{"value": value, "key": str(start // BATCH % 64)} for value in values[: count - start]]
            self._producer.produce_batch(self._topic, batch, callback=_check)
            self._producer.poll(0)
        self._producer.flush()

    def produce_at(self, rate: float) -> None:
        template = records([HOLE])[0]
        for _ in at_rate(rate):
            batch = [{"value": stamped_record(template), "key": "0"}]
            self._producer.produce_batch(self._topic, batch, callback=_check)
            self._producer.poll(0)


def _check(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        sys.exit(str(error))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("count", type=int, nargs="?")
    parser.add_argument("--rate", type=float)
    options = parser.parse_args()
    floor = Floor(options.bootstrap, options.topic)
    if options.rate is None:
        floor.produce_all(options.count)
    else:
        floor.produce_at(options.rate)


if __name__ == "__main__":
    main()
