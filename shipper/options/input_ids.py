"""The ids of inputs, under which positions are kept: written by the user, or derived from what the input reads."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.digests import sha256

_DERIVED = re.compile(r"(filestream|log|container)-[0-9a-f]{8}(-\d+)?")
WITHOUT_ID = ".global"  # the name of inputs without an id in Filebeat's registry


class HasId(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def derived_id(self) -> str:
        """Return the id that it has where none is written."""


Item = TypeVar("Item", bound=HasId)


def own_id(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    if text == WITHOUT_ID:
        yield "", f"'{WITHOUT_ID}' is what Filebeat calls inputs without an id; choose another id"


def derived_id(type: str, reads: Iterable[str]) -> str:
    """Return an id that depends on the type and the set of what is read, not on the order."""
    digest = sha256("\0".join(sorted(set(reads))).encode()).hex()
    return f"{type}-{digest[:8]}"


def is_derived(input_id: str) -> bool:
    """True if an id of an input that reads files looks like one that nobody has written."""
    return _DERIVED.fullmatch(input_id) is not None


def has_derived_id(item: HasId) -> bool:
    return item.id == item.derived_id


def with_distinct_ids(inputs: Sequence[Item]) -> tuple[Item, ...]:
    """Return the inputs, of which those with the same derived id are numbered in their order."""
    given: Counter[str] = Counter()
    distinct = []
    for item in inputs:
        if has_derived_id(item):
            given[item.id] += 1
            item = item if given[item.id] == 1 else _with_id(item, f"{item.id}-{given[item.id]}")
        distinct.append(item)
    return tuple(distinct)


def _with_id(item: Any, input_id: str) -> Any:
    return replace(item, id=input_id)


def kept_by_order(inputs: Sequence[HasId]) -> Iterator[Finding]:
    """Yield the inputs whose ids `with_distinct_ids` has numbered."""
    for index, item in enumerate(inputs):
        if item.id.startswith(f"{item.derived_id}-"):
            yield (
                f"[{index}].id",
                "missing, and another input has the same paths: the positions of the two are kept by their order, of "
                f"this one under {item.id!r}; give each an id before their order changes",
            )
