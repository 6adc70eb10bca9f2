"""Whichever answers come when: every event leaves once, in order where that is kept, and no position passes one."""

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from log_shipper.shipper.event import Batch, Growth, Source
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.acks import Ledger
from log_shipper.shipper.pipeline.pieces import PIECE_BYTES
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.metadata.lookups import LookupResult
from log_shipper.shipper.processor.waiting import AsyncStep, WaitingChain
from log_shipper.shipper.processors.dns import DnsConfig
from tests.builders import AGENT, messages, source
from tests.fakes import ManualClock
from tests.model.seeds import for_each_seed
from tests.name_servers import FakeNames

NAMES = [f"n{number}" for number in range(6)]


class Counts:
    """The last step: counts how often it has seen an event."""

    def run(self, events: Events, indices: Sequence[int]) -> None:
        for doc in (events.messages.documents()[index] for index in indices):
            doc["seen"] = doc.get("seen", 0) + 1


class World:
    """Two files with a chain of one or two dns steps, a queue, and a destination that acknowledges now and then."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.clock = ManualClock()
        self.queue = MemoryQueue(10**6, 10**9)
        self.processing = Processing(self.queue)
        known = {name: LookupResult((f"{name}!",), 60) for name in NAMES[:4]}
        self.names = [FakeNames(dict(known)) for _ in range(dice.choice([1, 2]))]
        context = ProcessorContext(AGENT, Path(), Metrics(), self.clock, Caches(self.clock))
        self.kept = dice.random() < 0.5
        steps = [AsyncStep(names.step(self.config(number), context), None) for number, names in enumerate(self.names)]
        growth = dice.choice([Growth(), Growth(PIECE_BYTES // 10, PIECE_BYTES)])  # one piece, or two events each
        self.chain = WaitingChain([*steps, Counts()], context.metrics, self.clock, growth)
        self.sources = [self.source(name) for name in ("f1", "f2")]
        self.ledgers = {source.file_id: Ledger(0) for source in self.sources}
        self.put: dict[str, list[int]] = defaultdict(list)
        self.sent: dict[str, list[int]] = defaultdict(list)
        self.acked: dict[str, set[int]] = defaultdict(set)
        self.flying: list[Batch] = []

    def config(self, number: int) -> DnsConfig:
        order: Literal["kept", "free"] = "kept" if self.kept else "free"
        return DnsConfig(kind="A", fields={f"ask{number}": f"got{number}"}, order=order)

    def source(self, file_id: str) -> Source:
        bare = source(file_id)
        object.__setattr__(bare, "process", self.chain)
        return bare

    def read(self) -> None:
        where = self.dice.choice(self.sources)
        ledger = self.ledgers[where.file_id]
        run = messages(["x" * self.dice.randrange(1, 5) for _ in range(self.dice.randrange(1, 6))], ledger.tracked)
        run.docs = [
            {f"ask{number}": self.dice.choice(NAMES) for number in range(2) if self.dice.random() < 0.6}
            for _ in run.texts
        ]
        self.put[where.file_id] += run.offsets
        self.processing.put(Batch(where, run, 0.0, ledger.track(run.end)))

    def publish(self) -> None:
        while (batch := self.queue.get()) is not None:
            self.sent[batch.source.file_id] += batch.messages.offsets
            assert all(doc["seen"] == 1 for doc in batch.messages.documents())
            self.flying.append(batch)

    def acknowledge(self) -> None:
        if self.flying:
            batch = self.flying.pop(self.dice.randrange(len(self.flying)))
            self.acked[batch.source.file_id].update(batch.messages.offsets)
            self.queue.remove(batch)
            batch.resolve()

    def check(self) -> None:
        for file_id, ledger in self.ledgers.items():
            open_ones = [offset for offset in self.put[file_id] if offset not in self.acked[file_id]]
            assert ledger.position <= min(open_ones, default=ledger.tracked)
            if self.kept:
                assert self.sent[file_id] == self.put[file_id][: len(self.sent[file_id])]

    def step(self) -> None:
        action = self.dice.random()
        names = self.dice.choice(self.names)
        if action < 0.3:
            self.read()
        elif action < 0.55 and names.pending:
            names.answer(self.dice.randrange(names.pending))
        elif action < 0.65:
            self.clock.advance(self.dice.choice([0.1, 1.0, 70.0]))
        elif action < 0.85:
            self.processing.step()
            self.publish()
        else:
            self.acknowledge()
        self.check()


@for_each_seed(100)
def test_every_event_leaves_once_and_no_position_passes_one(seed: int) -> None:
    world = World(random.Random(seed))
    for _ in range(200):
        world.step()
    while not world.processing.empty:
        world.clock.advance(1.0)
        world.processing.step()
    world.publish()
    while world.flying:
        world.acknowledge()
        world.check()
    for file_id, ledger in world.ledgers.items():
        assert sorted(world.sent[file_id]) == world.put[file_id]
        assert ledger.position == ledger.tracked
    assert (world.queue.events, world.queue.bytes) == (0, 0)
