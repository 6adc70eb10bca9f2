"""Reads JSON text exactly: every number keeps its digits, and only valid JSON (RFC 8259) is accepted.

`read` is fast, and suffices if the text is byte for byte what this module would write: then no number was rounded, and
no name came twice. `parse` is exact for any text. Both return the same values.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

# The text of a number that is not a 64-bit integer.
Number = msgspec.Raw
Json = Any  # dict, list, str, int, float, bool, None, Number

LOWEST, HIGHEST = -(2**63), 2**63 - 1
# Limits of the tables' readers: Spark refuses longer numbers, and more than a thousand levels.
MAX_NUMBER_LENGTH = 1000
DEEPEST = 500

_LONG_NUMBER = re.compile(rb"[-+.0-9eE]{%d}" % (MAX_NUMBER_LENGTH + 1))
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALVES = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """Raised for a text that is not JSON, or that readers of the table would not accept as JSON."""


def parse(text: str) -> Json:
    """Return the value of the text; of a repeated name the last one counts. Half of a surrogate pair becomes "?", as in
    Java. Raises NotJson."""
    try:
        value = _EXACT.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise NotJson(f"nested more than {DEEPEST} levels deep")
    return _whole_text(value) if _HALF.search(text) else value


def read(raw: bytes) -> tuple[Json, bool]:
    """Return the value, and whether `raw` is exactly its text by `write`. Raises NotJson."""
    if len(raw) > DEEPEST and _is_doubtful(raw):
        return parse(_decoded(raw)), False
    try:
        value = _read(raw)
        if _write(value) == raw:
            return value, True
    except (ValueError, RecursionError):  # it may still be JSON, for example half of a surrogate pair
        pass
    return parse(_decoded(raw)), False


def write(value: Json) -> bytes:
    """Return the value as compact JSON. A Number is written as it was read."""
    return _write(value)


_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise NotJson(str(error)) from None


def _is_doubtful(raw: bytes) -> bool:
    return raw.count(b"[") + raw.count(b"{") > DEEPEST or _LONG_NUMBER.search(raw) is not None


def _whole(text: str) -> int | Number:
    value = int(text) if len(text) <= 20 else None
    return value if value is not None and LOWEST <= value <= HIGHEST else _number(text)


def _number(text: str) -> Number:
    if len(text) > MAX_NUMBER_LENGTH:
        raise NotJson(f"a number with {len(text)} characters")
    return Number(text.encode())


def _constant(name: str) -> Json:
    raise NotJson(f"{name} is not JSON")


_EXACT = json.JSONDecoder(parse_int=_whole, parse_float=_number, parse_constant=_constant)


def _depth(value: Json) -> int:
    depth, level = 0, _containers([value])
    while level:
        depth += 1
        level = [inner for value in level for inner in _members(value)]
    return depth


def _containers(values: list[Json]) -> list[Json]:
    return [value for value in values if isinstance(value, dict | list)]


def _members(value: Json) -> list[Json]:
    return _containers(list(value.values() if isinstance(value, dict) else value))


def _whole_text(value: Json) -> Json:
    """Return the value with "?" for each half of a surrogate pair."""
    replace: Callable[[str], str] = lambda text: _HALVES.sub("?", text)  # noqa: E731
    match value:
        case str():
            return replace(value)
        case list():
            return [_whole_text(inner) for inner in value]
        case dict():
            return {replace(name): _whole_text(inner) for name, inner in value.items()}
        case _:
            return value
