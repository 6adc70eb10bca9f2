"""Conversions of values to other types, by Go's rules, for `convert`, dissect and grok.

Two differences: a number that does not fit its new type is an error (Go wraps it), and so is a text for infinity or
NaN, which JSON does not have.
"""

import ipaddress
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from log_shipper.shipper.formats.text import dumps, text_of
from log_shipper.shipper.processor.fields import ProcessorError

_DECIMAL = re.compile(r"[+-]?[0-9]+")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:_?[0-9a-fA-F])+")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL_REAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_MAX_CHARACTERS = 400  # characters of a number: longer texts take long to convert


def whole(bits: int) -> Callable[[Any], int]:
    """Return the conversion to a signed integer of this many bits."""

    def convert(value: Any) -> int:
        number = _whole(value)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ProcessorError(f"{value!r} does not fit in {bits} bits")
        return number

    return convert


def _whole(value: Any) -> int:
    if isinstance(value, str) and len(value) <= _MAX_CHARACTERS:
        if _DECIMAL.fullmatch(value):
            return int(value)
        if _HEXADECIMAL.fullmatch(value):
            return int(value, 16)
    elif type(value) is int or (type(value) is float and math.isfinite(value)):
        return int(value)
    raise ProcessorError(f"{_shown(value)} is not a whole number")


def to_double(value: Any) -> float:
    number = math.nan
    if isinstance(value, str) and len(value) <= _MAX_CHARACTERS:
        if _REAL.fullmatch(value):
            number = float(value)
        elif _HEXADECIMAL_REAL.fullmatch(value):
            number = float.fromhex(value)
    elif type(value) in (int, float) and abs(value) <= 2**1023:
        number = float(value)
    if not math.isfinite(number):
        raise ProcessorError(f"{_shown(value)} is not a number")
    return number


def to_float(value: Any) -> float:
    """Return the nearest 32-bit number, with the fewest distinguishing digits: 0.1 stays 0.1."""
    number = to_double(value)
    try:
        nearest = _single(number)
    except OverflowError:
        raise ProcessorError(f"{value!r} does not fit in 32 bits") from None
    candidates = (float(f"{nearest:.{places}g}") for places in range(6, 10))
    return next(candidate for candidate in candidates if _single(candidate) == nearest)


def _single(number: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return single


def to_text(value: Any) -> str:
    """Return a number as Go's %v prints it, a list or an object as JSON."""
    if value is None:
        raise ProcessorError("null cannot be converted to a text")
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return real_text(value)
    if isinstance(value, bytes):
        return text_of(value)
    return str(value) if isinstance(value, int) else dumps(value)


def real_text(value: float) -> str:
    """Return the fewest digits that identify the number, with an exponent below 1e-04 and from 1e+06 on, as Go's
    strconv does."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return {"n": "NaN", "F": "-Inf" if sign else "+Inf"}[exponent]
    scientific = len(digits) - 1 + exponent
    minus = "-" if sign else ""
    if not -4 <= scientific < 6:
        text = "".join(map(str, digits))
        point = "." if len(text) > 1 else ""
        return f"{minus}{text[0]}{point}{text[1:]}e{'-' if scientific < 0 else '+'}{abs(scientific):02d}"
    return f"{Decimal(repr(value)).normalize():f}"


def to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _TRUE | _FALSE:
        return value in _TRUE
    raise ProcessorError(f"{_shown(value)} is neither true nor false")


def to_ip(value: Any) -> str:
    """Return the text unchanged. Raises ProcessorError if it is not an address."""
    try:
        if isinstance(value, str) and "%" not in value:
            ipaddress.ip_address(value)
            return value
    except ValueError:
        pass
    raise ProcessorError(f"{_shown(value)} is not an IP address")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:100]}…"


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "integer": whole(32),
    "long": whole(64),
    "float": to_float,
    "double": to_double,
    "string": to_text,
    "boolean": to_boolean,
    "ip": to_ip,
}


def _lenient(convert: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return the conversion that keeps a text that is not of the type."""

    def converted(text: str) -> Any:
        try:
            return convert(text.rstrip(" "))
        except ProcessorError:
            return text

    return converted


def _short_first(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the conversion with a shortcut: most whole numbers have few digits, which fit any type."""
    return lambda text: int(text) if len(text) < 10 and text.isascii() and text.isdigit() else convert(text)


# For extracted texts: one that is not of the type stays unchanged.
FROM_TEXT: dict[str, Callable[[str], Any]] = {name: _lenient(convert) for name, convert in CONVERSIONS.items()}
for _name in ("integer", "long"):
    FROM_TEXT[_name] = _short_first(FROM_TEXT[_name])
FROM_TEXT["int"] = FROM_TEXT["long"]  # grok's int is any whole number
