"""Where a run ends: `stop: offsets` and `stop: timestamp`.

Spark's stream knows no end, and its batches do not fit one: each takes so much of every partition, so some partitions
pass their bound in an earlier batch than others. So a batch is landed up to the bounds (`below`) and its marks say so
(`cut`), while the checkpoint says that all of it was read. What lies between the two belongs to the next run without
these bounds, which finds it (`between`) and reads it once before its stream begins. The query ends as soon as a batch
has passed all bounds (`reached`).

The bounds are found once, at the start. A partition that appears later has none, and nothing of it lands.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from config.sink.model import SinkConfig
from spark_sink.errors import Refused
from spark_sink.kafka.offsets import NO_OFFSETS, Offsets, Partition, flat, words
from spark_sink.kafka.start import Broker


@dataclass(frozen=True, slots=True)
class Bounds:
    """By partition the first offset that is not landed."""

    ends: Offsets
    notes: tuple[str, ...] = ()

    def reached(self, *read: Offsets) -> bool:
        """Whether nothing is left below the bounds. Of several the furthest counts: how far each partition was read,
        where it begins, what the broker has first. Without records to read there is no batch to ask after: so it is
        asked before the first, too."""
        return all(max((each.get(at, 0) for each in read), default=0) >= end for at, end in self.ends.items())

    def passed(self, read: Offsets) -> bool:
        """Whether a batch that was read so far holds records beyond the bounds; else it needs no `below`."""
        return any(end > self.ends.get(at, 0) for at, end in read.items())

    def cut(self, read: Offsets, landed: Offsets = NO_OFFSETS) -> dict[Partition, int]:
        """How far is landed when so far is read. `landed`: as it was before, or where the first batch begins: what lies
        before that was never wanted, so it counts as landed even beyond the bound."""
        return {at: min(end, max(self.ends.get(at, 0), landed.get(at, 0))) for at, end in read.items()}

    def below(self, offset: str = "offset") -> str:
        """A SQL condition on topic, partition and the column that has the offset; never NULL.

        A table by number: a chain of ORs would grow with the partitions, and Spark's generated code with it.
        """
        cases = "".join(f" WHEN '{topic}' THEN {offset} < get({ends}, partition)" for topic, ends in self._tables())
        return f"coalesce(CASE topic{cases} END, false)" if cases else "false"

    def _tables(self) -> list[tuple[str, str]]:
        topics: dict[str, dict[int, int]] = {}
        for (topic, number), end in self.ends.items():
            topics.setdefault(topic, {})[number] = end
        return [
            (topic, f"array({', '.join(f'{ends.get(number, 0)}L' for number in range(max(ends) + 1))})")
            for topic, ends in sorted(topics.items())
        ]


def between(landed: Offsets, read: Offsets) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Starts and ends of what was read and not landed: empty but after a run with bounds."""
    behind = [at for at, end in read.items() if landed.get(at, end) < end]
    return {at: landed[at] for at in behind}, {at: read[at] for at in behind}


def resolve(config: SinkConfig, broker: Broker, there: Collection[Partition]) -> Bounds | None:
    """None without bounds (never, available-now). Raises Refused."""
    match config.stop:
        case "offsets":
            return _named(config, there)
        case "timestamp":
            return _at(config, broker, there)
        case _:
            return None


def _named(config: SinkConfig, there: Collection[Partition]) -> Bounds:
    ends: Mapping[Partition, int] = flat(config.stop_offsets)
    if unknown := set(ends) - set(there):
        raise Refused(f"stop_offsets names {words(unknown)}, which is not among what is read, or Kafka does not have")
    if without := set(there) - set(ends):
        raise Refused(
            f"stop_offsets names no end of {words(without)}: whether nothing or all of it is meant cannot be told; "
            "0 lands nothing of a partition"
        )
    return Bounds(ends)


def _at(config: SinkConfig, broker: Broker, there: Collection[Partition]) -> Bounds:
    """The first record of that time or later, even if older ones follow it: the end must be the same in every batch."""
    assert config.stop_timestamp is not None  # the configuration's own check
    latest = broker.latest(there)
    found = broker.at(there, round(config.stop_timestamp.timestamp() * 1000))
    open_ended = set(there) - set(found)
    note = f"{words(open_ended)} has no record of stop_timestamp or later: ends where it ends now"
    return Bounds({**latest, **found}, (note,) if open_ended else ())
