"""Maps with arbitrary keys: `fields`, settings for librdkafka and Spark, and maps by topic."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_origin

from log_shipper.config.yaml import scalars
from log_shipper.config.yaml.report import FAILED, LoadReport, Spot
from log_shipper.config.yaml.tree import ListNode, Node, Scalar, Section, as_list, is_null


@dataclass(frozen=True, slots=True)
class RawMaps:
    """Reads maps. `whole` holds the dotted names of maps in which one key may be a prefix of another: `nested` does not
    split their keys, because otherwise `speculation: x` and `speculation.interval: y` would count as duplicates.
    """

    env: Mapping[str, str]
    report: LoadReport
    whole: frozenset[str] = frozenset()

    def expanded(self, node: Node, spot: Spot) -> Any:
        """Return the node with variables expanded, or FAILED."""
        try:
            return scalars.expanded(node, self.env) if isinstance(node, Scalar) else node
        except ValueError as error:
            return self.report.fail(spot, str(error))

    def nested(self, node: Node, spot: Spot) -> Any:
        """Return plain dicts, lists and scalars; dotted keys become nested ones."""
        if isinstance(node, Section):
            below = (node.leaves if spot.path in self.whole else node.children)(self.report.clash(spot.path))
            named = {key: self.nested(child, spot.option(key, key, child)) for key, child in below.items()}
            return FAILED if FAILED in named.values() else named
        if isinstance(node, ListNode):
            listed = [self.nested(child, spot.item(index, child)) for index, child in enumerate(node.items)]
            return FAILED if FAILED in listed else listed
        filled = self.expanded(node, spot)
        return FAILED if filled is FAILED else self._natural(filled, spot)

    def _natural(self, scalar: Scalar, spot: Spot) -> Any:
        try:
            return scalars.natural(scalar)
        except ValueError as error:  # to YAML, 0x_ looks like a number
            return self.report.fail(spot, str(error))

    def flat(self, node: Section, spot: Spot) -> Any:
        """Return one level of dotted keys, without keys that have no value."""
        leaves = node.leaves(self.report.clash(spot.path))
        values = {key: self._leaf(leaf, spot.option(key, key, leaf)) for key, leaf in leaves.items()}
        if FAILED in values.values():
            return FAILED
        return {key: value for key, value in values.items() if value is not None}

    def _leaf(self, node: Node, spot: Spot) -> Any:
        if isinstance(node, Scalar):
            return self.nested(node, spot)
        return self.report.fail(spot, "must be a single value, not a list")


def is_by_topic(hint: Any) -> bool:
    """Return True if a map with values of this type is a map by topic."""
    return get_origin(hint) in (tuple, dict)


@dataclass(frozen=True, slots=True)
class TopicMaps:
    """Maps by topic. Topic names contain dots, so a key alone does not separate topic and section: the name ends where
    a list begins (`logs.web: [0, 1]`), or before the last part, the partition (`logs.web: {0: 17}`).
    """

    raw: RawMaps

    def read(self, hint: Any, section: Section, spot: Spot) -> Any:
        """Return `dict[int, int]` or `tuple[int, ...]` by topic, or FAILED. Entries without a value are left out."""
        entries = list(self._entries(section, spot))
        return self._lists(entries) if get_origin(hint) is tuple else self._numbers(entries)

    def _entries(self, section: Section, spot: Spot) -> Iterator[tuple[str, Node, Spot]]:
        for key, node in section.leaves(self.raw.report.clash(spot.path)).items():
            where = spot.option(key, key, node)
            self.raw.report.spots[where.attribute] = where
            if not is_null(node):
                yield key, node, where

    def _lists(self, entries: list[tuple[str, Node, Spot]]) -> Any:
        partitions = {topic: self._list(topic, node, where) for topic, node, where in entries}
        return FAILED if FAILED in partitions.values() else partitions

    def _list(self, topic: str, node: Node, spot: Spot) -> Any:
        listed = as_list(node)
        if listed is None or (isinstance(node, Scalar) and topic.rpartition(".")[2].isdecimal()):
            return self.raw.report.fail(spot, "must be a topic with a list of partitions, as in 'logs: [0, 1]'")
        numbers = tuple(self._number(item, spot) for item in listed.items)
        return FAILED if FAILED in numbers else numbers

    def _numbers(self, entries: list[tuple[str, Node, Spot]]) -> Any:
        numbers = [self._offset(*entry) for entry in entries]
        if FAILED in numbers:
            return FAILED
        offsets: dict[str, dict[int, int]] = {}
        for (key, _, _), number in zip(entries, numbers, strict=True):
            topic, _, partition = key.rpartition(".")
            offsets.setdefault(topic, {})[int(partition)] = number
        return offsets

    def _offset(self, key: str, node: Node, spot: Spot) -> Any:
        topic, _, partition = key.rpartition(".")
        if not topic or not (partition.isascii() and partition.isdecimal()):
            words = "must be a topic with offsets by partition, as in 'logs: {0: 17, 1: 23}'"
            return self.raw.report.fail(spot, words)
        return self._number(node, spot)

    def _number(self, node: Node, spot: Spot) -> Any:
        if not isinstance(node, Scalar):
            return self.raw.report.fail(spot, "must be an integer, not a list")
        filled = self.raw.expanded(node, spot)
        if filled is FAILED:
            return FAILED
        try:
            return scalars.typed(filled, int)
        except ValueError as error:
            return self.raw.report.fail(spot, str(error))
