"""Members of a foreign JSON document, such as an API response: a member of an unexpected type counts as absent."""

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
    """Return the text members of an object."""
    return {name: text for name, text in object_of(value).items() if isinstance(text, str)}
