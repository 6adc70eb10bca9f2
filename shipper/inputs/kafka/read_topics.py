"""Watch the topics that a member reads: they are deleted, re-created, or partitions lose their leaders."""

import logging
from collections.abc import Collection, Iterable, Mapping

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.kafka.client import Topic, TopicLookup
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.starts import StartOffset

logger = logging.getLogger(__name__)


class ReadTopics:
    """The topics of one consumer. `have_changed`: one was re-created, and is read by another consumer."""

    def __init__(self, context: MemberContext, lookup: TopicLookup) -> None:
        self._context = context
        self._lookup = lookup
        self.have_changed = False
        self._ids: dict[str, str] = {}  # of those that the consumer has read
        self._missing: set[str] = set()  # those that did not exist at the last look

    def given(self, starts: Iterable[StartOffset]) -> None:
        """Note the assigned partitions."""
        self._report_recreated({start.place: start.previous for start in starts if start.previous is not None})
        ids = {start.place[0]: start.kept.topic_id for start in starts if start.kept.topic_id}
        self.have_changed |= bool(self._changed(ids))
        self._ids |= ids

    def check(self, assignment: Mapping[Place, Partition] | None) -> None:
        """Notice deleted topics, re-created ones, and partitions without a leader. `assignment`: None while it is
        unknown. Does nothing once a topic was re-created. Blocks, and raises KafkaException."""
        if self.have_changed:
            return
        partitions = (assignment or {}).values()
        now = self._now({partition.topic for partition in partitions if partition.topic_id})
        if now:
            self._context.problems.note_response()
        missing = {name for name, topic in now.items() if not topic.exists}
        for partition in partitions:  # at the second look: a broker may be behind the others
            partition.is_void = partition.topic in missing & self._missing
        self._missing = missing
        if assignment is not None:  # else the same partitions may be assigned again
            self._note_leaders(partitions, now)
        for name in self._changed(_ids(now)):
            self._recreated(name, partitions)

    def is_another(self, name: str, partitions: Collection[Partition]) -> bool:
        """Return True if the topic was re-created, which is noted. `partitions`: all that are read. Blocks, and raises
        KafkaException."""
        is_changed = bool(self._changed(_ids(self._now([name]))))
        if is_changed:
            self._recreated(name, partitions)
        return is_changed

    def _now(self, names: Collection[str]) -> dict[str, Topic]:
        return self._lookup.look_up(sorted(names)) if names else {}

    def _changed(self, ids: Mapping[str, str]) -> list[str]:
        """Return the topics that were re-created after their assignment."""
        return [name for name, topic_id in ids.items() if self._ids.get(name, topic_id) != topic_id]

    def _note_leaders(self, partitions: Collection[Partition], topics: Mapping[str, Topic]) -> None:
        """Note the partitions without a leader. `topics`: as they are now."""
        read = {
            partition.place
            for partition in partitions
            if not partition.stopped and topics.get(partition.topic, Topic()).id
        }
        leaderless = {(name, number) for name, topic in topics.items() for number in topic.leaderless}
        self._context.problems.note_leaders(read, read & leaderless)

    def _recreated(self, topic: str, partitions: Collection[Partition]) -> None:
        """Read the new topic from its first record, with another consumer."""
        before = [partition for partition in partitions if partition.topic == topic]
        self._report_recreated({partition.place: partition.position for partition in before})
        for partition in before:
            partition.invalidate()
        self._context.new_topics.add(topic)
        self.have_changed = True

    def _report_recreated(self, positions: Mapping[Place, int | None]) -> None:
        """Report re-created topics. `positions`: the acknowledged ones of the old topic."""
        for topic in sorted({topic for topic, _ in positions}):
            logger.error(
                "input %s: topic %s was re-created; reading the new one from the start. Unread records of the old "
                "one are lost; acknowledged offsets: %s",
                self._context.config.id,
                topic,
                ", ".join(f"[{number}] {end}" for (name, number), end in positions.items() if name == topic),
                extra=EACH,
            )


def _ids(topics: Mapping[str, Topic]) -> dict[str, str]:
    """Return the known ids."""
    return {name: topic.id for name, topic in topics.items() if topic.id}
