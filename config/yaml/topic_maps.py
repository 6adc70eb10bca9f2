"""Maps by topic. The names of topics hold dots, so one cannot be told from a section by its key alone: it ends where
a list begins (`logs.web: [0, 1]`), or before the last part, which is the partition (`logs.web: {0: 17}`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_origin

from config.yaml import scalars
from config.yaml.raw import RawMaps
from config.yaml.report import FAILED, Spot
from config.yaml.tree import Node, Scalar, Table, as_listing, is_null


def is_by_topic(hint: Any) -> bool:
    """Whether a map's values, by their hint, are what this module reads."""
    return get_origin(hint) in (tuple, dict)


@dataclass(frozen=True, slots=True)
class TopicMaps:
    raw: RawMaps

    def read(self, hint: Any, table: Table, spot: Spot) -> Any:
        """`dict[int, int]` or `tuple[int, ...]` by topic, or FAILED. What is null is as if it were not there."""
        entries = list(self._entries(table, spot))
        return self._lists(entries) if get_origin(hint) is tuple else self._numbers(entries)

    def _entries(self, table: Table, spot: Spot) -> Iterator[tuple[str, Node, Spot]]:
        for key, node in table.leaves(self.raw.report.clash(spot.path)).items():
            where = spot.option(key, key, node)
            self.raw.report.spots[where.attribute] = where
            if not is_null(node):
                yield key, node, where

    def _lists(self, entries: list[tuple[str, Node, Spot]]) -> Any:
        found = {topic: self._list(topic, node, where) for topic, node, where in entries}
        return FAILED if FAILED in found.values() else found

    def _list(self, topic: str, node: Node, spot: Spot) -> Any:
        listed = as_listing(node)
        if listed is None or (isinstance(node, Scalar) and topic.rpartition(".")[2].isdecimal()):
            return self.raw.report.fail(spot, "must be a topic with a list of partitions, as in 'logs: [0, 1]'")
        numbers = tuple(self._number(item, spot) for item in listed.items)
        return FAILED if FAILED in numbers else numbers

    def _numbers(self, entries: list[tuple[str, Node, Spot]]) -> Any:
        numbers = [self._offset(*entry) for entry in entries]
        if FAILED in numbers:
            return FAILED
        found: dict[str, dict[int, int]] = {}
        for (key, _, _), number in zip(entries, numbers, strict=True):
            topic, _, partition = key.rpartition(".")
            found.setdefault(topic, {})[int(partition)] = number
        return found

    def _offset(self, key: str, node: Node, spot: Spot) -> Any:
        topic, _, partition = key.rpartition(".")
        if not topic or not (partition.isascii() and partition.isdecimal()):
            words = "must be a topic with offsets by partition, as in 'logs: {0: 17, 1: 23}'"
            return self.raw.report.fail(spot, words)
        return self._number(node, spot)

    def _number(self, node: Node, spot: Spot) -> Any:
        if not isinstance(node, Scalar):
            return self.raw.report.fail(spot, "must be a whole number, not a list")
        filled = self.raw.expanded(node, spot)
        if filled is FAILED:
            return FAILED
        try:
            return scalars.typed(filled, int)
        except ValueError as error:
            return self.raw.report.fail(spot, str(error))
