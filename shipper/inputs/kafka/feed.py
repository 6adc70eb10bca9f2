"""Make batches of the records that the member's thread hands over."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from log_shipper.runtime.kafka.renewal import renewals
from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.kafka.client import Clients, clients
from log_shipper.shipper.inputs.kafka.member import Member
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Partition, file_id
from log_shipper.shipper.inputs.kafka.problems import MemberProblems
from log_shipper.shipper.inputs.kafka.reading import NEVER
from log_shipper.shipper.inputs.kafka.readings import ReadingContext, Readings
from log_shipper.shipper.inputs.kafka.starts import StartOffset
from log_shipper.shipper.inputs.staging import Group, GroupOffset
from log_shipper.shipper.pipeline.acks import Stage


class KafkaFeed:
    """The feed of topics. Used by the reading thread, except `status`."""

    def __init__(self, feed_input: FeedInput, context: SourceContext, wake: Callable[[], None], made: Clients) -> None:
        config = feed_input.config
        assert isinstance(config, KafkaInputConfig), "made for it"
        self._config = config
        self._input = feed_input
        self._context = context
        self._problems = MemberProblems(config, context.clock.monotonic)
        self._records_lost = 0
        member_context = MemberContext(
            config,
            self._make_partition,
            self._problems,
            context.clock,
            commits=feed_input.stage is None,
            once=context.once,
            wake=wake,
        )
        are_renewed = renewals(config, context.clock, f"input {config.id}")
        self._member = Member(made, member_context, are_renewed)
        reading_context = ReadingContext(
            config, feed_input.max_bytes, context, lambda: self._member.partitions, self._member.has_room
        )
        self._readings = Readings(reading_context)
        self._is_stopped = False
        self._member.start()

    @property
    def finished(self) -> bool:
        if self._member.has_ended:
            return True
        assignment = self._member.assignment if self._context.once else None
        if assignment is None:
            return False
        return all(partition.stopped and partition.is_done for partition in assignment.values())

    def step(self) -> None:
        lost = self._member.records_lost
        self._context.metrics.records_lost += lost - self._records_lost
        self._records_lost = lost

    def read(self, budget: int) -> Iterator[Batch]:
        # The member's thread may need some time to notice the stop: until then, partitions have blocks.
        return iter(()) if self._is_stopped else self._readings.read(budget)

    def next_wake(self, *, reading: bool) -> float:
        return self._readings.next_read if reading and not self._is_stopped else NEVER

    def status(self) -> SourceStatus:
        partitions = list(self._member.partitions.values())
        return SourceStatus(
            files_open=len(partitions),
            reading=sum(not partition.at_end for partition in partitions),
            unsettled=sum(partition.at_end and not partition.is_done for partition in partitions),
            waiting=0,
            bytes_waiting=0,
            bytes_behind=sum(partition.lag for partition in partitions),
            is_size_known=True,
            problems=self._problems.now,
        )

    def stop(self) -> None:
        self._is_stopped = True
        self._member.stop()  # its thread commits, and leaves the group; the process ends after it

    def _make_partition(self, start: StartOffset) -> Partition:
        """Return the partition with its source. Called by the member's thread."""
        stage = self._input.stage

        def source_of(partition: Partition) -> Source:
            name = file_id(self._config.group_id, partition.topic, partition.topic_id, partition.number)
            made = self._input.source(name, f"kafka:{partition.topic}/{partition.number}")
            return replace(made, is_lost=lambda: partition.is_lost, staged=partition.staged)

        def stage_of(partition: Partition) -> Stage:
            assert stage is not None, "asked for where there is one"
            return stage(partial(group_offset, self._member, partition))

        made = None if stage is None else stage_of
        return Partition(start.place, start.kept, start.offset, source_of, made)


def group_offset(group: Group, partition: Partition, position: int) -> GroupOffset:
    """Return the group's offset of a partition once everything before `position` is delivered."""
    metadata = partition.kept.behind(position).text
    is_lost, is_void = partition.source.is_lost, lambda: partition.is_void
    return GroupOffset(group, *partition.place, position, is_lost, is_void, metadata)


def make(feed_input: FeedInput, context: SourceContext, wake: Callable[[], None]) -> KafkaFeed:
    """Return the feed. Raises StartError."""
    assert isinstance(feed_input.config, KafkaInputConfig), "chosen by it"
    return KafkaFeed(feed_input, context, wake, clients(feed_input.config))
