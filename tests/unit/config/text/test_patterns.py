import random
import re
import string
import time

import pytest
import re2

from log_shipper.config.text.patterns import (
    Groups,
    Span,
    column_searcher,
    finder,
    group_names,
    matcher,
    parse_pattern,
    searcher,
)


@pytest.mark.parametrize(
    "pattern", ["", r"^\d{4}-", r"^\[", "[]x]+", r"\pL", r"\p{Greek}", r"a\z", r"\Qa.b", "(?P<x>a)"]
)
def test_a_valid_pattern_stays_as_it_is_written(pattern: str) -> None:
    assert parse_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing ): ("),
        ("a\\", "trailing \\"),
        ("[", "missing ]: ["),
        ("a++", "bad repetition operator: ++"),
        ("a{1001}", "invalid repetition size: {1001}"),
        (r"\Z", r"invalid escape sequence: \Z"),
        ("[[:vowel:]]", "invalid character class range: [:vowel:]"),
    ],
)
def test_what_re2_refuses_is_reported_with_its_reason(pattern: str, why: str) -> None:
    with pytest.raises(
        ValueError, match="^" + re.escape(f"'{pattern}' is not a regular expression in RE2 syntax: {why}") + "$"
    ):
        parse_pattern(pattern)


def test_of_a_glob_it_is_reported_what_it_is_as_a_regular_expression() -> None:
    with pytest.raises(
        ValueError, match=re.escape("it is not a glob: for names ending in .log.gz, write '\\.log\\.gz$'")
    ):
        parse_pattern("*.log.gz")


@pytest.mark.parametrize("pattern", ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)", r"(a)\1"])
def test_what_only_a_backtracking_engine_can_do_is_named(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"RE2 has no look-around, no back-references and no atomic groups$"):
        parse_pattern(pattern)


def test_a_pattern_that_takes_too_much_memory_is_refused_and_nothing_goes_to_stderr(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match="pattern too large"):
        parse_pattern(r"((\pL{100}){10}|x)" * 30)
    assert capfd.readouterr() == ("", "")


def test_half_a_character_is_no_pattern() -> None:
    with pytest.raises(ValueError, match="half a character"):
        parse_pattern("\ud800")


@pytest.mark.parametrize(
    ("patterns", "hit", "miss"),
    [
        ([r"^[[:space:]]+(at|\.{3})[[:space:]]+\b|^Caused by:"], "\tat x.y", "at x.y"),
        (["^[[:^space:]]$"], "x", " "),
        (["^b"], "b", "a\nb"),
        (["a$"], "a", "a\n"),
        (["^.$"], "é", "\n"),
        (["(?i)É"], "é", "e"),
        ([r"^\w$"], "e", "é"),
        ([r"^\d$"], "1", "\u0661"),
        ([r"^\s$"], " ", "\u00a0"),
        (["(?i)a", "b"], "A", "B"),
        (["^a", "b$"], "xb", "xa"),
        ([r"\Qa|", r"\Qb\E"], "b", "a"),
        (["(?P<x>a)", "(?P<x>b)"], "b", "c"),
        ([r"(\pL{100}){4}y", r"(\pL{100}){4}x", "a"], "a", "b"),
        (["(a)(b)?"], "a", "b"),
        (["^.$"], "\ud800", "xx"),
    ],
)
def test_a_text_is_found_by_one_of_the_patterns(patterns: list[str], hit: str, miss: str) -> None:
    search, search_all = searcher(patterns), column_searcher(patterns)
    assert (search(hit), search(miss)) == (True, False)
    assert search_all([hit, miss, hit]) == [True, False, True]


def test_no_pattern_finds_nothing() -> None:
    assert not searcher(())("x")
    assert column_searcher(())(["x", ""]) == [False, False]


def test_the_private_match_is_there_and_takes_what_it_is_given() -> None:
    """What config/text/patterns.py calls below the public names of google-re2."""
    match = re2.compile("(b)|c")._regexp.Match
    assert match(re2._Anchor.UNANCHORED, b"abc", 0, 3) == [(1, 2), (1, 2)]
    assert match(re2._Anchor.UNANCHORED, b"abc", 2, 3) == [(2, 3), (-1, -1)]
    assert match(re2._Anchor.UNANCHORED, b"x", 0, 1)[0] == (-1, -1)


def test_what_is_found_is_what_pythons_own_engine_finds_where_the_two_agree() -> None:
    dice = random.Random(5)
    texts = ["".join(dice.choices("ab.é\t ", k=dice.randrange(8))) for _ in range(40)]
    for _ in range(150):
        pattern = "".join(dice.choices(["a", "b", "é", ".", "^", "(a|b)", "[^a]", "b*", r"\.", r"(?:é|\t)+", "$"], k=4))
        expected = [re.search(pattern, text, re.ASCII) is not None for text in texts]
        assert column_searcher([pattern])(texts) == expected, pattern
        for text in texts:
            ours, theirs = matcher(pattern)(text), re.search(pattern, text)
            assert ours == (theirs and (theirs[0], *theirs.groups())), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "groups"),
    [
        ("a(b)(c)?", "xabd", ("ab", "b", None)),
        ("(é+)(x?)", "aéé€", ("éé", "éé", "")),
        ("(?P<k>[^=]+)=(.*)", "ключ=值", ("ключ=值", "ключ", "值")),
        ("b", "a", None),
        ("é", "e", None),
        ("(.)a", "\ud800a", ("\ud800a", "\ud800")),
    ],
)
def test_groups_are_texts(pattern: str, text: str, groups: Groups | None) -> None:
    assert matcher(pattern)(text) == groups


def test_groups_have_names() -> None:
    assert group_names("(?P<a>x)(y)(?<b>z)") == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        ("a", "banana", [[(1, 2)], [(3, 4)], [(5, 6)]]),
        ("a*", "baac", [[(0, 0)], [(1, 3)], [(4, 4)]]),
        ("é*", "bééc", [[(0, 0)], [(1, 3)], [(4, 4)]]),
        ("", "é€", [[(0, 0)], [(1, 1)], [(2, 2)]]),
        ("^a", "aa", [[(0, 1)]]),
        (r"\ba", "aa a", [[(0, 1)], [(3, 4)]]),
        ("(é)|(b)", "xéb", [[(1, 2), (1, 2), (-1, -1)], [(2, 3), (-1, -1), (2, 3)]]),
        ("x", "", []),
    ],
)
def test_all_matches_are_reported_in_characters(pattern: str, text: str, spans: list[list[Span]]) -> None:
    assert list(finder(pattern)(text)) == spans


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(.*a){20}", "(a|aa)+$", "(x+x+)+y", "(.*)*b", "^(.*?,){30}P", "(a?){50}a{50}b"]
)
@pytest.mark.parametrize("unit", ["a", "ab,", string.ascii_lowercase + "é,"])
def test_no_pattern_stalls_on_a_line_of_a_megabyte(pattern: str, unit: str) -> None:
    line = unit * (1_000_000 // len(unit)) + "!"
    start = time.process_time()
    searcher([pattern])(line)
    assert time.process_time() - start < 0.5


def test_many_matches_beyond_ascii_take_linear_time() -> None:
    start = time.process_time()
    assert sum(1 for _ in finder("a")("éa" * 200_000)) == 200_000
    assert time.process_time() - start < 3
