"""Members of a group that join records, against a naive model: whatever is killed, taken away and refused, each record
is in one message, and a name has one text."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.event import Batch, resolve_after_all
from log_shipper.shipper.inputs.kafka.feed import group_offset
from log_shipper.shipper.inputs.kafka.offset_metadata import OffsetMetadata
from log_shipper.shipper.inputs.kafka.options import RebalanceConfig
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.starts import StartOffset
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.reader.base import ParserConfig
from tests.fakes import ManualClock
from tests.member_lab import MemberLab
from tests.memory_topics import FakeConsumer, MemoryTopics
from tests.model.seeds import for_each_seed

PLACES = [("logs", number) for number in range(3)]
PARSERS: list[tuple[ParserConfig, ...]] = [
    (MultilineConfig(pattern="^ "),),
    (MultilineConfig(pattern=r"\\$", match="before", timeout=2.0),),
    (MultilineConfig(pattern="^[BE]", negate=True, flush_pattern="^E"),),
    (MultilineConfig(type="count", count_lines=3, timeout=1.0),),
    (MultilineConfig(type="while_pattern", pattern="^ ", timeout=0.5),),
    (ContainerConfig(),),
    (ContainerConfig(), MultilineConfig(pattern="^<[0-9]*[0-4]>")),
]
NUMBER = re.compile("<([0-9]+)>")
Name = tuple[str, int]  # file id, offset


class Patience:
    """The event that a rebalance waits for: meanwhile time passes, and some is delivered."""

    def __init__(self, seat: "Seat") -> None:
        self._seat = seat

    def wait(self, timeout: float) -> None:
        self._seat.clock.advance(0.5)
        self._seat.deliver()

    def set(self) -> None: ...

    def clear(self) -> None: ...


@dataclass(eq=False)
class Seat(MemberLab):
    """A member. What it has sent is in `landed`, which outlives it."""

    dice: random.Random = field(default_factory=random.Random)
    landed: list[tuple[Name, str]] = field(default_factory=list)
    is_transactional: bool = False
    keeps_order: bool = True  # of what is in transactions; where processors wait for answers, some overtakes others
    in_flight: list[Batch] = field(default_factory=list)

    def sit(self) -> None:
        self.staging = Staging()
        if self.is_transactional:
            self.commits = False
            self.stage = lambda partition: self.staging.stage_for(partial(group_offset, self, partition))
        self.begin()
        self.own = self.topics.consumers[-1]

    def metadata(self) -> object:
        return self.session.rebalances.metadata

    def _partition(self, start: StartOffset) -> Partition:
        partition = super()._partition(start)
        partition.settled = Patience(self)  # type: ignore[assignment]  # the part of an event that is used
        return partition

    @property
    def consumer(self) -> FakeConsumer:
        return self.own

    def take_turn(self) -> None:
        self.consumer.most_at_once = self.dice.choice([1, 3, 1000])
        self.clock.advance(self.dice.choice([0.0, 0.1, 0.3, 1.0, 4.0]))
        self.session.step()

    def read_some(self) -> None:
        for partition in list(self.session.rebalances.partitions.values()):
            reading = self.reading_of(partition)
            while reading.is_ready and self.dice.random() < 0.8:
                batches, _ = reading.read()
                if not self.is_transactional:
                    self._land(batches)
                elif not self.keeps_order:
                    batches = [part for batch in batches for part in _parts(batch)]
                self.in_flight += batches

    def deliver(self) -> None:
        if self.is_transactional:
            self._transact()
            return
        self.dice.shuffle(self.in_flight)
        for _ in range(self.dice.randint(0, len(self.in_flight))):
            self.in_flight.pop().resolve()

    def _transact(self) -> None:
        self.in_flight = [batch for batch in self.in_flight if not batch.source.is_lost()]
        if not self.keeps_order:
            self.dice.shuffle(self.in_flight)
        count = self.dice.randint(0, len(self.in_flight))
        chosen, rest = self.in_flight[:count], self.in_flight[count:]
        sent: list[Any] = []
        positions = self.staging.prepare(chosen)
        positions.add_offsets(_Offsets(sent))
        for target in sent:
            self.topics.committed[target.topic, target.partition] = target.offset
            self.topics.metadata[target.topic, target.partition] = target.metadata or ""
        self._land(chosen)
        positions.commit()
        self.in_flight = rest

    def _land(self, batches: list[Batch]) -> None:
        for batch in batches:
            names = ((batch.source.file_id, offset) for offset in batch.messages.offsets)
            self.landed += zip(names, batch.messages.texts, strict=True)


def _parts(batch: Batch) -> Iterator[Batch]:
    """Yield each event by itself, as processors may split a batch."""
    resolves = resolve_after_all(batch.resolve, batch.events)
    for index, resolve in enumerate(resolves):
        yield replace(batch.part([index]), resolve=resolve)


class _Offsets:
    def __init__(self, sent: list[Any]) -> None:
        self._sent = sent

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: object, timeout: float) -> None:
        self._sent += positions


class Group:
    """Two seats that share the partitions."""

    def __init__(self, seed: int, *, transactions: bool) -> None:
        self.dice = random.Random(seed)
        self.topics = MemoryTopics()
        self._transactions, self._keeps_order = transactions, self.dice.random() < 0.5
        self.written: dict[Place, list[str]] = {place: [] for place in PLACES}
        self.landed: list[tuple[Name, str]] = []
        self._parsers = self.dice.choice(PARSERS)
        self._clock = ManualClock()
        self.seats = [self._seat(), self._seat()]
        self.owners = {place: self.dice.choice(self.seats) for place in PLACES}
        self._number = 0
        for place, owner in self.owners.items():
            self.topics.records[place] = []
            owner.consumer.plan_assignment(place)

    def _seat(self) -> Seat:
        options = {"parsers": self._parsers, "rebalance": RebalanceConfig(strategy="cooperative-sticky")}
        seat = Seat(
            self._clock,
            self.topics,
            options,
            dice=self.dice,
            landed=self.landed,
            is_transactional=self._transactions,
            keeps_order=self._keeps_order,
        )
        seat.sit()
        return seat

    def act(self) -> None:
        action = self.dice.choices(
            [self.write, self.turn, self.read, self.deliver, self.fail, self.kill, self.move, self.lose],
            [6, 10, 8, 4, 1, 1, 1, 1],
        )[0]
        action()

    def write(self) -> None:
        place = self.dice.choice(PLACES)
        for _ in range(self.dice.randint(1, 5)):
            self._number += 1
            line = self._line()
            self.topics.write(place, line.encode())
            self.written[place].append(line)
        if self.dice.random() < 0.2:
            self.topics.skip(place, self.dice.randint(1, 2))

    def _line(self) -> str:
        number = f"<{self._number}>"
        if isinstance(self._parsers[0], ContainerConfig):
            stream, part = self.dice.choice(["stdout", "stderr"]), self.dice.choice("PF")
            return f"2026-01-31T08:00:00.000000000Z {stream} {part} {number}"
        return self.dice.choice(["B", "B", " ", " ", " ", "E"]) + number + self.dice.choice(["", "\\"])

    def turn(self) -> None:
        self.dice.choice(self.seats).take_turn()

    def read(self) -> None:
        self.dice.choice(self.seats).read_some()

    def deliver(self) -> None:
        self.dice.choice(self.seats).deliver()

    def fail(self) -> None:
        call = self.dice.choice(["commit", "on_commit"])
        self.topics.failing[call] = [KafkaException(KafkaError(KafkaError._TRANSPORT))]

    def kill(self) -> None:
        killed = self.dice.randrange(2)
        before = self.seats[killed]
        self.seats[killed] = self._seat()
        for place in [place for place, owner in self.owners.items() if owner is before]:
            self._give(place)

    def move(self) -> None:
        place = self.dice.choice(PLACES)
        self.owners[place].consumer.plan_revocation(place)
        self._give(place)

    def lose(self) -> None:
        place = self.dice.choice(PLACES)
        self.owners[place].consumer.plan_loss(place)
        self._give(place)

    def _give(self, place: Place) -> None:
        before = self.owners[place]
        if before in self.seats:
            before.take_turn()
        self.owners[place] = self.dice.choice(self.seats)
        self.owners[place].consumer.plan_assignment(place)

    def finish(self) -> None:
        self.topics.failing.clear()
        for _ in range(200):
            for seat in self.seats:
                seat.take_turn()
                seat.read_some()
                seat.deliver()

    def verify(self) -> None:
        texts: dict[Name, str] = {}
        for name, text in self.landed:
            assert texts.setdefault(name, text) == text, f"{name} has two texts"
        if self._transactions and self._keeps_order:
            assert len(texts) == len(self.landed)
        for place, lines in self.written.items():
            names = sorted(name for name in texts if name[0] == f"file-{place[1]}")
            arrived = [texts[name] for name in names]
            if isinstance(self._parsers[0], ContainerConfig):  # streams are interleaved
                numbers = [number for text in arrived for number in NUMBER.findall(text)]
                assert sorted(numbers, key=int) == NUMBER.findall("".join(lines))
            else:
                assert [line for text in arrived for line in text.split("\n")] == lines
            if not self._transactions:  # these leave out what has no record behind the last one
                assert self.topics.committed.get(place, 0) == self.topics.end(place)
            assert not OffsetMetadata.read(self.topics.metadata.get(place), 0).cuts


@pytest.mark.parametrize("transactions", [False, True], ids=["commits", "transactions"])
@for_each_seed(300)
def test_each_record_is_in_one_message_whatever_happens_to_members(seed: int, transactions: bool) -> None:
    group = Group(seed, transactions=transactions)
    for _ in range(group.dice.choice([20, 100, 200])):
        group.act()
    group.finish()
    group.verify()
