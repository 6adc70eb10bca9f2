"""Values that parsers and processors have made -> JSON text, whatever they are: a value must not cost its event."""

from typing import Any

import orjson

from shipper.text import without_surrogates

DEEPEST = 240
TOO_DEEP = "(nested too deep)"


def dumps(value: object) -> str:
    """Return the value as JSON; what JSON has no form for is written as text."""
    try:
        return orjson.dumps(value, default=text_of).decode()
    except TypeError:
        return orjson.dumps(_writable(value), default=text_of).decode()


def text_of(value: object) -> str:
    """Return the text for a value that orjson has no form for."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else without_surrogates(str(value))


def _writable(value: Any, depth: int = 0) -> Any:
    """Return the value without what orjson refuses: surrogates, numbers of more than 64 bits, keys that are not
    texts, and objects in objects beyond its 254 levels, which JSON within JSON within JSON can reach."""
    match value:
        case str():
            return without_surrogates(value)
        case dict() | list() | tuple() if depth == DEEPEST:
            return TOO_DEEP
        case dict():
            return {str(_writable(key)): _writable(member, depth + 1) for key, member in value.items()}
        case list() | tuple():
            return [_writable(member, depth + 1) for member in value]
        case int() if not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            return str(value)
    return value
