"""Kinds of JSON values in Spark's words, for the reasons of bad records: BIGINT, DECIMAL(2,1), OBJECT<a: BIGINT>."""

import re
from decimal import Decimal
from functools import reduce
from typing import NamedTuple

from log_shipper.spark_sink.rows.json_text import Json, Number

SHOWN = 80  # characters
_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DIGITS = 38


class _Decimal(NamedTuple):
    precision: int
    scale: int


_BIGINT = _Decimal(20, 0)
# A list has the kind of its items, a dict that of each member.
_Kind = str | _Decimal | list["_Kind"] | dict[str, "_Kind"]
_NOTHING: _Kind = "VOID"


def kind_of(value: Json) -> str:
    """Return the kind, at most SHOWN characters of it."""
    return _text(_kind(value))[:SHOWN]


def _kind(value: Json) -> _Kind:
    match value:
        case None:
            return "VOID"
        case bool():
            return "BOOLEAN"
        case str():
            return "STRING"
        case int():
            return "BIGINT"
        case Number():
            return _number(bytes(value).decode())
        case list():
            return [reduce(_merged, map(_kind, value), _NOTHING)]
        case _:
            return {name: _kind(inner) for name, inner in sorted(value.items(), key=lambda item: item[0].encode())}


def _number(text: str) -> _Kind:
    if not _PLAIN.fullmatch(text):
        return "DOUBLE"
    given = Decimal(text)
    if max(len(given.as_tuple().digits), -int(given.as_tuple().exponent)) > _MAX_DIGITS:
        return "DOUBLE"
    return _decimal(text)


def _decimal(text: str) -> _Kind:
    whole, _, fraction = text.lstrip("-").partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    return _Decimal(max(len(digits), len(fraction), 1), len(fraction))


def _merged(one: _Kind, other: _Kind) -> _Kind:
    """Return the narrowest kind with the values of both."""
    if one == other or other == "VOID":
        return one
    if one == "VOID":
        return other
    match one, other:
        case list(), list():
            return [_merged(one[0], other[0])]
        case dict(), dict():
            names = sorted({*one, *other}, key=str.encode)
            return {name: _merged(one.get(name, "VOID"), other.get(name, "VOID")) for name in names}
        case ("BIGINT" | "DOUBLE" | _Decimal(), "BIGINT" | "DOUBLE" | _Decimal()):
            if "DOUBLE" in (one, other):
                return "DOUBLE"
            return _wider(*(_BIGINT if kind == "BIGINT" else kind for kind in (one, other)))  # type: ignore[arg-type]
        case _:
            return "VARIANT"


def _wider(one: _Decimal, other: _Decimal) -> _Kind:
    scale = max(one.scale, other.scale)
    precision = scale + max(one.precision - one.scale, other.precision - other.scale)
    return "DOUBLE" if precision > _MAX_DIGITS else _Decimal(precision, scale)


def _text(kind: _Kind) -> str:
    match kind:
        case _Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case list():
            return f"ARRAY<{_text(kind[0])}>"
        case dict():
            return f"OBJECT<{', '.join(f'{_name(name)}: {_text(inner)}' for name, inner in kind.items())}>"
        case _:
            return str(kind)


def _name(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else "`" + name.replace("`", "``") + "`"
