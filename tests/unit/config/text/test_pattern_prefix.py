import random
import time
from collections.abc import Iterable

import pytest

from log_shipper.config.text.patterns import MAX_CACHED, PrefixCache, column_searcher, deciding_characters, searcher


@pytest.mark.parametrize(
    ("pattern", "characters"),
    [
        (r"^\s", 1),
        (r"^\s|^Caused by:", 10),
        (r"^\s+", 1),
        (r"^[[:space:]]", 1),
        (r"^[[:space:]]*", 1),
        (r"^\[", 1),
        (r"^[^\[\s|x-z]", 1),
        (r"^\d{4}-\d{2}-\d{2}", 10),
        (r"^\[?[0-9]{2,4}/.", 7),
        ("^é{3}|^", 3),
        ("^", 0),
        (r"^\\$", None),
        ("", None),
        ("a", None),
        ("^a|b", None),
        ("^a|", None),
        ("|^a", None),
        ("^a$", None),
        ("^a+b", None),
        ("^a{2,}", None),
        ("^(a|b)", None),
        ("^(?i)a", None),
        ("(?i)^a", None),
        (r"^a\b", None),
        (r"^\pL", None),
        (r"^\Qa|b", None),
        (r"^\x41", None),
        ("^a{", None),
        ("^[]a]", None),
        (r"^[[:space:]]+(at|\.{3})[[:space:]]+\b|^Caused by:", None),
    ],
)
def test_the_characters_that_decide_are_counted(pattern: str, characters: int | None) -> None:
    assert deciding_characters(pattern) == characters


def test_what_is_kept_is_what_would_be_found() -> None:
    dice = random.Random(7)
    items = ["a", r"\s", r"\.", ".", "[^a]", "[a|é]", "[[:space:]]", r"\|", "é", r"\S", "[-]"]
    times = ["", "", "", "?", "{2}", "{0,2}", "+", "*", "{1,}", "$"]
    counted = 0
    for _ in range(1500):
        pattern = "|".join(
            "^"
            + "".join(
                dice.choice(items) + dice.choice(times[: dice.choice([3, 6, 10])]) for _ in range(dice.randrange(4))
            )
            for _ in range(dice.randint(1, 2))
        )
        counted += deciding_characters(pattern) is not None
        texts = ["".join(dice.choices("aé.| \t-\n\ud800", k=dice.randrange(7))) for _ in range(30)]
        assert column_searcher([pattern])(texts) == [searcher([pattern])(text) for text in texts], pattern
    assert counted > 700


def test_several_patterns_are_counted_as_one() -> None:
    search_all = column_searcher(["^ab", "^c"])
    assert search_all(["abx", "cx", "ax", "xc", ""]) == [True, True, False, False, False]
    assert isinstance(search_all.__self__, PrefixCache)  # type: ignore[attr-defined]  # it is a bound method


class Counted:
    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, texts: Iterable[str]) -> list[bool]:
        found = [text.startswith("a") for text in texts]
        self.asked += len(found)
        return found


def test_a_beginning_is_searched_once() -> None:
    search = Counted()
    beginnings = PrefixCache(search, 1)
    assert beginnings.search_all(["a1", "a2", "b", "a3"]) == [True, True, False, True]
    assert search.asked == 2


def test_what_is_kept_has_a_limit_and_is_given_up_where_lines_begin_in_too_many_ways() -> None:
    search = Counted()
    beginnings = PrefixCache(search, 9)
    for number in range(3 * MAX_CACHED):
        assert beginnings.search_all([f"a{number}"]) == [True]
        assert len(beginnings) <= MAX_CACHED
    assert len(beginnings) < MAX_CACHED / 2
    assert search.asked == 3 * MAX_CACHED
    assert beginnings.search_all(["a1"] * 5) == [True] * 5
    assert search.asked == 3 * MAX_CACHED + 5


def test_it_is_kept_up_where_most_lines_begin_alike() -> None:
    search = Counted()
    beginnings = PrefixCache(search, 9)
    for number in range(2 * MAX_CACHED):
        beginnings.search_all([f"a{number}", "a", "a", "a", "a", "a"])
    assert search.asked < 2 * MAX_CACHED + 10


def test_no_pattern_takes_long_to_be_counted() -> None:
    start = time.process_time()
    for pattern in ["^" + "a" * 5000, "^" + "[a" * 5000, "^a{2}" * 2000, "^" + r"\s" * 5000 + "$", "^a|" * 3000]:
        deciding_characters(pattern)
    assert time.process_time() - start < 1
