"""Conditions: `when` of a processor, and `if` of a branch."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.patterns import parse_pattern

BOUNDS = ("lt", "lte", "gt", "gte")
NETWORKS = (
    "loopback",
    "global_unicast",
    "unicast",
    "link_local_unicast",
    "interface_local_multicast",
    "link_local_multicast",
    "multicast",
    "unspecified",
    "private",
    "public",
)
_CIDR = re.compile(r"[^/%]+/\d{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionConfig:
    """A condition: exactly one of its options is set. Maps are by field, as nested objects."""

    since: ClassVar = "0.3"
    as_in: ClassVar = "when.equals: {http.response.code: 200}"
    equals: dict[str, Any] = field(
        default_factory=dict,
        metadata={
            "doc": "Fields that equal these values: strings, integers or booleans. A string of digits equals the same "
            "number."
        },
    )
    contains: dict[str, Any] = field(
        default_factory=dict,
        metadata={"doc": "Fields (strings, numbers, or lists of them) that contain these strings."},
    )
    regexp: dict[str, Any] = field(
        default_factory=dict,
        metadata={"doc": "Fields (strings, numbers, or lists of them) that match these regular expressions."},
    )
    range: dict[str, Any] = field(
        default_factory=dict,
        metadata={"doc": "Numeric fields within bounds: lt, lte, gt or gte below each field."},
    )
    network: dict[str, Any] = field(
        default_factory=dict,
        metadata={
            "doc": f"Fields with an IP address within these networks: CIDR notation or one of {', '.join(NETWORKS)}."
        },
    )
    has_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Fields that must all exist."})
    all_of: "tuple[ConditionConfig, ...]" = field(
        default=(), metadata={"key": "and", "doc": "Conditions that must all be true.", "recursive": True}
    )
    any_of: "tuple[ConditionConfig, ...]" = field(
        default=(), metadata={"key": "or", "doc": "Conditions; at least one must be true.", "recursive": True}
    )
    none_of: "ConditionConfig | None" = field(
        default=None, metadata={"key": "not", "doc": "A condition that must be false.", "recursive": True}
    )

    def check(self) -> Iterator[Finding]:
        given = [option.name for option in fields(self) if getattr(self, option.name) not in (None, (), {})]
        if len(given) != 1:
            yield "", "must be a single condition; combine several with 'and:' or 'or:'" if given else "is empty"
        elif given[0] in _CHECKS:
            for name, value in flat(getattr(self, given[0])):
                yield from ((f"{given[0]}.{name}", fault) for fault in _CHECKS[given[0]](name, value))


def names(config: ConditionConfig) -> Iterator[str]:
    """Yield the fields that a condition tests."""
    for tested in (config.equals, config.contains, config.regexp, config.range, config.network):
        yield from (name for name, _ in flat(tested))
    yield from config.has_fields
    for nested in (*config.all_of, *config.any_of, *([config.none_of] if config.none_of else [])):
        yield from names(nested)


def flat(nested: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value) of each leaf; an empty object is a leaf."""
    for key, value in nested.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict) and value:
            yield from flat(value, name)
        else:
            yield name, value


def number_of(value: Any) -> float | None:
    """Return the value of a number, or of a numeric string such as "404", "-0.5" or "1e3"; None for anything else."""
    if not isinstance(value, str):
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    try:
        # Python accepts number formats that do not occur in logs.
        return None if "_" in value or value != value.strip() else float(value)
    except ValueError:
        return None


def _equals(_: str, value: Any) -> Iterator[str]:
    if not isinstance(value, str | int):
        yield "must be a string, an integer, true or false"


def _contains(_: str, value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield "must be a string; put it in quotes" if isinstance(value, int | float) else "must be a string"


def _regexp(name: str, value: Any) -> Iterator[str]:
    yield from (faults := list(_contains(name, value)))
    if not faults:
        try:
            parse_pattern(value)
        except ValueError as error:
            yield str(error)


def _range(name: str, value: Any) -> Iterator[str]:
    if not name.endswith(tuple(f".{name_of_bound}" for name_of_bound in BOUNDS)):
        yield f"must be a bound below a field, as in 'http.response.code.gte: 400'; bounds are {', '.join(BOUNDS)}"
    elif number_of(value) is None:
        yield f"{value!r} must be a number"


def _network(_: str, value: Any) -> Iterator[str]:
    networks = value if isinstance(value, list) else [value]
    if not networks:
        yield "must not be empty"
    for network in networks:
        yield from network_faults(network)


def network_faults(network: Any) -> Iterator[str]:
    """Yield what is wrong with a network's name."""
    if network not in NETWORKS and not _is_cidr(network):
        yield f"{network!r} is not a network; write 192.0.2.0/24, 2001:db8::/32, or one of: {', '.join(NETWORKS)}"


def _is_cidr(value: Any) -> bool:
    if not isinstance(value, str) or not _CIDR.fullmatch(value):
        return False
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return True


_CHECKS: dict[str, Callable[[str, Any], Iterator[str]]] = {
    "equals": _equals,
    "contains": _contains,
    "regexp": _regexp,
    "range": _range,
    "network": _network,
}
