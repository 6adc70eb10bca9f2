"""Members of a JSON document that another program made, as an API's answer: what is of another type than documented
counts as absent."""

from collections.abc import Iterator
from typing import Any

from log_shipper.shipper.event import Doc


def object_of(value: Any) -> Doc:
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> Iterator[Doc]:
    """Yield the objects of a list."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts_of(value: Any) -> dict[str, str]:
    """Return those members of an object that are texts."""
    return {name: text for name, text in object_of(value).items() if isinstance(text, str)}
