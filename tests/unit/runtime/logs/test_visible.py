import sys
import unicodedata

import orjson
import pytest

from log_shipper.runtime.logs.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/var/log/żółw 日本.log", "/var/log/żółw 日本.log"),
        ("a\\b", "a\\b"),
        ("a\nb\rc\td", r"a\nb\rc\td"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("\x9b31m", r"\u009b31m"),
        ("\x7f", r"\u007f"),
        ("gol\u202e.exe", r"gol\u202e.exe"),
        ("\udcff.log", r"\udcff.log"),
    ],
)
def test_what_a_terminal_would_obey_is_written_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_control_and_no_surrogate_is_left() -> None:
    text = visible("".join(map(chr, range(sys.maxunicode + 1))))
    assert {unicodedata.category(character) for character in text}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    directions = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    assert {unicodedata.bidirectional(character) for character in text}.isdisjoint(directions)


def test_what_is_to_be_kept_is_kept() -> None:
    assert visible("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


def test_a_json_document_stays_what_it_is() -> None:
    document = {"path": "".join(map(chr, range(0x2100)))}
    assert orjson.loads(visible(orjson.dumps(document).decode())) == document
