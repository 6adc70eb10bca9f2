"""The conditions of processors: `when` of one, and `if` of a branch."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from config.checks import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionConfig:
    """Exactly one of its options is given. Maps are by field, as nested objects."""

    as_in: ClassVar = "when.equals: {http.response.code: 200}"
    equals: dict[str, Any] | None = field(default=None, metadata={"doc": "Fields that have exactly these values."})
    contains: dict[str, Any] | None = field(
        default=None, metadata={"doc": "Texts that hold these, or lists of texts of which one is it."}
    )
    regexp: dict[str, Any] | None = field(
        default=None, metadata={"doc": "Texts, or lists of them, in which these regular expressions are found."}
    )
    range: dict[str, Any] | None = field(
        default=None, metadata={"doc": "Numbers within bounds: below each field lt, lte, gt, gte."}
    )
    network: dict[str, Any] | None = field(
        default=None, metadata={"doc": "Addresses within networks: CIDR, or names like private and loopback."}
    )
    has_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Fields that are all there."})
    all_of: "tuple[ConditionConfig, ...]" = field(
        default=(), metadata={"key": "and", "doc": "Conditions that must all hold.", "recursive": True}
    )
    any_of: "tuple[ConditionConfig, ...]" = field(
        default=(), metadata={"key": "or", "doc": "Conditions of which one must hold.", "recursive": True}
    )
    none_of: "ConditionConfig | None" = field(
        default=None, metadata={"key": "not", "doc": "A condition that must not hold.", "recursive": True}
    )

    def check(self) -> Iterator[Finding]:
        given = [each.name for each in fields(self) if getattr(self, each.name) not in (None, ())]
        if len(given) != 1:
            yield "", "must be one condition; several are joined by 'and:' or 'or:'" if given else "is empty"
