"""The form of messages, of documentation, and of the tests' class names. Ruff's pydocstyle holds that of docstrings."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import PRODUCT, ROOT, modules, name_of, nodes

LOG_CALLS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
MAX_MESSAGE = 250  # characters, without the values that are filled in
DOCUMENTS = [path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if path.name != "CHANGELOG.md"]

# Each stands where a noun, an agent or a number would say more.
FILLERS = {
    r"\bas (many|much|few|long) as (may|can) ": "at most, up to",
    r"\bfor ever\b": "permanently, forever",
    r"\bin one go\b": "at once, together",
    r"(?<!there )\bis none\b": "is missing, is not a",
    r"\bnewly met\b": "new",
    r"\beach of which\b": "which ... each",
    r"\bwhat of\b": "a noun",
    r"\bwould have to be\b": "must be",
}
# Not in messages and the texts of options either.
MESSAGE_FILLERS = {
    r"\b(nobody|somebody|whoever)\b": "no one, someone, the caller",
    r"\bso that [^.:;]{0,40}\bmay\b": "to, so that it can",
    r"(?<!,) of which\b": "two sentences, or: with",
    r"\bwhat (is|was|were) not \w": "a noun: unread records, unsent events",
}


def fillers(text: str, replacements: dict[str, str]) -> list[str]:
    return [
        f"{match.group()} -> {instead}"
        for filler, instead in replacements.items()
        for match in re.finditer(filler, text, re.IGNORECASE)
    ]


def constant(node: ast.expr) -> str:
    """Return the constant text of an expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(constant, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return constant(left) + constant(right)
        case _:
            return ""


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and constant text of what a module logs and raises."""
    for node in nodes(path):
        match node:
            case ast.Raise(exc=ast.Call(args=args) as call):
                pass
            case ast.Call(func=ast.Attribute(attr=name), args=args) as call if name in LOG_CALLS:
                pass
            case _:
                continue
        yield from ((call.lineno, text) for text in map(constant, args) if " " in text)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of all string literals with a blank, except docstrings."""
    docstrings = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docstrings:
                yield node.lineno, text


@pytest.mark.parametrize("package", PRODUCT)
def test_a_message_is_short(package: str) -> None:
    long = [
        f"{name_of(path)}:{line}: {len(text)} characters: {text}"
        for path in modules(package)
        for line, text in messages(path)
        if len(text) > MAX_MESSAGE
    ]
    assert long == []


@pytest.mark.parametrize("package", PRODUCT)
def test_messages_have_no_fillers(package: str) -> None:
    found = [
        f"{name_of(path)}:{line}: {filler} in {text!r}"
        for path in modules(package)
        for line, text in texts(path)
        for filler in fillers(text, FILLERS | MESSAGE_FILLERS)
    ]
    assert found == []


def test_documents_have_no_fillers() -> None:
    found = [
        f"{name_of(path)}:{number}: {filler}"
        for path in DOCUMENTS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for filler in fillers(line, FILLERS)
    ]
    assert found == []


def test_a_harness_is_a_lab_with_a_name_of_its_own() -> None:
    names = Counter(node.name for path in modules("tests") for node in nodes(path) if isinstance(node, ast.ClassDef))
    wrong = [name for name, count in names.items() if name.endswith(("Desk", "Bench"))]
    assert wrong == [], "called Lab, as the others are"
    assert [name for name, count in names.items() if name.endswith("Lab") and count > 1] == []
