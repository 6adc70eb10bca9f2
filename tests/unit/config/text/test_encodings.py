import codecs
from typing import get_args

import pytest

from log_shipper.config.text.encodings import (
    AMENDED,
    CHARACTERS,
    MARKED,
    OF_CODEC,
    UNSUPPORTED,
    LineTerminator,
    charset_of,
    check_terminator,
    encoded_terminator,
    parse_encoding,
)
from tests.config_lab import ConfigLab

NAMES = [name for names in OF_CODEC.values() for name in names.split()] + list(MARKED)


def test_every_codec_is_one_that_python_has_or_that_is_made_here(subtests: pytest.Subtests) -> None:
    for codec in OF_CODEC:
        with subtests.test(codec):
            assert codec in AMENDED or codecs.lookup(codec)


def test_no_name_means_two_encodings() -> None:
    assert len(NAMES) == len({*NAMES, *UNSUPPORTED}) - len(UNSUPPORTED)
    assert all(name == name.lower() for name in NAMES)


@pytest.mark.parametrize(("written", "name"), [("Latin1", "latin1"), (" UTF-8 ", "utf-8"), ("", "plain")])
def test_a_name_is_known_however_it_is_written(written: str, name: str) -> None:
    assert parse_encoding(written) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("latin-1", "'latin-1' is not a known encoding; did you mean 'latin1'?"),
        ("utf16-le", "'utf16-le' is not a known encoding; did you mean 'utf-16le'?"),
        ("klingon", "'klingon' is not a known encoding"),
        ("iso-2022-kr", "'iso-2022-kr' is not supported; Filebeat produces only U+FFFD with it; convert the file"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        parse_encoding(name)
    assert str(caught.value) == message


def test_where_a_byte_is_a_character_each_terminator_is_one_byte_only(subtests: pytest.Subtests) -> None:
    """Lines are split after they were decoded."""
    tables = {names: table for names in OF_CODEC.values() if (table := charset_of(names.split()[0]).table)}
    for names, table in tables.items():
        with subtests.test(names):
            assert len(table) == 256
            assert all(table.count(character) <= 1 for text in CHARACTERS.values() for character in text)
            assert all(len(character.encode()) <= 3 for character in table)  # what the limit reckons with


def test_every_terminator_has_its_characters() -> None:
    assert list(get_args(LineTerminator)) == list(CHARACTERS)


@pytest.mark.parametrize("terminator", ["auto", "line_feed", "carriage_return_line_feed"])
def test_line_feeds_end_lines_in_every_encoding(terminator: LineTerminator) -> None:
    assert all(encoded_terminator(name, terminator) for name in NAMES)


@pytest.mark.parametrize(
    ("encoding", "terminator", "message"),
    [
        (
            "latin1",
            "next_line",
            "encoding latin1 has no character next_line; it is the byte 85 in iso8859-1 and the other iso8859",
        ),
        ("iso8859-1", "line_separator", "encoding iso8859-1 has no character line_separator"),
        ("shift-jis", "next_line", "encoding shift-jis has no character next_line"),
        ("gbk", "next_line", "encoding gbk writes next_line in bytes that are also part of other characters"),
    ],
)
def test_a_terminator_that_cannot_be_recognised_is_refused(
    encoding: str, terminator: LineTerminator, message: str
) -> None:
    ((option, found),) = check_terminator(encoding, terminator)
    assert option == "line_terminator"
    assert found.startswith(message)
    assert "every encoding has auto" in found


def test_next_line_is_the_byte_85_where_it_is_no_letter_and_what_ebcdic_has_for_it() -> None:
    of_iso = [name for name in NAMES if charset_of(name).codec.startswith("iso8859-")]
    assert {encoded_terminator(name, "next_line") for name in of_iso} == {b"\x85"}
    assert {encoded_terminator(name, "next_line") for name in NAMES if "ebcdic" in name} == {b"\x15"}


def test_a_terminator_that_the_encoding_has_is_accepted() -> None:
    assert list(check_terminator("iso8859-1", "next_line")) == []
    assert list(check_terminator("utf-16-bom", "paragraph_separator")) == []


@pytest.mark.parametrize(
    ("kind", "more"),
    [("filestream", "id: x, paths: [x]"), ("log", "paths: [x]"), ("container", "paths: [x]"), ("stdin", "id: x")],
)
def test_every_kind_of_input_is_asked_for_both(lab: ConfigLab, kind: str, more: str) -> None:
    options = "encoding: latin1, line_terminator: next_line"
    text = f"shipper.inputs: [{{type: {kind}, {more}, {options}}}]\noutput.console.pretty: false\n"
    (problem,) = lab.problems(text)
    assert problem.startswith("shipper.yml:1: shipper.inputs[0].line_terminator: encoding latin1 has no character")
