"""Each promise of docs/explained/promises.md names tests that exist."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explained" / "promises.md"
TEST = re.compile(r"^- \[`(test_\w+)`\]\((\S+)\)$", re.MULTILINE)


def test_each_promise_names_a_test_that_exists() -> None:
    promises = PAGE.read_text().split("\n## ")[1:]
    assert len(promises) == 10
    for promise in promises:
        tests = TEST.findall(promise)
        assert tests, promise
        for name, file in tests:
            assert f"\ndef {name}(" in (PAGE.parent / file).read_text(), f"{file}: {name}"
