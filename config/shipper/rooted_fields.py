"""Custom fields at the top level of events (`fields_under_root`). As in Filebeat they take precedence over the members
that every record has, except over those by which the sink recognises a record."""

from collections.abc import Iterator, Mapping
from typing import Any

from config.text.checks import Finding

_CHOOSE = "give the field another name, or leave fields_under_root out"
_OF_LOG = ("offset", "length", "file", "flags")


def refused(fields: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the fields that would replace what the sink needs, with the way out."""
    for name, what in (("@timestamp", "time"), ("message", "line")):
        if name in fields:
            yield name, f"would replace the {what} of every event; {_CHOOSE}"
    if "log" in fields:
        yield from _log(fields["log"])
    if "host" in fields:
        yield from _host(fields["host"])


def _log(value: Any) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield "log", f"would replace log.offset and log.file.id, which name an event; {_CHOOSE}"
        return
    for name in _OF_LOG:
        if name in value:
            yield f"log.{name}", f"would replace what names an event; {_CHOOSE}"


def _host(value: Any) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield "host", "would replace the object of host.name, which the sink needs; write host.name"
    elif "name" in value and not isinstance(value["name"], str):
        yield "host.name", "must be a text"
