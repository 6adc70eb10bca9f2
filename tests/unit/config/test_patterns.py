import re
import warnings

import pytest

from config.patterns import parse_pattern


@pytest.mark.parametrize("pattern", ["", r"^\d{4}-", r"^\[", "[]x]+", "[^]]", r"[\]a]", "^(a|b)$", "[:space:]", "x]"])
def test_a_pattern_that_means_the_same_in_python_is_left_alone(pattern):
    assert parse_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "hit", "miss"),
    [
        (r"^[[:space:]]+(at|\.{3})[[:space:]]+\b|^Caused by:", "\tat x.y", "at x.y"),
        ("^[[:space:]]", " x", ":x"),
        ("^[^[:space:]]$", "x", " "),
        ("^[x[:digit:]-]+$", "x1-", "a"),
        ("^[[:^space:]]$", "x", " "),
        ("^[[:punct:]]$", "]", "a"),
        ("^[a[b]$", "[", "c"),
        ("^[a[]$", "[", "b"),
        ("^[]x[:digit:]]$", "1", "a"),
        ("^[[:upper:]][[:lower:]]$", "Ab", "ab"),
    ],
)
def test_posix_classes_match_what_was_meant(pattern, hit, miss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = re.compile(parse_pattern(pattern))
    assert compiled.search(hit)
    assert not compiled.search(miss)


@pytest.mark.parametrize(
    "name",
    [
        "alnum",
        "alpha",
        "ascii",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "word",
        "xdigit",
    ],
)
def test_every_posix_class_compiles_and_takes_its_own(name):
    samples = {"cntrl": "\x07", "blank": "\t", "space": "\n", "punct": "!", "upper": "A", "digit": "7"}
    assert re.fullmatch(parse_pattern(f"[[:{name}:]]"), samples.get(name, "a"))


def test_a_class_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"^\[:vowel:\] is no class of characters known here$"):
        parse_pattern("[[:vowel:]]")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing ), unterminated subpattern"),
        (r"\pL", r"bad escape \\p"),
        ("a\\", "bad escape"),
        ("[", "unterminated"),
    ],
)
def test_what_does_not_compile_is_refused_with_the_reason(pattern, why):
    with pytest.raises(ValueError, match=f"is not a regular expression: {re.escape(why) if why[0] == 'm' else why}"):
        parse_pattern(pattern)
