"""Checks that several options share. Each yields (path below the value, what would be right)."""

from collections.abc import Iterator
from typing import Any

Finding = tuple[str, str]


def not_empty(items: tuple[Any, ...]) -> Iterator[Finding]:
    if not items:
        yield "", "must not be empty"


def without_blanks(items: tuple[str, ...]) -> Iterator[Finding]:
    yield from not_empty(items)
    yield from ((f"[{index}]", "is empty") for index, item in enumerate(items) if not item.strip())


def not_blank(text: str) -> Iterator[Finding]:
    if not text.strip():
        yield "", "is empty"
