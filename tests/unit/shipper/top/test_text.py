"""Lines take the columns that they are given, whatever is in them."""

import pytest

from log_shipper.shipper.top.text import Span, columns, cut, fitting, left, plain, right, rule_off, shown, wrapped

WIDE = "日本語のファイル.log"  # two columns a character, but for those of ASCII


@pytest.mark.parametrize(("text", "width"), [("abc", 3), (WIDE, 20), ("e\u0301", 1), ("", 0)])
def test_the_columns_of_a_text(text: str, width: int) -> None:
    assert columns(text) == width


def test_of_a_path_the_end_is_shown_and_of_a_sentence_the_beginning() -> None:
    assert cut("/var/log/service/app.log", 10) == "…e/app.log"
    assert cut("cannot deliver", 10) == "cannot de…"
    assert cut("short", 10) == "short"
    assert cut("short", 0) == ""


@pytest.mark.parametrize("text", ["a", "a long text", WIDE, f"/{WIDE}", "e\u0301" * 10])
@pytest.mark.parametrize("width", [1, 2, 5, 6, 30])
def test_a_cell_has_exactly_its_width(text: str, width: int) -> None:
    assert columns(left(text, width)) == width
    assert columns(right(text, width)) == width


def test_a_sentence_is_broken_at_blanks_and_a_long_word_anywhere() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("abcdefghij k", 4) == ["abcd", "efgh", "ij k"]
    assert wrapped(WIDE, 5) == ["日本", "語の", "ファ", "イル.", "log"]
    assert wrapped("", 5) == [""]


def test_of_too_many_lines_the_last_one_shows_that_there_is_more() -> None:
    assert wrapped("one two three four", 5, max_lines=2) == ["one", "two …"]


def test_a_line_is_cut_within_its_pieces() -> None:
    assert fitting([Span("ab"), Span("日本", "bold"), Span("c")], 4) == [Span("ab"), Span("日", "bold"), Span("")]


def test_one_text_is_at_the_left_and_one_at_the_right() -> None:
    assert plain([rule_off([Span("left")], [Span("right")], 12)]) == "left   right\n"
    assert plain([rule_off([Span("too long")], [Span("right")], 10)]) == "too  right\n"


def test_nothing_of_a_text_is_obeyed_by_a_terminal() -> None:
    assert shown("a\x1b[2J\nb\u202e\udcff") == "a\\x1b[2J\\nb\\u202e\\udcff"
