"""Encode an entry as one JSON object, as `delivery: exactly_once` commits it in the topic of positions. The members are
the fields of FileState, and `version`, which counts the changes of this format; the first one had no version.

The registry's own format (`table.py`) is another, with its own version. The registry of releases up to 0.2
(`ndjson.py`) had these lines too.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from log_shipper.registry.state import FileState, from_dict, to_dict

VERSION = 1


def encoded(state: FileState) -> bytes:
    values = {"version": VERSION, **to_dict(state)}
    try:
        # A copy: orjson's result keeps its whole buffer, ten times the line, as long as it is referenced.
        return b"%b" % orjson.dumps(values)
    except TypeError:
        # UTF-8 has no bytes for the surrogate escapes of a path that is not UTF-8: as ASCII they survive as \udcXX.
        return json.dumps(values, separators=(",", ":")).encode("ascii")


def decoded(line: bytes) -> FileState:
    """Return the entry. Raises TypeError or ValueError if the line is not an entry, or of another version."""
    values = members(line)
    version = values.pop("version", VERSION)
    if version != VERSION:
        raise ValueError(f"format version {version} is not supported; this release reads version {VERSION}")
    return from_dict(values, {})


def members(line: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises TypeError or ValueError."""
    try:
        values = orjson.loads(line)
    except ValueError:
        values = json.loads(line)  # surrogate escapes, as `encoded` writes them
    if not isinstance(values, dict):
        raise TypeError("not a JSON object")
    return values
