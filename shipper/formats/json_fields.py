"""Turns JSON texts into members of an event: shared by the parser `ndjson` and the processor `decode_json_fields`.

Texts that orjson refuses are parsed again, because two such faults occur in real logs: half a surrogate pair, where a
program cut a text within an emoji, and a byte order mark within a file. Whole numbers beyond 64 bits become floating
point numbers, as in Filebeat; of equal keys the last one wins.

Depth is limited to `DEEPEST`, because orjson reads 1,024 levels and writes 254.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.times import rfc3339

DEEPEST = 200
SURELY_FLAT = 2 * DEEPEST  # a text this short cannot have more levels

_SHOWN = 100  # characters of a text in an error, which would otherwise double a large event
_HALVES = re.compile("[\ud800-\udfff]")


class NotJsonError(ShipperError):
    """Raised for a text that is not JSON; the message is the reason."""


class ConflictError(ShipperError):
    """Raised for dotted keys that cannot become objects: one is a value where another needs an object."""


def parse(text: str) -> Any:
    """Return the value of a JSON text. Raises NotJsonError."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        value = _parse_leniently(text, error)
    if len(text) > SURELY_FLAT and is_deep(text, value):
        raise NotJsonError(f"nested deeper than {DEEPEST} levels")
    return value


def is_deep(text: str, value: Any) -> bool:
    """Return True if the value, parsed from the text, is nested deeper than the limit."""
    if text.count("{") + text.count("[") <= DEEPEST:
        return False
    containers = _containers([value])
    for _ in range(DEEPEST):
        containers = [inner for outer in containers for inner in _containers(outer)]
    return bool(containers)


def _containers(inside: Any) -> list[Any]:
    values = inside.values() if isinstance(inside, dict) else inside
    return [value for value in values if isinstance(value, dict | list)]


def _parse_leniently(text: str, error: orjson.JSONDecodeError) -> Any:
    plain = text.lstrip("\ufeff")
    try:
        if "\\ud" in plain.lower():
            plain = _HALVES.sub("\ufffd", json.dumps(json.loads(plain), ensure_ascii=False))
        elif plain is text:
            raise NotJsonError(str(error)) from error
        return orjson.loads(plain)
    except (ValueError, RecursionError) as second:
        raise NotJsonError(str(error)) from second


def without_null(fields: Doc) -> Doc:
    """Return the fields without null members, at any depth; null in lists is kept."""
    return {name: _without_null(value) for name, value in fields.items() if value is not None}


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return without_null(value)
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def expand(fields: Doc, depth: int = 0) -> Doc:
    """Return the fields with `{"a.b": 1}` expanded to `{"a": {"b": 1}}`, at any depth except in lists. Raises
    ConflictError."""
    expanded: Doc = {}
    for name, value in fields.items():
        if "." not in name and name not in expanded:
            expanded[name] = expand(value, depth + 1) if isinstance(value, dict) else value
            continue
        *above, last = name.split(".")
        if depth + len(above) >= DEEPEST:
            raise ConflictError(f"cannot expand '{name[:_SHOWN]}...': nested deeper than {DEEPEST} levels")
        node = expanded
        for part in above:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise ConflictError(f"cannot expand '{name[:_SHOWN]}': '{part[:_SHOWN]}' is not an object")
        inner = expand(value, depth + len(above) + 1) if isinstance(value, dict) else value
        if last not in node:
            node[last] = inner
        elif isinstance(node[last], dict) and isinstance(inner, dict):
            _unite(node[last], inner, name)
        else:
            raise ConflictError(f"cannot expand '{name[:_SHOWN]}': another value is already there")
    return expanded


def _unite(into: Doc, values: Doc, what: str) -> None:
    for name, value in values.items():
        if name not in into:
            into[name] = value
        elif isinstance(into[name], dict) and isinstance(value, dict):
            _unite(into[name], value, what)
        else:
            raise ConflictError(f"cannot expand '{what[:_SHOWN]}': '{name[:_SHOWN]}' is there twice")


def validate_root(fields: Doc, *, overwrite: bool) -> list[str]:
    """Make the fields valid at the root of an event: move members with a type other than in records to `json`.

    Without `overwrite`, `@timestamp` and `@metadata` are removed, and `type` may be anything. With it, `@timestamp` is
    formatted as in a record. Return the problems with these three, for `error.message`.
    """
    for name, is_of_type in _TYPES.items():
        if name in fields and not is_of_type(fields[name]) and (value := fields.pop(name)) is not None:
            set_aside(fields, name, value)
    for *above, last in _TEXTS:
        _require_text(fields, above, last)
    if not overwrite:
        fields.pop("@timestamp", None)
        fields.pop("@metadata", None)
        return []
    return [problem for name, check in _CHECKS.items() if name in fields and (problem := check(fields))]


def set_aside(doc: Doc, name: str, value: Any) -> None:
    """Put a value that cannot be at the root of an event into `json`, or beside it if `json` has no room."""
    place = doc.setdefault("json", {})
    if isinstance(place, dict) and name not in place:
        place[name] = value
    else:
        doc[f"json.{name}"] = value


# The members that route and identify records, with a test of their type.
_TYPES: dict[str, Callable[[Any], bool]] = {
    "message": lambda value: value is None or isinstance(value, str),
    "host": lambda value: isinstance(value, dict),
    "fields": lambda value: isinstance(value, dict),
    "log": lambda value: isinstance(value, dict),
    "tags": lambda value: isinstance(value, list) and all(isinstance(tag, str) for tag in value),
}
TYPED = frozenset(_TYPES)
# Texts below them.
_TEXTS = (("host", "name"), ("log", "file", "path"))


def _require_text(fields: Doc, above: Sequence[str], last: str) -> None:
    node: Any = fields
    for name in above:
        node = node.get(name) if isinstance(node, dict) else None
    if isinstance(node, dict) and last in node and not isinstance(node[last], str):
        value = node.pop(last)
        if value is not None:
            set_aside(fields, ".".join((*above, last)), value)


def _check_timestamp(fields: Doc) -> str:
    given = fields.pop("@timestamp")
    if isinstance(given, str) and (valid := _time(given)) is not None:
        fields["@timestamp"] = valid
        return ""
    set_aside(fields, "@timestamp", given)
    why = f"parse error on {given[:_SHOWN]}" if isinstance(given, str) else "not string"
    return f"@timestamp not overwritten ({why})"


def _check_metadata(fields: Doc) -> str:
    if isinstance(fields["@metadata"], dict):
        return ""
    set_aside(fields, "@metadata", fields.pop("@metadata"))
    return "failed to update @metadata"


def _check_type(fields: Doc) -> str:
    kind = fields["type"]
    if isinstance(kind, str) and kind[:1] not in ("", "_"):
        return ""
    set_aside(fields, "type", fields.pop("type"))
    why = f"invalid value [{kind[:_SHOWN]}]" if isinstance(kind, str) else "not string"
    return f"type not overwritten ({why})"


_CHECKS = {"@timestamp": _check_timestamp, "@metadata": _check_metadata, "type": _check_type}


def _time(text: str) -> str | None:
    """Convert RFC 3339, or ISO 8601 with an offset without colon."""
    return rfc3339(f"{text[:-2]}:{text[-2:]}" if text[-5:-4] in ("+", "-") else text)


def merge(into: Doc, values: Doc, *, overwrite: bool = True) -> None:
    """Merge the values into an object, recursively; any other existing value is replaced or kept."""
    for name, value in values.items():
        existing = into.get(name)
        if isinstance(existing, dict) and isinstance(value, dict):
            merge(existing, value, overwrite=overwrite)
        elif overwrite or name not in into:
            into[name] = value


def pop_text(fields: Doc, dotted: str) -> str | None:
    """Remove a text from the fields, by key or path, and return it; None, without a change, if there is none."""
    if dotted in fields or "." not in dotted:
        return fields.pop(dotted) if isinstance(fields.get(dotted), str) else None
    above, _, rest = dotted.partition(".")
    inner = fields.get(above)
    return pop_text(inner, rest) if isinstance(inner, dict) else None


def add_error(doc: Doc, message: str) -> None:
    """Add a JSON problem to the `error` of an event's document."""
    before = doc.get("error")
    earlier = before.get("message") if isinstance(before, dict) else before
    error = dict(before) if isinstance(before, dict) else {}
    doc["error"] = error | {"message": message if earlier is None else f"{earlier}; {message}", "type": "json"}


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    kind = type(value)
    if kind is dict:
        return {key: copied(member) for key, member in value.items()}
    return [copied(item) for item in value] if kind is list or kind is tuple else value


def labelled(labels: dict[str, str], *, dedot: bool) -> Doc:
    """Return labels as an object: with underscores for dots, or nested. If a label is the prefix of others, its value
    becomes the member `value`."""
    if dedot:
        return {name.replace(".", "_"): value for name, value in labels.items()}
    nested: Doc = {}
    for name, value in sorted(labels.items()):
        *above, last = name.split(".")
        node = nested
        for part in above:
            below = node.setdefault(part, {})
            if not isinstance(below, dict):
                below = node[part] = {"value": below}
            node = below
        node[last] = value
    return nested
