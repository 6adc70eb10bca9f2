"""Deleted topics of which the checkpoint names offsets that have not landed.

A batch is planned before it lands. If the process is killed in between, its next start retries the batch; a run with
bounds also leaves planned offsets to the next run. If the topic has been deleted by then, these records are lost: a
start that waited for the topic would wait until someone notices.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange, ranges_between
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.checkpoint import Checkpoint

SHOWN = 5  # ranges in a message


@dataclass(frozen=True, slots=True)
class DeletedTopics:
    """Planned offsets of deleted topics that have not landed; `ranges` is empty if there are none."""

    ranges: tuple[OffsetRange, ...] = ()

    @property
    def names(self) -> set[str]:
        return {offsets.topic for offsets in self.ranges}

    @property
    def ends(self) -> dict[Partition, int]:
        return {offsets.place: offsets.end for offsets in self.ranges}

    def __str__(self) -> str:
        more = len(self.ranges) - SHOWN
        return "; ".join(map(str, self.ranges[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def find(
    checkpoint: Checkpoint, existing: Callable[[], Collection[str]], landed: Callable[[], Offsets]
) -> DeletedTopics:
    """Return the planned offsets of topics that do not exist, as far as they have not landed.

    `existing`: returns the names of all topics; `landed`: the next offsets to land, called only if a topic is missing.
    """
    planned = checkpoint.ends(checkpoint.last_planned())
    missing = {topic for topic, _ in planned} - set(existing() if planned else ())
    if not missing:
        return DeletedTopics()
    starts = {**checkpoint.ends(checkpoint.last_committed()), **landed()}
    ends = {place: end for place, end in planned.items() if place[0] in missing and starts.get(place, 0) < end}
    return DeletedTopics(tuple(ranges_between(starts, ends)))


def check(deleted: DeletedTopics, config: SinkConfig, log: Callable[[str], None]) -> None:
    """Raise Refused if records of deleted topics are lost, or log them, as `lost_offsets` says."""
    if not deleted.ranges:
        return
    what = (
        f"{deleted}: planned in the checkpoint {config.checkpoint.path} and not landed, but the topic does not exist "
        "any more, or these credentials lack the permission to see it"
    )
    if config.lost_offsets == "fail":
        raise Refused(
            f"{what}. To skip these records, set lost_offsets: continue, which records the missing offsets in the "
            "dead-letter table; and remove the topic from `kafka`, unless it will be created again"
        )
    log(f"{what}: recorded as lost, because of lost_offsets: continue")
