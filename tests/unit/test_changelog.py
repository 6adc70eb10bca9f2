"""The changelog has the form of Keep a Changelog."""

import re
from pathlib import Path

from log_shipper import VERSION

TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
KINDS = ["Upgrade notes", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_unreleased_is_open_above_the_releases_with_their_dates() -> None:
    first, *releases = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert first == "Unreleased"
    assert releases
    assert [name for name in releases if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", name)] == []


def test_each_release_has_its_kinds_once_and_in_order() -> None:
    for release in TEXT.split("\n## ")[1:]:
        kinds = re.findall(r"^### (.*)$", release, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds], release.partition("\n")[0]


def test_the_newest_release_is_the_version_of_the_programs() -> None:
    assert re.findall(r"^## (\S+) - ", TEXT, re.MULTILINE)[0] == VERSION


def test_an_entry_has_at_most_two_lines_of_120_columns() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 120] == []
    entries = re.findall(r"^- .*(?:\n  .*)*", TEXT, re.MULTILINE)
    assert [entry for entry in entries if entry.count("\n") > 1] == []
