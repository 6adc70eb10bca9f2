"""A producer in a separate process: records of 216 bytes, at full speed or at a constant rate.

python -m bench.sink_records BOOTSTRAP TOPIC COUNT [--bad-every 100] [--rate 20000]
"""

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer

from bench.topics import PARTITIONS

FILES = 64
HOSTS = 8
RUN = 100  # consecutive records of one file, as a shipper sends them
SIZE = 216
LENGTH = 87  # of the line in its file
PADDING = "the quick brown fox jumps over the lazy dog and runs away from " * 2
BAD = b"a line that is not JSON, from a program that writes to the topic without a shipper"


def record(number: int, now: datetime) -> tuple[str, bytes]:
    """Return file id and value of the record with this number; the lines of a file are in order."""
    turn, place = divmod(number, FILES * RUN)
    file, line = place // RUN, turn * RUN + place % RUN
    file_id = f"{file:016x}"
    time_text = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = f'{{"@timestamp":"{time_text}","message":"'
    tail = (
        f'","log":{{"offset":{line * LENGTH},"length":{LENGTH},"file":{{"path":"/var/log/app.log",'
        f'"id":"{file_id}"}}}},"host":{{"name":"web-{file % HOSTS}"}}}}'
    )
    text = f"{number} {PADDING}"[: SIZE - len(head) - len(tail)]
    return file_id, f"{head}{text}{tail}".encode()


def partition_of(file_id: str) -> int:
    return int(file_id, 16) % PARTITIONS


def sped_up_clock(start: datetime, factor: float) -> Callable[[], datetime]:
    """Return a clock that starts at `start`, and runs `factor` times as fast as real time."""
    started = time.monotonic()
    return lambda: start + timedelta(seconds=(time.monotonic() - started) * factor)


def produce(bootstrap: str, topic: str, count: int, bad_every: int, rate: float, clock: Callable[[], datetime]) -> None:
    """Send each file's records to one partition, `rate` per second (0: full speed). `clock`: time of the records."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "compression.type": "lz4",
            "enable.idempotence": True,
            "queue.buffering.max.messages": 200_000,
        }
    )
    began, now = time.monotonic(), clock()
    for number in range(count):
        if number % RUN == 0:
            now = clock()
            producer.poll(0)
            if rate and (wait := began + number / rate - time.monotonic()) > 0:
                time.sleep(wait)
        file_id, value = record(number, now)
        # Not the first line of a file: without it, the sink would look up the file's rows in the table.
        if bad_every and number % bad_every == bad_every // 2:
            value = BAD
        _send(producer, topic, file_id, value)
    if left := producer.flush(60):
        raise RuntimeError(f"{left} records are unsent after 60 s")


def _send(producer: Producer, topic: str, file_id: str, value: bytes) -> None:
    while True:
        try:
            return producer.produce(topic, value, key=file_id, partition=partition_of(file_id))
        except BufferError:
            producer.poll(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.sink_records")
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("count", type=int)
    parser.add_argument("--bad-every", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--begin", type=datetime.fromisoformat, default=datetime.now(UTC), help="time of the records")
    parser.add_argument("--hasten", type=float, default=1.0, metavar="FACTOR", help="speed of that time")
    given = parser.parse_args()
    clock = sped_up_clock(given.begin, given.hasten)
    produce(given.bootstrap, given.topic, given.count, given.bad_every, given.rate, clock)


if __name__ == "__main__":
    main()
