"""The JSON schema of a configuration, for editors: `shipper schema` and `spark-sink schema` print it.

The schema accepts everything that the loader accepts, but not vice versa: only the loader checks relations between
values (checks, units, duplicates). Keys may be nested or dotted, so each level of a section has its children as objects
and everything deeper by dotted name.
"""

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.spans import parse_span
from log_shipper.config.text.units import parse_duration, parse_duration_or_never, parse_size
from log_shipper.config.yaml.schema import Kinds, NamedItems, Option, options
from log_shipper.config.yaml.templates import Template

Schema = dict[str, Any]
_NAMES: dict[Any, str] = {str: "text", Secret: "text", int: "whole_number", float: "number", bool: "switch"}
# Any scalar may be a variable.
_VARIABLE: Schema = {"type": "string", "pattern": r"\$\{"}
_NUMBERS = {parse_size, parse_duration, parse_duration_or_never, parse_span}
_MAP: Schema = {"type": ["object", "null"]}
_SCALARS: dict[str, Schema] = {
    "text": {"type": ["string", "number", "boolean", "null"]},
    "quantity": {"type": ["string", "number", "null"]},  # a size or a duration
    "whole_number": {"anyOf": [{"type": ["integer", "null"]}, {"type": "string", "pattern": r"^-?\d+$"}, _VARIABLE]},
    "number": {"anyOf": [{"type": ["number", "null"]}, {"type": "string", "pattern": r"^-?[\d.]+$"}, _VARIABLE]},
    "switch": {
        "anyOf": [
            {"type": ["boolean", "null"]},
            {"enum": ["true", "false", "yes", "no", "on", "off"]},
            _VARIABLE,
        ]
    },
}


def schema_text(model: Any, title: str) -> str:
    return json.dumps(schema(model, title), indent=1) + "\n"


def schema(model: Any, title: str) -> Schema:
    """Return a schema of draft 2020-12. `title`: the name of the described file."""
    writer = _Writer()
    root = writer.section(model)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **root,
        "$defs": {**_SCALARS, **writer.definitions},
    }


class _Writer:
    """A schema; `definitions` holds the sections that others refer to, by model name."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._models: dict[str, Any] = {}  # by the same name

    def section(self, model: Any) -> Schema:
        entries = dict(self._entries(model))
        for name in (*getattr(model, "ignored", {}), *getattr(model, "not_yet", {})):
            entries.setdefault(name, {})
        return _nested(entries)

    def _reference(self, model: Any) -> Schema:
        name = model.__name__
        known = self._models.setdefault(name, model)
        assert known is model, f"{model} has the same name as {known}: one definition would replace the other"
        if name not in self.definitions:
            self.definitions[name] = {}  # reserved, because it may refer to itself
            self.definitions[name] = self.section(model)
        return {"$ref": f"#/$defs/{name}"}

    def _entries(self, model: Any) -> Iterator[tuple[str, Schema]]:
        """Yield each option by dotted name, including those of sections. A name ending in a dot stands for all names
        with that prefix, below a recursive section (`not.not.equals`).
        """
        for option in options(model):
            value = self._described(option)
            for key in option.keys:
                yield key, value
                if option.about.get("recursive"):
                    yield f"{key}.", {}
                elif option.section and not option.many and not option.kinds:
                    yield from ((f"{key}.{name}", below) for name, below in self._entries(option.section))
                    for name in (*getattr(option.section, "ignored", {}), *getattr(option.section, "not_yet", {})):
                        yield f"{key}.{name}", {}

    def _described(self, option: Option) -> Schema:
        described = dict(self._value(option))
        if "doc" in option.about:
            described["description"] = option.about["doc"]
        return described

    def _value(self, option: Option) -> Schema:
        if not option.many:
            return self._item(option, option.hint)
        item = self._item(option, get_args(option.hint)[0])
        return {"anyOf": [{"type": "array", "items": item}, item]}

    def _item(self, option: Option, hint: Any) -> Schema:
        if option.kinds:
            return self._kinds(option.kinds)
        if option.named_items:
            return self._named(option.named_items)
        if option.section:
            return self._reference(option.section)
        return _scalar(hint)

    def _kinds(self, kinds: Kinds) -> Schema:
        return {"anyOf": [self._reference(model) for model in kinds.models.values()]}

    def _named(self, named: NamedItems) -> Schema:
        sections: dict[str, Schema] = {name: self._reference(model) for name, model in named.models.items()}
        sections |= {name: {} for name in (*named.ignored, *named.not_yet)}
        one = {
            "type": "object",
            "properties": sections,
            # A section may be dotted, too: `add_fields.fields.env: prod`.
            "patternProperties": {rf"^({'|'.join(sections)})\.": {}},
            "additionalProperties": False,
        }
        return {"anyOf": [one, *(self._reference(model) for model in named.whole.values())]}


def _scalar(hint: Any) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _named("quantity" if arguments[1] in _NUMBERS else "text")
    if origin is Literal:
        choices = [choice for choice in arguments if isinstance(choice, str)]
        return {"anyOf": [{"enum": [*choices, None]}, _VARIABLE]} if len(choices) == len(arguments) else {}
    if origin is dict or hint is Template:
        return _MAP
    if origin is not None:  # one of several, or None
        return _scalar(arguments[0])
    return _named(_NAMES[hint]) if hint in _NAMES else {}


def _named(scalar: str) -> Schema:
    return {"$ref": f"#/$defs/{scalar}"}


def _nested(entries: dict[str, Schema]) -> Schema:
    """Return an object with its dotted names, and as nested objects."""
    below: dict[str, dict[str, Schema]] = {}
    for name, value in entries.items():
        head, _, rest = name.partition(".")
        if rest:
            below.setdefault(head, {})[rest] = value
    properties = {name: value for name, value in entries.items() if not name.endswith(".")}
    for head, inside in below.items():
        whole = _nested(inside)
        if head in entries and "description" in entries[head]:
            whole["description"] = entries[head]["description"]
        # One of several kinds, or a list, stays as described.
        if head not in entries or "$ref" in entries[head]:
            properties[head] = whole
    # In a map with arbitrary keys, any name below is valid: `fields.env: prod`, `setup.kibana.host: x`.
    maps = {name.rstrip(".") for name, value in entries.items() if not value or value.get("type") == _MAP["type"]}
    return {
        **_MAP,
        "properties": properties,
        "patternProperties": {rf"^{re.escape(name)}\.": {} for name in sorted(maps)},
        "additionalProperties": False,
    }
