"""Texts for records: cut to a size, made valid Unicode, and any value as JSON.

Log lines contain anything, and so do the values that parsers and processors make of them: an unwritable value must not
cost its event.
"""

from typing import Any

import orjson

DEEPEST = 240
TOO_DEEP = "(nested too deep)"


def cut_text(text: str, max_bytes: int) -> str:
    """Return the longest prefix of at most `max_bytes` bytes of UTF-8; `text` itself if it fits."""
    if len(text) * 4 <= max_bytes:
        return text
    raw = text.encode()
    return text if len(raw) <= max_bytes else raw[:max_bytes].decode("utf-8", "ignore")


def without_surrogates(text: str) -> str:
    """Return the text with `?` for each surrogate, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def dumps(value: object) -> str:
    """Return the value as JSON; values without a JSON form are written as text."""
    try:
        return orjson.dumps(value, default=text_of).decode()
    except TypeError:
        return orjson.dumps(_writable(value), default=text_of).decode()


def text_of(value: object) -> str:
    """Return the text of a value that orjson cannot encode."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else without_surrogates(str(value))


def _writable(value: Any, depth: int = 0) -> Any:
    """Return the value without what orjson refuses: surrogates, numbers of more than 64 bits, keys that are not texts,
    and more than 254 nested levels, which nested JSON texts can reach."""
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
