"""A file that grows all the time, shipped with transactions while the shipper, and now and then the broker, is killed.

script/kills N [--seed S] [--broker SHARE]   N kills; then each line must have been committed once
"""

import argparse
import random
import re
import shutil
import tempfile
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from demo.broker import Broker
from tests.e2e.running import PATIENCE, Agent, await_true

TOPIC = "kills"
PARTITIONS = 3
RATE = 60_000  # lines a second: after a kill there is a backlog, which is shipped at full speed
NUMBER = re.compile(rb'"message":"(\d{9}) ')


class NumberedWriter(threading.Thread):
    """Writes numbered lines until `end`; `written` is how many."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.written = 0
        self._path = path
        self._ending = threading.Event()

    def run(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            while not self._ending.wait(0.01):
                block = range(self.written, self.written + RATE // 100)
                file.write(b"".join(b"%09d a line of a program that logs all the time\n" % number for number in block))
                self.written = block.stop

    def end(self) -> None:
        self._ending.set()
        self.join()


class Counter:
    """Counts how often each line was committed."""

    def __init__(self, bootstrap: str) -> None:
        self.counts = array("B")
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_committed"}
        )
        self._consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])

    def read(self, timeout: float) -> int:
        """Count what comes within `timeout`; return how many records that were."""
        messages = self._consumer.consume(10_000, timeout)
        for message in messages:
            numbered = NUMBER.search(message.value() or b"")
            assert numbered is not None, message.error()
            number = int(numbered[1])
            if number >= len(self.counts):
                self.counts.frombytes(bytes(number + 1 - len(self.counts)))
            self.counts[number] = min(self.counts[number] + 1, 255)
        return len(messages)

    def close(self) -> None:
        self._consumer.close()


def run(directory: Path, kills: int, seed: int, broker_share: float, report: Callable[[str], None]) -> None:
    """Kill agent and broker at random; raise AssertionError where a line is missing, or there twice."""
    dice = random.Random(seed)
    with Broker(directory / "broker") as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        agent = Agent(directory, broker.bootstrap, TOPIC)
        agent.kafka = {"delivery": "exactly_once"}
        agent.configure()
        writer = NumberedWriter(agent.path)
        writer.start()
        try:
            _kill(agent, broker, kills, dice, broker_share, report)
        finally:
            writer.end()
        _count(agent, broker, writer.written, report)


def _kill(
    agent: Agent, broker: Broker, kills: int, dice: random.Random, broker_share: float, report: Callable[[str], None]
) -> None:
    agent.start()
    for number in range(kills):
        time.sleep(dice.uniform(0.2, 2.5))
        assert agent.process.poll() is None, agent.log[-2000:]
        if dice.random() < broker_share:
            report(f"kill {number + 1}: the broker")
            broker.kill()
            broker.start()
        else:
            report(f"kill {number + 1}: the shipper")
            agent.kill()
            agent.start()


def _count(agent: Agent, broker: Broker, written: int, report: Callable[[str], None]) -> None:
    counter = Counter(broker.bootstrap)

    def all_there() -> bool:
        counter.read(0.5)
        return len(counter.counts) == written and 0 not in counter.counts

    try:
        await_true(all_there, lambda: f"{written} lines; the log ends with:\n{agent.log[-2000:]}", 4 * PATIENCE)
        assert agent.stop() == 0
        while counter.read(3.0):
            pass
        repeated = sum(count > 1 for count in counter.counts)
        report(f"{written:,} lines written, 0 missing, {repeated:,} repeated")
        assert not repeated, f"{repeated} lines were committed more than once"
    finally:
        counter.close()
        agent.end()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="script/kills", description="Kills the shipper, and counts what was committed."
    )
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--broker", type=float, default=0.1, help="how many of the kills are the broker's")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kills-"))
    began = time.monotonic()

    def report(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)  # noqa: T201

    report(f"seed {options.seed}, in {directory}")
    run(directory, options.kills, options.seed, options.broker, report)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
