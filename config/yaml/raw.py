"""Maps whose keys and values we do not know: `fields`, and settings handed on to librdkafka and Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.yaml import scalars
from config.yaml.report import FAILED, Report, Spot
from config.yaml.tree import Listing, Node, Scalar, Table


@dataclass(frozen=True, slots=True)
class RawMaps:
    """`whole` are the dotted names of maps in which one key may begin as another does: there `nested` keeps keys whole,
    or `speculation: x` and `speculation.interval: y` would be one thing given twice."""

    env: Mapping[str, str]
    report: Report
    whole: frozenset[str] = frozenset()

    def expanded(self, node: Node, spot: Spot) -> Any:
        """The node with its variables filled in, or FAILED."""
        try:
            return scalars.expanded(node, self.env) if isinstance(node, Scalar) else node
        except ValueError as error:
            return self.report.fail(spot, str(error))

    def nested(self, node: Node, spot: Spot) -> Any:
        """Plain dicts, lists and scalars; dotted keys become nested ones."""
        if isinstance(node, Table):
            below = (node.leaves if spot.path in self.whole else node.children)(self.report.clash(spot.path))
            named = {key: self.nested(child, spot.option(key, key, child)) for key, child in below.items()}
            return FAILED if FAILED in named.values() else named
        if isinstance(node, Listing):
            listed = [self.nested(child, spot.item(index, child)) for index, child in enumerate(node.items)]
            return FAILED if FAILED in listed else listed
        filled = self.expanded(node, spot)
        return FAILED if filled is FAILED else self._natural(filled, spot)

    def _natural(self, scalar: Scalar, spot: Spot) -> Any:
        try:
            return scalars.natural(scalar)
        except ValueError as error:  # 0x_ looks like a number to YAML
            return self.report.fail(spot, str(error))

    def flat(self, node: Table, spot: Spot) -> Any:
        """One level of dotted keys; a null takes its key away."""
        leaves = node.leaves(self.report.clash(spot.path))
        values = {key: self._leaf(leaf, spot.option(key, key, leaf)) for key, leaf in leaves.items()}
        if FAILED in values.values():
            return FAILED
        return {key: value for key, value in values.items() if value is not None}

    def _leaf(self, node: Node, spot: Spot) -> Any:
        if isinstance(node, Scalar):
            return self.nested(node, spot)
        return self.report.fail(spot, "must be a single value, not a list")
