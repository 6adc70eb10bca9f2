"""Names are made of the field's words: a name that has to be looked up is renamed, not explained."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_architecture import PRODUCT, modules, name_of, parse

# Each is a word that once stood for several things, with what to say instead.
BANNED = {
    "told": "logged, reported, warned",
    "tell": "log, report, warn",
    "tells": "logs, reports",
    "telling": "logging, relevant",
    "said": "logged, reported",
    "say": "log, print",
    "says": "reports, is",
    "anew": "again, re-created",
    "afresh": "full, in full",
    "heir": "successor",
    "heirs": "successors",
    "reborn": "truncated in place",
    "knots": "interleaved",
    "nobody": "no one, or the component's name",
    "somebody": "someone, or the component's name",
    "whoever": "the caller",
    "doomed": "to be deleted",
    "fleet": "open files",
    "seam": "continuation",
    "succession": "rotation links",
    "asleep": "closed",
    "lander": "batch writer",
    "leftovers": "orphaned rows",
}


def names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name


@pytest.mark.parametrize("package", PRODUCT)
def test_no_name_has_a_word_that_was_replaced(package: str) -> None:
    found = {
        f"{name_of(path)}: {name} ({word} -> {BANNED[word]})"
        for path in modules(package)
        for name in names(parse(path))
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", name).lower())
        if word in BANNED
    }
    assert sorted(found) == []
