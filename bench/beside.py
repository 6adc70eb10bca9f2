"""The delay of a small file's lines, one every 100 ms, while a big file is read.

The delay ends with the broker's timestamp of the record (LogAppendTime, in milliseconds). So the consumer, which would
take a core for the big file's records, can read them afterwards.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from bench.appends import Delays, append, stamp_of
from bench.contenders import Contender
from bench.data import write_lines
from bench.measure import Child
from bench.runs import Runs
from bench.topics import readable, wait_for

PAUSE = 0.1
BLOCK_LINES = 10_000
MAX_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Big:
    path: Path
    lines: int


def write_big(path: Path, size: int) -> Big:
    """Write a file of about `size` bytes by repeating one block."""
    write_lines(path, BLOCK_LINES)
    block = path.read_bytes()
    count = max(size // len(block), 1)
    with path.open("wb") as file:
        for _ in range(count):
            file.write(block)
    return Big(path, count * BLOCK_LINES)


def measure(contender: Contender, runs: Runs, big: Big | None, partitions: int, seconds: float) -> Delays:
    """Measure while the big file is read, or for `seconds` without one. With one partition, both files share it."""
    directory = runs.fresh("beside")
    directory.mkdir()
    small = directory / "small.log"
    append(small)
    job = runs.job(directory / "*.log", 1 + (big.lines if big else 0), partitions)
    consumer = Consumer({"bootstrap.servers": job.bootstrap, "group.id": "bench-beside", "enable.auto.commit": False})
    child = Child(contender.command(job), job.directory / "output.log")
    try:
        wait_for(job.bootstrap, job.topic, 1, child.check, partitions=partitions)
        if big is not None:
            os.link(big.path, directory / "big.tmp")
            (directory / "big.tmp").rename(directory / "big.log")  # rsyslog misses a link that is created in place
        deadline = time.monotonic() + (MAX_SECONDS if big else seconds)
        written = 0
        while time.monotonic() < deadline and (not big or readable(consumer, job.topic, partitions) < job.count):
            append(small)
            written += 1
            time.sleep(PAUSE)
        wait_for(job.bootstrap, job.topic, job.count + written, child.check, partitions=partitions)
        return Delays.of(_delays(consumer, job.topic, partitions, job.count + written)[1:])
    finally:
        child.end()
        consumer.close()


def _delays(consumer: Consumer, topic: str, partitions: int, count: int) -> list[float]:
    """Return the times from the stamp of each line to that of its record. The first includes the shipper's start."""
    consumer.assign([TopicPartition(topic, part, 0) for part in range(partitions)])
    stamps: list[tuple[float, float]] = []
    while count > 0:
        messages = consumer.consume(10_000, timeout=10.0)
        if not messages:
            raise RuntimeError(f"cannot read {count} records of {topic}")
        for message in messages:
            written = stamp_of(message.value() or b"")
            if written is not None:
                stamps.append((written, message.timestamp()[1] / 1000))
        count -= len(messages)
    return [arrived - written for written, arrived in sorted(stamps)]
