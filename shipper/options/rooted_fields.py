"""Custom fields at the top level of events (`fields_under_root`). As in Filebeat, they override standard members,
except those by which the sink identifies a record.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from log_shipper.config.text.checks import Finding

Findings = Callable[[Mapping[str, Any]], Iterator[Finding]]


class HasFields(Protocol):
    """A configuration or an input with custom fields."""

    @property
    def fields(self) -> Mapping[str, Any]: ...

    @property
    def fields_under_root(self) -> bool: ...


_CHOOSE = "rename the field, or remove fields_under_root"
_OF_LOG = ("offset", "length", "file", "flags")


def rooted(root: HasFields, inputs: Sequence[HasFields], findings: Findings) -> Iterator[Finding]:
    """Yield findings about fields at the top level of events, by attribute path below the configuration."""
    for where, section in (("", root), *((f"inputs[{index}].", item) for index, item in enumerate(inputs))):
        if section.fields_under_root:
            yield from ((f"{where}fields.{name}", message) for name, message in findings(section.fields))


def refused(fields: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield fields that would replace members the sink needs, with the remedy."""
    for name, what in (("@timestamp", "time"), ("message", "line")):
        if name in fields:
            yield name, f"would replace the {what} of every event; {_CHOOSE}"
    if "log" in fields:
        yield from _log(fields["log"])
    if "host" in fields:
        yield from _host(fields["host"])


def _log(value: Any) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield "log", f"would replace log.offset and log.file.id, which identify an event; {_CHOOSE}"
        return
    for name in _OF_LOG:
        if name in value:
            yield f"log.{name}", f"would replace fields that identify an event; {_CHOOSE}"


def _host(value: Any) -> Iterator[Finding]:
    if isinstance(value, dict) and "name" in value and not isinstance(value["name"], str):
        yield "host.name", "must be a string"


def left_out(fields: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield fields that are left out of events, with the remedy."""
    if not isinstance(fields.get("host", {}), dict):
        yield "host", "left out, as in Filebeat: events keep the object of host.name; write host.name"
