"""The threat model names, for each thing that holds, a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = "".join(page.read_text() for page in sorted((ROOT / "docs" / "explained").glob("security*.md")))
NODES = sorted(set(re.findall(r"`((?:unit|model|contract|fault|e2e|browser)/[\w/]+\.py::\w+)`", PAGES)))


@cache
def functions_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text()) if file.exists() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_tests_that_the_page_names_exist() -> None:
    named = [(node, *node.split("::")) for node in NODES]
    assert [node for node, file, name in named if name not in functions_in(ROOT / "tests" / file)] == []


def test_each_line_of_what_someone_tries_names_a_test() -> None:
    """But for files that belong to others than us."""
    rows = [line for line in PAGES.splitlines() if line.startswith("| ")]
    without = [row for row in rows if "::test_" not in row and not row.endswith("| test |")]
    assert len(NODES) > 50
    assert [row[:30] for row in without] == ["| the sink's tables, checkpoint"[:30]]
