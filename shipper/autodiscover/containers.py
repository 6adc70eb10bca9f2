"""A provider's description of a container."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from log_shipper.shipper.event import Doc


@dataclass(frozen=True, slots=True)
class DiscoveredContainer:
    """One life of a container: a restart creates another.

    `key` identifies it among all providers, `label` names it in messages. `data`, nested, is for conditions and
    `${data.*}`. `annotations` may contain hints, by full name; `metadata` holds members of its events. `owned` are ids
    that only paths of its own files contain.
    """

    key: str
    label: str
    id: str
    name: str
    data: Mapping[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict)
    metadata: Doc = field(default_factory=dict)
    owned: tuple[str, ...] = ()

    def value(self, name: str) -> Any:
        """Return the value of a dotted name, or None. Names of labels may contain dots."""
        return _value(self.data, name.split("."))

    def text(self, name: str) -> str | None:
        """Return the same as text; None also if it is not a single value."""
        value = self.value(name)
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, str | int | float) else None


def _value(data: Any, names: list[str]) -> Any:
    if not names:
        return data
    if not isinstance(data, Mapping):
        return None
    for end in range(1, len(names) + 1):
        below = data.get(".".join(names[:end]))
        value = None if below is None else _value(below, names[end:])
        if value is not None:
            return value
    return None
