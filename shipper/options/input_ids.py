"""Input ids, under which positions are stored: set by the user, or derived from the source."""

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
        """Return the id of an input that has none."""


Item = TypeVar("Item", bound=HasId)


def own_id(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    if text == WITHOUT_ID:
        yield "", f"'{WITHOUT_ID}' is Filebeat's name for inputs without an id; choose another id"


def derived_id(type: str, reads: Iterable[str]) -> str:
    """Return an id derived from the type and the set of sources, regardless of their order."""
    digest = sha256("\0".join(sorted(set(reads))).encode()).hex()
    return f"{type}-{digest[:8]}"


def is_derived(input_id: str) -> bool:
    """Return True if a file input's id looks like a generated one."""
    return _DERIVED.fullmatch(input_id) is not None


def has_derived_id(item: HasId) -> bool:
    return item.id == item.derived_id


def with_distinct_ids(inputs: Sequence[Item]) -> tuple[Item, ...]:
    """Return the inputs; equal derived ids are numbered in order."""
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
    """Yield the inputs whose ids `with_distinct_ids` numbered."""
    for index, item in enumerate(inputs):
        if item.id.startswith(f"{item.derived_id}-"):
            yield (
                f"[{index}].id",
                (
                    "missing, although another input has the same paths: positions of both are stored by their "
                    f"order, those of this one under {item.id!r}; set an id on each before reordering them"
                ),
            )
