"""JSON text that is read exactly: every number keeps its digits, and only what RFC 8259 calls JSON is read.

Two ways lead to the same values. `read` is fast, and serves where the text is as this module would write it, which
shows that nothing was lost: no number was rounded, no name came twice. `parse` is exact whatever the text.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

# A number that is no whole number of 64 bits: its text.
Number = msgspec.Raw
Json = Any  # dict, list, str, int, float, bool, None, Number

LOWEST, HIGHEST = -(2**63), 2**63 - 1
# Readers of the tables have limits: Spark refuses numbers of more characters, and levels beyond a thousand.
MAX_NUMBER_LENGTH = 1000
DEEPEST = 500

_LONG_NUMBER = re.compile(rb"[-+.0-9eE]{%d}" % (MAX_NUMBER_LENGTH + 1))
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALVES = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """Raised where a text is not JSON, or nothing that a reader of the table would take for it."""


def parse(text: str) -> Json:
    """Return the value of the text; of a name that comes twice the last one counts. Half of a surrogate pair becomes
    "?", as Java writes it. Raises NotJson."""
    try:
        value = _EXACT.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise NotJson(f"nested more than {DEEPEST} levels deep")
    return _whole_text(value) if _HALF.search(text) else value


def read(raw: bytes) -> tuple[Json, bool]:
    """Return the value, and whether `raw` is exactly what `write` makes of it. Raises NotJson."""
    if len(raw) > DEEPEST and _is_doubtful(raw):
        return parse(_decoded(raw)), False
    try:
        value = _read(raw)
        if _write(value) == raw:
            return value, True
    except (ValueError, RecursionError):  # half of a surrogate pair, for one, is JSON all the same
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
    depth, level = 0, [value]
    while level := [inner for value in level for inner in _members(value)] if depth else _containers([value]):
        depth += 1
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
