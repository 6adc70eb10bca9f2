"""Where the next batch of the query ends: what Kafka has by then, within the limits of the configuration.

Offsets are only ever planned forwards. A topic that is deleted, cut or re-created while the sink runs is noticed here,
before a batch names offsets that would mean other records than those that have landed.
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
    """The questions of the planner to Kafka. `Admin` is the implementation. Each may block, and raises SinkError."""

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        """Return the end of each partition for readers of committed records."""
        ...

    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Return Kafka's id of each topic, "" where it has none."""
        ...


@dataclass(frozen=True, slots=True)
class PlanningLimits:
    """What bounds a batch. `most`: offsets in one batch; `least`: it waits for as many, up to `longest_wait` seconds;
    `ends`: where the run ends, None without an end, and nothing is planned of a partition that it does not name."""

    most: int
    least: int = 0
    longest_wait: float = 0.0
    ends: Offsets | None = None


@dataclass(slots=True)
class Planner:
    """Plans one batch after the other. `planned`: where the last one ends. `may_lose`: a topic that is gone is left
    out, else it is an error. `ids`: Kafka's id of each topic that records have landed of, whether it exists or not.
    Used by one thread."""

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
        """Return where the next batch ends; equal to what was returned before, if there is to be no batch yet.

        Raises SinkError, Refused.
        """
        if self.clock() >= self._look_again:
            self._look()
        latest = self._latest()
        wanted = {partition: self._allowed(partition, end) for partition, end in latest.items()}
        new = {partition: end - self.planned.get(partition, 0) for partition, end in wanted.items()}
        if not any(new.values()) or self._waits(sum(new.values())):
            return self.planned
        self._waiting_since = None
        sizes = _shared(new, self.limits.most)
        self.planned = {partition: self.planned.get(partition, 0) + size for partition, size in sizes.items()}
        return self.planned

    def _look(self) -> None:
        """Look which partitions there are. Metadata is asked for as seldom as `metadata_max_age` says."""
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
        """Raise Refused for a topic that was re-created while this process runs, or whose first records come while it
        runs, after it was deleted before: its offsets began again."""
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
            self._look()  # a topic may have been deleted since: then this says so, or leaves it out
            latest = self.broker.latest(self._partitions)
        back = [partition for partition, end in latest.items() if end < self.planned.get(partition, 0)]
        if back:
            self._look()  # a topic that was re-created is refused by its id
            if not self.may_lose:
                raise SinkError(
                    f"{describe_partitions(back)}: Kafka's end is before the landed offsets: records were deleted, or "
                    "the leader lost some. To continue at Kafka's end, set lost_offsets: continue"
                )
        return {partition: self._forwards(partition, end) for partition, end in latest.items()}

    def _forwards(self, partition: Partition, end: int) -> int:
        """Return the end, or where the last batch ended, if that is later and the topic is certainly the same. Without
        an id, as before Kafka 2.8, it may be another one, of which nothing has landed."""
        return max(end, self.planned.get(partition, 0)) if self.ids.get(partition[0]) else end

    def _allowed(self, partition: Partition, end: int) -> int:
        """Return the end that a batch may have in a partition that ends there in Kafka."""
        if self.limits.ends is None:
            return end
        return max(min(end, self.planned.get(partition, 0)), min(end, self.limits.ends.get(partition, 0)))

    def _waits(self, size: int) -> bool:
        """Return True if a batch of this size is to wait for more records."""
        if size >= self.limits.least:
            return False
        if self._waiting_since is None:
            self._waiting_since = self.clock()
        return self.clock() - self._waiting_since < self.limits.longest_wait


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """All that a planner is made of. Can be pickled, and called in the process of the source. `planned`: where the last
    batch ends that was planned, or the first one begins; `ids`: of the topics in the marks."""

    kafka: KafkaSource
    limits: PlanningLimits
    may_lose: bool
    planned: Offsets
    ids: Mapping[str, str]

    @classmethod
    def from_config(
        cls, config: SinkConfig, planned: Offsets, ids: Mapping[str, str], ends: Offsets | None
    ) -> "PlannerOptions":
        """Return the options of a run. `ends`: where it ends, None without an end. Then only, a batch waits for its
        least number of records: the remainder before an end may be smaller."""
        least = config.min_offsets_per_trigger if ends is None else 0
        limits = PlanningLimits(config.max_offsets_per_trigger, least, config.max_trigger_delay, ends)
        return cls(config.kafka, limits, config.lost_offsets == "continue", planned, dict(ids))

    def __call__(self) -> Planner:
        broker = Admin(client.latest(self.kafka)).__enter__()  # open as long as the process of the source lives
        return Planner(self.kafka, self.limits, self.may_lose, broker, dict(self.planned), dict(self.ids))


def resume(planned: Offsets, landed: Offsets, present: Collection[Partition]) -> dict[Partition, int]:
    """Return where planning resumes. `planned`: where the last batch ends; a partition that it does not name begins
    where the marks say, `landed`: a batch of fewer records must not end before that."""
    return {**{place: landed[place] for place in present if place in landed}, **planned}


def begin_new_topics(present: Offsets, *known: Offsets) -> dict[Partition, int]:
    """Return the first offset of each partition of a topic of which nothing is known. What Kafka had deleted of it
    before was never to be read, so it is not lost.

    `present`: the first offset of each partition; `known`: offsets that have landed or were planned.
    """
    topics = {topic for offsets in known for topic, _ in offsets}
    return {place: first for place, first in present.items() if place[0] not in topics}


def _shared(sizes: Mapping[Partition, int], most: int) -> dict[Partition, int]:
    """Return how many offsets of each partition are planned: all, or parts in proportion, at least one of each."""
    total = sum(sizes.values())
    if total <= most:
        return dict(sizes)
    return {partition: min(size, max(1, size * most // total)) for partition, size in sizes.items()}
