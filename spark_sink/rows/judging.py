"""Judges one record exactly: returns its content, or the reason why it is bad. Slow, for the few refused records.

Nothing is converted: 5 is not a text, "12" is not a number, 1.0 is not a whole number. Absent and null fit every type.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from log_shipper.spark_sink.options.template import TemplateField
from log_shipper.spark_sink.records.schema import FIELDS, PARENTS, Kind
from log_shipper.spark_sink.rows.json_text import Json, NotJson, parse
from log_shipper.spark_sink.rows.kinds import SHOWN
from log_shipper.spark_sink.rows.own_columns import OwnColumn, wrong_type
from log_shipper.spark_sink.rows.place_headers import BadRecord
from log_shipper.spark_sink.rows.routes import missing
from log_shipper.spark_sink.rows.times import is_in_range, micros_of

MAX_BYTES = 16 * 1024 * 1024  # the limit of Spark's JSON readers
_WORDS: dict[Kind, str] = {
    "timestamp": "a time as text",
    "string": "text",
    "bigint": "a whole number",
    "array<string>": "a list of texts",
    "object": "an object",
}


@dataclass(frozen=True, slots=True)
class RecordJudge:
    """Judges records by the configuration. `routes`: the fields that choose the table."""

    own: Sequence[OwnColumn] = ()
    routes: Sequence[TemplateField] = ()

    def document(self, value: bytes) -> dict[str, Json]:
        """Return the content of a good record, unchanged except for `host` and `tags`. Raises BadRecord."""
        document = _with_text_members(_object(value))
        time = document.get("@timestamp")
        if time is None:
            raise BadRecord("no @timestamp")
        for field in FIELDS:
            given = value_at(document, field.path)
            if given is not None and not _fits(field.kind, given):
                raise BadRecord(wrong_type(field.path, given, _WORDS[field.kind]))
        micros = micros_of(time)
        if micros is None:
            raise BadRecord(f"@timestamp is not an ISO 8601 time: {time[:SHOWN]}")
        if not is_in_range(micros):
            raise BadRecord(f"@timestamp is outside the years 1 to 9999: {time[:SHOWN]}")
        for path, _ in PARENTS:
            given = value_at(document, path)
            if given is not None and not isinstance(given, dict):
                raise BadRecord(wrong_type(path, given, "an object"))
        self.check(document)
        return document

    def check(self, document: dict[str, Json]) -> None:
        """Raise BadRecord if the record lacks a field that the configuration requires."""
        for column in self.own:
            if reason := column.reason(value_at(document, column.config.path)):
                raise BadRecord(reason)
        for field in self.routes:
            if reason := missing(field, value_at(document, field.name)):
                raise BadRecord(reason)


def value_at(document: Json, path: str) -> Json:
    """Return the value at a dotted path; None if it is missing."""
    return value_below(document, path.split("."))


def value_below(value: Json, steps: Sequence[str]) -> Json:
    for step in steps:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _object(value: bytes) -> dict[str, Json]:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8") from None
    if len(value) > MAX_BYTES:
        raise BadRecord("too large: a record has at most 16 MiB")
    try:
        document = parse(text)
    except NotJson:
        raise BadRecord("not JSON") from None
    if not isinstance(document, dict):
        raise BadRecord("not an object")
    return document


def _with_text_members(document: dict[str, Json]) -> dict[str, Json]:
    """Return the document with `host` and `tags`, which some programs write as a text, in the form of ECS."""
    if isinstance(host := document.get("host"), str):
        document["host"] = {"name": host}
    if isinstance(tag := document.get("tags"), str):
        document["tags"] = [tag]
    return document


def _fits(kind: Kind, value: Json) -> bool:
    match kind:
        case "timestamp" | "string":
            return isinstance(value, str)
        case "bigint":
            return isinstance(value, int) and not isinstance(value, bool)
        case "array<string>":
            return isinstance(value, list) and all(inner is None or isinstance(inner, str) for inner in value)
        case _:
            return isinstance(value, dict)
