import os
import time
from pathlib import Path

import pytest

from log_shipper.config.text.globs import AnyDepth, FixedName, Wildcard, parse, wild

# What Go's documentation of filepath.Match, and its behaviour, say of a pattern and a name.
CASES = [
    ("abc", "abc", True),
    ("*", "abc", True),
    ("*", ".hidden", True),
    ("*", "", True),
    ("*.log", "a.log", True),
    ("*.log", "a.log.1", False),
    ("*.log", "a\n.log", True),
    ("*.log", "axlog", False),
    ("a*b*c", "a-b-b-c", True),
    ("a*b*c", "acb", False),
    ("a*a", "a", False),
    ("a**b", "a--b", True),
    ("a?b", "a\u00e9b", True),
    ("a?b", "ab", False),
    ("a[0-9]", "a7", True),
    ("a[0-9]", "ax", False),
    ("a[^0-9]", "ax", True),
    ("a[^0-9]", "a7", False),
    ("a[!0-9]", "a!", True),
    ("a[!0-9]", "ax", False),
    ("a[xyz]", "ay", True),
    ("a[b-a]", "aa", False),
    ("a[^b-a]", "aa", True),
    (r"a[\]]", "a]", True),
    (r"a[\-]", "a-", True),
    ("a[[]", "a[", True),
    (r"a\*", "a*", True),
    (r"a\*", "ab", False),
    ("{a,b}", "a", False),
    ("{a,b}", "{a,b}", True),
    ("a+(b)", "a+(b)", True),
    ("A", "a", False),
]


@pytest.mark.parametrize(("pattern", "name", "expected"), CASES)
def test_a_segment_matches_as_in_go(pattern: str, name: str, expected: bool) -> None:
    assert bool(wild(pattern).regex.fullmatch(name)) is expected


@pytest.mark.parametrize("pattern", ["[", "[a", "[]", "[^]", "[a-]", "[-a]", "a\\", "[a/b]"])
def test_what_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a valid glob"):
        parse(f"/logs/{pattern}", recursive=True)


def test_many_stars_cost_no_more_than_the_name_is_long() -> None:
    started = time.process_time()
    assert not wild("*a" * 30 + "*b").regex.fullmatch("a" * 200)
    assert time.process_time() - started < 1


def test_a_pattern_is_what_is_fixed_and_what_is_not() -> None:
    pattern = parse("/srv//app/*/logs/./*.log", recursive=True)
    assert pattern.path == "/srv/app/*/logs/*.log"
    assert pattern.root == "/srv/app"
    assert [type(segment) for segment in pattern.middle] == [Wildcard, FixedName]
    assert isinstance(pattern.last, Wildcard)
    assert not pattern.is_literal


def test_a_path_without_wildcard_is_literal() -> None:
    pattern = parse("/var/log/syslog", recursive=True)
    assert (pattern.root, pattern.last, pattern.is_literal) == ("/var/log", FixedName("syslog"), True)
    assert parse("/", recursive=True).is_literal


def test_a_relative_path_is_made_absolute(tmp_path: Path) -> None:
    assert parse("a/../*.log", recursive=True).path == os.path.join(os.getcwd(), "*.log")


def test_two_stars_are_every_depth_only_where_that_is_on() -> None:
    assert parse("/a/**/**/b", recursive=True).middle == (AnyDepth(),)
    assert parse("/a/**", recursive=True).last == wild("*")
    assert parse("/a/**/b", recursive=True).last == wild("b")
    assert parse("/a/**/b", recursive=False).middle == (wild("**"),)


def test_a_path_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        parse("/a\0b", recursive=True)
