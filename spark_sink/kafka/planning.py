"""Plans where the next micro-batch ends: at Kafka's current ends, within the limits of the configuration.

Planned offsets never go back. A topic that is deleted, truncated or re-created while the sink runs is detected here,
before a batch reuses landed offsets for other records.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.kafka import client, topics
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, describe_partitions
from log_shipper.spark_sink.kafka.topics import TopicDirectory
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig


class PlanningBroker(TopicDirectory, Protocol):
    """The part of `Admin` that the planner needs. Each method may block, and raises SinkError."""

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        """Return the end of each partition for readers of committed records."""
        ...

    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Return Kafka's id of each topic, "" for none."""
        ...


@dataclass(frozen=True, slots=True)
class PlanningLimits:
    """The limits of a batch. It waits for `min_offsets`, up to `max_wait` seconds. `ends`: where the run ends,
    None without an end; no offsets of other partitions are planned."""

    max_offsets: int
    min_offsets: int = 0
    max_wait: float = 0.0
    ends: Offsets | None = None


@dataclass(slots=True)
class Planner:
    """Plans one batch after the other. `planned`: the end of the last one. `may_lose`: a deleted topic is left out,
    else it is an error. `ids`: Kafka's id of each topic with landed records, even if it was deleted. Used by one
    thread."""

    kafka: KafkaSource
    limits: PlanningLimits
    may_lose: bool
    broker: PlanningBroker
    planned: dict[Partition, int]
    ids: dict[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    _partitions: set[Partition] = field(default_factory=set, init=False)
    _look_again: float = field(default=float("-inf"), init=False)
    _waiting_since: float | None = field(default=None, init=False)

    def next_ends(self) -> Offsets:
        """Return where the next batch ends; the same as before if no batch is due.

        Raises SinkError, Refused.
        """
        if self.clock() >= self._look_again:
            self._look()
        latest = self._latest()
        ends = {partition: self._allowed(partition, end) for partition, end in latest.items()}
        new = {partition: end - self.planned.get(partition, 0) for partition, end in ends.items()}
        if not any(new.values()) or self._waits(sum(new.values())):
            return self.planned
        self._waiting_since = None
        sizes = _shared(new, self.limits.max_offsets)
        self.planned = {partition: self.planned.get(partition, 0) + size for partition, size in sizes.items()}
        return self.planned

    def _look(self) -> None:
        """Refresh the list of partitions, every `metadata_max_age`."""
        now = topics.present(self.kafka, self.broker)
        self._check_ids({topic for topic, _ in now})
        missing = self.planned.keys() - now
        if missing and not self.may_lose:
            raise SinkError(
                f"{describe_partitions(missing)}: deleted in Kafka, or removed from `kafka` in the configuration. To "
                "continue without it, remove it from kafka.topics or kafka.partitions (a start waits for configured "
                "topics), and set lost_offsets: continue until a batch has landed"
            )
        for partition in missing:
            del self.planned[partition]
        self._partitions, self._look_again = now, self.clock() + self.kafka.metadata_max_age

    def _check_ids(self, names: Collection[str]) -> None:
        """Raise Refused for a topic whose id has changed: it was deleted and re-created, and its offsets began at 0
        again."""
        now = self.broker.ids(names)
        for topic, before in self.ids.items():
            if before and now.get(topic, before) not in ("", before):
                raise Refused(
                    f"the topic {topic} was deleted and re-created (its id was {before}, and is {now[topic]}): its "
                    "new records reuse offsets that have landed, and would be left out. Run spark-sink repair "
                    "--from-kafka, which lands the missing ones"
                )
        self.ids |= now

    def _latest(self) -> Mapping[Partition, int]:
        try:
            latest = self.broker.latest(self._partitions)
        except SinkError:
            self._look()  # a topic may have been deleted since: raises an error, or leaves it out
            latest = self.broker.latest(self._partitions)
        back = [partition for partition, end in latest.items() if end < self.planned.get(partition, 0)]
        if back:
            self._look()  # refuses a re-created topic, by its id
            if not self.may_lose:
                raise SinkError(
                    f"{describe_partitions(back)}: Kafka's end is before the landed offsets: records were deleted, or "
                    "the leader lost some. To continue at Kafka's end, set lost_offsets: continue"
                )
        return {partition: self._forwards(partition, end) for partition, end in latest.items()}

    def _forwards(self, partition: Partition, end: int) -> int:
        """Return the end, or the end of the last batch if that is later and the topic is certainly the same. Without
        ids (before Kafka 2.8) the topic may have been re-created, and none of its records have landed."""
        return max(end, self.planned.get(partition, 0)) if self.ids.get(partition[0]) else end

    def _allowed(self, partition: Partition, end: int) -> int:
        """Return the end within the bounds of the run. `end`: Kafka's."""
        if self.limits.ends is None:
            return end
        return max(min(end, self.planned.get(partition, 0)), min(end, self.limits.ends.get(partition, 0)))

    def _waits(self, size: int) -> bool:
        """Return True if a batch of this size must wait for more records."""
        if size >= self.limits.min_offsets:
            return False
        if self._waiting_since is None:
            self._waiting_since = self.clock()
        return self.clock() - self._waiting_since < self.limits.max_wait


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """All that a planner needs. Can be pickled, and called in the source's process. `planned`: the end of the last
    planned batch, or the start of the first one; `ids`: of the topics in the marks."""

    kafka: KafkaSource
    limits: PlanningLimits
    may_lose: bool
    planned: Offsets
    ids: Mapping[str, str]

    @classmethod
    def from_config(
        cls, config: SinkConfig, planned: Offsets, ids: Mapping[str, str], ends: Offsets | None
    ) -> "PlannerOptions":
        """Return the options of a run. `ends`: where it ends, None without an end. Only without one do batches wait for
        the minimum of offsets: the last batch before an end may be smaller."""
        min_offsets = config.min_offsets_per_trigger if ends is None else 0
        limits = PlanningLimits(config.max_offsets_per_trigger, min_offsets, config.max_trigger_delay, ends)
        return cls(config.kafka, limits, config.lost_offsets == "continue", planned, dict(ids))

    def __call__(self) -> Planner:
        broker = Admin(client.latest(self.kafka)).__enter__()  # open until the source's process ends
        return Planner(self.kafka, self.limits, self.may_lose, broker, dict(self.planned), dict(self.ids))


def resume(planned: Offsets, landed: Offsets, present: Collection[Partition]) -> dict[Partition, int]:
    """Return where planning resumes. `planned`: the ends of the last batch; partitions that it lacks resume at
    `landed`, the ends in the marks: a batch must not end before that."""
    return {**{place: landed[place] for place in present if place in landed}, **planned}


def begin_new_topics(present: Offsets, *known: Offsets) -> dict[Partition, int]:
    """Return the first offset of each partition of an unknown topic. Records that Kafka deleted before do not count as
    lost.

    `present`: the first offset of each partition; `known`: offsets that have landed or were planned.
    """
    topics = {topic for offsets in known for topic, _ in offsets}
    return {place: first for place, first in present.items() if place[0] not in topics}


def _shared(sizes: Mapping[Partition, int], limit: int) -> dict[Partition, int]:
    """Return the number of offsets to plan of each partition: all, or parts in proportion, at least one each."""
    total = sum(sizes.values())
    if total <= limit:
        return dict(sizes)
    return {partition: min(size, max(1, size * limit // total)) for partition, size in sizes.items()}
