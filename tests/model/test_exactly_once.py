"""The whole agent with transactions: whatever is killed, and when, each line is committed once."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.options.model import DeleteConfig, ShipperConfig
from log_shipper.shipper.options.queues import DiskQueueConfig
from log_shipper.shipper.output.positions_topic import Owner
from log_shipper.shipper.output.transaction import TransactionLimits
from log_shipper.shipper.output.transactional_id import TransactionalId
from log_shipper.shipper.output.transactions import Transactions
from log_shipper.shipper.outputs.base import OutputContext
from tests.builders import multiline
from tests.fake_transactions import MemoryPositions, TransactionalKafka, failure
from tests.fakes import kafka_context
from tests.lab import CLOSE_INACTIVE, Lab
from tests.model.seeds import seeds


def failures(dice: random.Random) -> list[KafkaException]:
    """Return how the next commit fails, and perhaps the one after it."""
    kinds = [
        failure(KafkaError._TIMED_OUT, retriable=True),
        failure(KafkaError.COORDINATOR_NOT_AVAILABLE, abort=True),
        failure(KafkaError._FATAL, fatal=True),
    ]
    return dice.choices(kinds, k=dice.randrange(1, 3))


class ExactlyOnceLab(Lab):
    """A Lab whose agent commits transactions; `records` are what was committed."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.kafka = TransactionalKafka()

    def _connect(self, config: ShipperConfig, context: OutputContext) -> Transactions:  # type: ignore[override]
        self._lives += 1
        kafka = kafka_context(context.clock, backoff=Backoff(0.001, 0.01), metrics=context.metrics)
        owner = Owner(f"life {self._lives}", "lab", 1, "now")
        identity = TransactionalId(self.kafka.connect, MemoryPositions(self.kafka), owner)
        limits = TransactionLimits(0.1, 1000, 10**6)
        return Transactions(identity, kafka, context.deliveries, context.positions, limits)

    def step(self, seconds: float = 0.005, wait: float = 0.0) -> None:
        super().step(seconds, wait)
        self.records[:] = self.kafka.landed

    def kill_back_to(self, data: Path) -> None:
        """Kill the agent, whose data directory has nothing that was not in the copy."""
        self._end()
        self.data = data

    def expect_once(self, name: str, *lines: str) -> None:
        self.expect_lines(name, *lines)
        assert len(self.lines(self.inode(name))) == sum(arrived.inode == self.inode(name) for arrived in self.arrived)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ExactlyOnceLab]:
    lab = ExactlyOnceLab(tmp_path)
    yield lab
    lab.close()


def test_what_was_committed_before_the_registry_was_written_is_not_sent_again(lab: ExactlyOnceLab) -> None:
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.wait_until(lambda: not lab.running.pipeline.drained)
    behind = lab.leave_behind()
    lab.expect_lines("a.log", "one", "two")
    lab.kill_back_to(behind)
    lab.append("a.log", "three\n")
    lab.start()
    lab.expect_once("a.log", "one", "two", "three")


def test_the_entry_of_a_file_that_is_removed_leaves_the_topic(lab: ExactlyOnceLab) -> None:
    lab.append("a.log", "one\n")
    lab.append("b.log", "one\n")
    lab.start()
    lab.wait_until(lambda: len(lab.records) == 2)
    lab.calm_down()
    before = set(lab.kafka.positions)
    lab.release(lab.logs / "a.log")
    lab.remove("a.log")
    lab.calm_down()
    lab.clock.advance(25 * 3600)  # clean_removed
    lab.calm_down()
    lab.append("b.log", "two\n")
    lab.wait_until(lambda: len(before - set(lab.kafka.positions)) == 1)


def test_without_a_registry_the_committed_positions_count(lab: ExactlyOnceLab) -> None:
    lab.ship("a.log", "one", "two")
    lab.stop()
    shutil.rmtree(lab.data / "registry")
    lab.append("a.log", "three\n")
    lab.start()
    lab.expect_once("a.log", "one", "two", "three")


def take_scans(lab: ExactlyOnceLab) -> None:
    for _ in range(20):
        lab.step(seconds=1, wait=0.002)


@pytest.mark.parametrize("rotations", [1, 2])
def test_without_a_registry_the_copies_of_a_truncated_file_are_not_sent_again(
    lab: ExactlyOnceLab, rotations: int
) -> None:
    lines = ["0", "first"]
    lab.ship("a.log", *lines)
    for life in range(1, rotations + 1):
        if life > 1:
            lab.rotate("a.log.1", "a.log.2")
        lab.copytruncate("a.log", "a.log.1")
        take_scans(lab)
        lab.append("a.log", f"{life}\nmore\n")
        lines += [str(life), "more"]
        lab.expect_lines("a.log", *lines)
    lab.stop()
    shutil.rmtree(lab.data / "registry")
    lab.append("a.log", "last\n")
    lab.start()
    lab.wait_until(lambda: "last" in lab.messages)
    take_scans(lab)
    assert lab.messages == [*lines, "last"]


def test_a_message_that_was_ended_by_time_is_not_sent_again_after_a_kill(lab: ExactlyOnceLab) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "one\n  more\n")
    lab.start()
    lab.wait_until(lambda: not lab.running.pipeline.drained, seconds=1)
    behind = lab.leave_behind()
    lab.expect_lines("a.log", "one\n  more")
    lab.kill_back_to(behind)
    lab.append("a.log", "  and more\nend\nx\n")
    lab.start()
    lab.expect_once("a.log", "one\n  more", "  and more", "end", "x")


def test_a_file_is_deleted_only_after_the_commit(lab: ExactlyOnceLab) -> None:
    lab.input = {"delete": DeleteConfig(enabled=True, grace_period=0.0)}
    lab.kafka.refuses = lambda request: KafkaError.NOT_ENOUGH_REPLICAS
    lab.append("a.log", "one\n")
    lab.start()
    for _ in range(100):
        lab.step(seconds=CLOSE_INACTIVE, wait=0.002)
    assert (lab.logs / "a.log").exists()
    lab.kafka.refuses = lambda request: None
    lab.wait_until(lambda: not (lab.logs / "a.log").exists(), seconds=1)
    assert lab.messages == ["one"]


@pytest.mark.parametrize("seed", seeds(30))
def test_each_line_is_committed_once_whenever_the_agent_is_killed(lab: ExactlyOnceLab, seed: int) -> None:
    play_with_kills(lab, random.Random(seed))


@pytest.mark.parametrize("seed", seeds(10))
def test_each_line_is_committed_once_with_a_queue_on_disk(lab: ExactlyOnceLab, seed: int) -> None:
    dice = random.Random(seed)
    lab.disk_queue = DiskQueueConfig(read_ahead=dice.choice((1, 512)), segment_size=dice.choice((1000, 10**6)))
    lab.queue_events = dice.choice((0, 60))
    play_with_kills(lab, dice)


def play_with_kills(lab: ExactlyOnceLab, dice: random.Random) -> None:
    written: dict[str, list[str]] = {"a.log": [], "b.log": []}
    lab.start()
    for number in range(40):
        name = dice.choice(list(written))
        match dice.randrange(6):
            case 0:
                lab.kill_back_to(lab.leave_behind())
                lab.start()
            case 1:
                lab.kafka.fail("commit_transaction", *failures(dice))
                lab.kafka.lost_answers = dice.random() < 0.5
            case 2 | 3:
                lines = [f"{number} {index}" for index in range(dice.randrange(1, 50))]
                lab.append(name, "".join(f"{line}\n" for line in lines))
                written[name] += lines
            case _:
                for _ in range(dice.randrange(1, 20)):
                    lab.step(dice.choice([0.001, 0.05, 1.0]), wait=0.001)
    for name in [name for name in written if written[name]]:
        lab.expect_once(name, *written[name])
