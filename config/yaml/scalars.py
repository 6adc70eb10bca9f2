"""Converts a scalar to the type of a hint. An invalid value raises ValueError with a message for the user."""

import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml

from log_shipper.config.text.secrets import Secret
from log_shipper.config.yaml.tree import ListNode, Scalar
from log_shipper.config.yaml.variables import expand

_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_RESOLVER: Any = yaml.resolver.Resolver()  # Any: its methods have no types


def expanded(scalar: Scalar, env: Mapping[str, str]) -> Scalar:
    """Return the scalar with variables expanded; without quotes, the result is typed again as YAML does."""
    if "${" not in scalar.text:
        return scalar
    text = expand(scalar.text, env)
    if not scalar.plain:
        return replace(scalar, text=text)
    return replace(scalar, text=text, kind=kind(text))


def as_list(scalar: Scalar) -> ListNode | Scalar:
    """Return the value of a variable as a list: `a, b` or `[a, b]`; a single value becomes one item."""
    text = scalar.text.strip()
    inside = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    parts = [part.strip().strip("'\"") for part in inside.split(",")]
    if len(parts) == 1 and inside is text:
        return scalar
    return ListNode(tuple(replace(scalar, text=part) for part in parts if part), scalar.place)


def kind(text: str) -> str:
    """Return YAML's short tag for an unquoted scalar."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    return tag.rpartition(":")[2]


def natural(scalar: Scalar) -> str | int | float | bool | None:
    """Return the value by YAML's typing. Dates stay strings, and so does 16:9 (a base 60 number in YAML 1.1)."""
    if scalar.kind == "null":
        return None
    if scalar.kind == "bool":
        return _bool(scalar.text)
    if scalar.kind in ("int", "float") and ":" not in scalar.text:
        node = yaml.ScalarNode(f"tag:yaml.org,2002:{scalar.kind}", scalar.text)
        number: int | float = yaml.constructor.SafeConstructor().construct_object(node)
        return number
    return scalar.text


def is_false(scalar: Scalar) -> bool:
    """Return True for an unquoted `false` in any spelling."""
    return scalar.kind == "bool" and not _bool(scalar.text)


def typed(scalar: Scalar, hint: Any) -> Any:
    """Return the value for a hint: str, int, float, bool, Literal[...], Annotated[..., parser], or one of these |
    None."""
    origin = get_origin(hint)
    if origin is Annotated:
        return get_args(hint)[1](scalar.text)
    if origin is Literal:
        return _choice(scalar.text, get_args(hint))
    if origin in (Union, types.UnionType):
        return typed(scalar, next(arg for arg in get_args(hint) if arg is not type(None)))
    return _PARSERS[hint](scalar.text)


def _choice(text: str, choices: tuple[Any, ...]) -> Any:
    """Return the choice, ignoring case, as Filebeat does for logging.level, compression and sasl.mechanism."""
    for choice in choices:
        if str(choice).lower() == text.lower():
            return choice
    names = ", ".join(str(choice) for choice in choices if str(choice))
    raise ValueError(f"{text!r} must be one of: {names}")


def _bool(text: str) -> bool:
    if text.lower() not in _BOOLS:
        raise ValueError(f"{text!r} must be true or false")
    return _BOOLS[text.lower()]


_MAX_DIGITS = 20  # the digits of 2**64; Python rejects thousands


def _int(text: str) -> int:
    digits = text.strip().removeprefix("-")
    if not digits.isdecimal() or len(digits) > _MAX_DIGITS:
        raise ValueError(f"{text!r} must be an integer")
    return int(text)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} must be a number") from None


_PARSERS: dict[type, Callable[[str], Any]] = {str: str, Secret: Secret, bool: _bool, int: _int, float: _float}
