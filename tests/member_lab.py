"""A session of a member in a memory cluster, and what the reading thread does."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Partition
from log_shipper.shipper.inputs.kafka.problems import MemberProblems
from log_shipper.shipper.inputs.kafka.reading import PartitionReading
from log_shipper.shipper.inputs.kafka.session import Session
from log_shipper.shipper.inputs.kafka.starts import StartOffset
from log_shipper.shipper.pipeline.acks import Stage
from tests.builders import source, source_context
from tests.fakes import ManualClock
from tests.memory_topics import FakeConsumer, MemoryTopics

PLACE = ("logs", 0)
OTHER = ("logs", 1)


@dataclass(eq=False)
class MemberLab:
    clock: ManualClock
    topics: MemoryTopics = field(default_factory=MemoryTopics)
    options: dict[str, Any] = field(default_factory=dict)
    once: bool = False
    commits: bool = True
    stage: Any = None
    _readings: dict[Partition, PartitionReading] = field(default_factory=dict)

    def context(self, wake: Callable[[], None] = lambda: None) -> MemberContext:
        self.config = KafkaInputConfig(id="k", hosts=("a:9092",), group_id="g", **{"topics": ("logs",), **self.options})
        self.problems = MemberProblems(self.config, self.clock.monotonic)
        return MemberContext(
            self.config, self._partition, self.problems, self.clock, commits=self.commits, once=self.once, wake=wake
        )

    def begin(self, context: MemberContext | None = None) -> Session:
        """Begin a session, of the member whose context this is, or of another one."""
        self.made = context or self.context()
        self.session = Session(self.topics.clients, self.made, lambda: False)
        self.session.begin()
        return self.session

    def _partition(self, start: StartOffset) -> Partition:
        def source_of(partition: Partition) -> Any:
            return replace(
                source(f"file-{partition.number}"), is_lost=lambda: partition.is_lost, staged=partition.staged
            )

        def stage_of(partition: Partition) -> Stage:
            made: Stage = self.stage(partition)
            return made

        made = stage_of if self.stage else None
        return Partition(start.place, start.kept, start.offset, source_of, made)

    @property
    def consumer(self) -> FakeConsumer:
        return self.topics.consumers[-1]

    @property
    def partition(self) -> Partition:
        return self.session.rebalances.partitions[PLACE]

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.advance(0.5)
            self.session.step()

    def read(self, partition: Partition | None = None) -> list[Batch]:
        """Return what the reading thread makes of what was handed over."""
        chosen = partition or self.partition
        reading = self.reading_of(chosen)
        batches: list[Batch] = []
        while reading.is_ready:
            batches += reading.read()[0]
        return batches

    def reading_of(self, partition: Partition) -> PartitionReading:
        if partition not in self._readings:
            context = source_context(None, self.clock, once=self.once)
            self._readings[partition] = PartitionReading(partition, self.config, 10**6, context)
        return self._readings[partition]

    def texts(self) -> list[str]:
        return [text for batch in self.read() for text in batch.messages.texts]
