"""An entry as one JSON object: what `delivery: exactly_once` commits in the topic of positions. The members are the
fields of FileState, and `version`, which counts the changes of this format; before it had a name, there was none.

The registry's own format (`table.py`) is another, with a version of its own. The registry that releases up to 0.2 wrote
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
        # A copy: what orjson gives keeps its whole buffer, ten times the line, as long as it is referenced.
        return b"%b" % orjson.dumps(values)
    except TypeError:
        # UTF-8 has no bytes for the surrogate escapes of a path that is not UTF-8: as ASCII they survive as \udcXX.
        return json.dumps(values, separators=(",", ":")).encode("ascii")


def decoded(line: bytes) -> FileState:
    """Return the entry. Raises TypeError or ValueError for what is none, or of another version."""
    values = members(line)
    version = values.pop("version", VERSION)
    if version != VERSION:
        raise ValueError(f"its format has version {version}, and this release reads version {VERSION}")
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
