"""Values of one type as another, by the rules of Go: `convert`.

Two differences: a number that its new type cannot hold is an error (Go wraps it into another number), and so is a text
for infinity or no number, because JSON has neither.
"""

import ipaddress
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson

from shipper.processor.fields import ProcessorError

_DECIMAL = re.compile(r"[+-]?[0-9]+")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:_?[0-9a-fA-F])+")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL_REAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_LONGEST = 400  # characters of a number: what is longer is none, and would take long


def whole(bits: int) -> Callable[[Any], int]:
    """To a signed number of so many bits."""

    def convert(value: Any) -> int:
        number = _whole(value)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ProcessorError(f"{value!r} has no room in {bits} bits")
        return number

    return convert


def _whole(value: Any) -> int:
    if isinstance(value, str) and len(value) <= _LONGEST:
        if _DECIMAL.fullmatch(value):
            return int(value)
        if _HEXADECIMAL.fullmatch(value):
            return int(value, 16)
    elif type(value) is int or (type(value) is float and math.isfinite(value)):
        return int(value)
    raise ProcessorError(f"{_shown(value)} is not a whole number")


def to_double(value: Any) -> float:
    number = math.nan
    if isinstance(value, str) and len(value) <= _LONGEST:
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
    """The nearest number of 32 bits, with as few digits as distinguish it: 0.1 stays 0.1."""
    number = to_double(value)
    try:
        nearest = _single(number)
    except OverflowError:
        raise ProcessorError(f"{value!r} has no room in 32 bits") from None
    digits = (float(f"{nearest:.{places}g}") for places in range(6, 10))
    return next(each for each in digits if _single(each) == nearest)


def _single(number: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return single


def to_text(value: Any) -> str:
    """Numbers as Go's %v writes them, lists and objects as JSON."""
    if value is None:
        raise ProcessorError("null cannot be a text")
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return real_text(value)
    return str(value) if isinstance(value, int) else orjson.dumps(value, default=str).decode()


def real_text(value: float) -> str:
    """Return the fewest digits that identify it, with an exponent below 1e-04 and from 1e+06 on, as strconv has it."""
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
    """The text itself, if it is an address."""
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
