"""Our own code against a walk over what another parser makes of each record: the columns, and `doc` without them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from log_shipper.spark_sink.rows.times import micros_of
from tests.model.seeds import for_each_seed
from tests.unit.spark_sink.rows.converting import conversion, kafka_records, rows_of
from tests.unit.spark_sink.rows.hostile_records import records

TEXT, WHOLE, TEXTS, OBJECT = "text", "whole", "texts", "object"
COLUMNS = {
    "message": ("message", TEXT),
    "host": ("host.name", TEXT),
    "path": ("log.file.path", TEXT),
    "file_id": ("log.file.id", TEXT),
    "offset": ("log.offset", WHOLE),
    "length": ("log.length", WHOLE),
    "flags": ("log.flags", TEXTS),
    "tags": ("tags", TEXTS),
    "fields": ("fields", OBJECT),
}


class BadRecord(Exception):
    pass


def walked(value: bytes | None) -> dict[str, Any] | None:
    """Return the columns of a record, None for a bad one."""
    try:
        document = orjson.loads(value or b"")
        if isinstance(document, dict) and isinstance(host := document.get("host"), str):
            document["host"] = {"name": host}
        if isinstance(document, dict) and isinstance(tag := document.get("tags"), str):
            document["tags"] = [tag]
        row = {name: cut(document, path.split("."), kind) for name, (path, kind) in COLUMNS.items()}
        time = cut(document, ["@timestamp"], TEXT)
    except (orjson.JSONDecodeError, BadRecord):
        return None
    if time is None or (micros := micros_of(time)) is None or not 1 <= year_of(micros) <= 9999:
        return None
    for name in ("file", "log", "host"):
        parent = document.get("log") or {} if name == "file" else document
        if not parent.get(name):
            parent.pop(name, None)
    return {**row, "doc": document or None}


def year_of(micros: int) -> int:
    try:
        return datetime.fromtimestamp(micros // 1_000_000, tz=UTC).year
    except (ValueError, OverflowError, OSError):
        return 0


def cut(document: Any, steps: list[str], kind: str) -> Any:
    """Remove a value, and return it."""
    for step in steps[:-1]:
        if not isinstance(document, dict):
            raise BadRecord
        document = document.get(step)
        if document is None:
            return None
    if not isinstance(document, dict):
        raise BadRecord
    value = document.pop(steps[-1], None)
    if value is None:
        return None
    fits = {
        TEXT: isinstance(value, str),
        WHOLE: isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63,
        TEXTS: isinstance(value, list) and all(inner is None or isinstance(inner, str) for inner in value),
        OBJECT: isinstance(value, dict),
    }
    if not fits[kind]:
        raise BadRecord
    return value


def is_beyond(value: bytes) -> bool:
    """Return True if the other parser knows less: half of a surrogate pair, numbers beyond doubles, very deep lists."""
    return b"\\ud" in value.lower() or b"999" in value or value.startswith(b"[[[") or b"\\u0040" in value


def as_walked(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: None if row[name] is None else orjson.loads(row[name]) for name in ("fields", "doc")}
    return {**{name: row[name] for name in COLUMNS}, **texts}


@for_each_seed(10)
def test_rows_are_what_another_parser_finds(seed: int) -> None:
    given = [
        record.value for record in records(seed, 2000) if record.headers is None and not is_beyond(record.value or b"")
    ]
    rows = rows_of(conversion().convert(kafka_records(given)))
    for index, value in enumerate(given):
        expected = walked(value)
        assert (as_walked(rows[index]) if index in rows else None) == expected, value
    assert 400 < len(rows) < len(given)
