"""Names are made of the field's words: a name that has to be looked up is renamed, not explained."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import PRODUCT, ROOT, modules, name_of, nodes

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
    "held": "suspected, awaiting, paused, blocked",
    "news": "new data",
    "gone": "missing, deleted",
    "former": "previous",
    "parted": "split",
    "stands": "is at, exists",
    "entangled": "interleaved",
}


def names(path: Path) -> Iterator[str]:
    for node in nodes(path):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name


# The modules that tests share, and their folders; of the unit tests those that follow already.
UNIT_TESTS = [
    f"tests/unit/{package}"
    for package in ("bench", "demo", "deploy", "logs", "monitor", "registry", "service", "spark_sink")
]
TESTS = ["tests", "tests/browser", "tests/contract", "tests/e2e", "tests/fault", "tests/model", *UNIT_TESTS]


def checked(package: str) -> list[Path]:
    return sorted((ROOT / "tests").glob("*.py")) if package == "tests" else modules(package)


@pytest.mark.parametrize("package", [*PRODUCT, *TESTS])
def test_no_name_has_a_word_that_was_replaced(package: str) -> None:
    wrong = {
        f"{name_of(path)}: {name} ({word} -> {BANNED[word]})"
        for path in checked(package)
        for name in names(path)
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", name).lower())
        if word in BANNED
    }
    assert sorted(wrong) == []


# The same in what people read: log lines, errors, and the texts of options, metrics and commands.
BANNED_IN_MESSAGES = {
    "nobody|somebody": "no one, someone, or the component's name",
    "whoever": "the caller, the user",
    "anew|afresh": "again, re-created, in full",
    "for ever": "permanently, forever",
    "told|tells?|telling|said": "logged, reported, shown",
    "goes on|go on": "continues, resumes",
    "gone": "missing, deleted",
    "news": "new data, new rows",
    "under way": "in flight, pending, in progress",
    "becomes? of": "happens to",
    "heirs?": "successor",
    r"(?<!there )is no (?!longer|more)\w+": "is not a",
}
EXEMPT = {
    "network news": "RFC 5424 names a facility so",
}


def texts(path: Path) -> Iterator[str]:
    """Yield the string literals of a module but docstrings, and names, which have no blank."""
    docstrings = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docstrings and text not in EXEMPT:
                yield text


@pytest.mark.parametrize("package", PRODUCT)
def test_no_message_has_a_word_that_was_replaced(package: str) -> None:
    wrong = [
        f"{name_of(path)}: {text!r} ({match.group()} -> {instead})"
        for path in modules(package)
        for text in texts(path)
        for words, instead in BANNED_IN_MESSAGES.items()
        for match in re.finditer(rf"\b({words})\b", text, re.IGNORECASE)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", [*PRODUCT, *TESTS])
def test_a_docstring_begins_with_what_is_returned(package: str) -> None:
    defined = (ast.Module, ast.ClassDef, ast.FunctionDef)
    wrong = [
        f"{name_of(path)}: {docstring.splitlines()[0]}"
        for path in checked(package)
        for node in nodes(path)
        if isinstance(node, defined) and (docstring := ast.get_docstring(node)) and docstring.startswith("Whether ")
    ]
    assert wrong == [], "True if ..."


# A variable is the noun of what it stands for: an index, an entry, a deadline.
BANNED_VARIABLES = {"each", "found", "there", "at", "begin"}


@pytest.mark.parametrize("package", [*PRODUCT, *TESTS])
def test_a_variable_is_a_noun(package: str) -> None:
    wrong = []
    for path in checked(package):
        for node in nodes(path):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in BANNED_VARIABLES:
                    wrong.append(f"{name_of(path)}:{node.lineno}: {name}")
    assert wrong == []


def test_the_glossary_names_modules_that_exist() -> None:
    rows = [line for line in (ROOT / "GLOSSARY.md").read_text().splitlines() if line.startswith("| ")][1:]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.rstrip("| ").rpartition(" | ")[2])]
    assert len(named) >= len(rows)
    assert [name for name in named if not ((ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file())] == []
