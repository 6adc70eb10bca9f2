import re
from datetime import UTC, datetime

import pytest

from log_shipper.config.text.format_strings import FieldPart, FormatPart, TimePart, parse_format

MOMENT = datetime(2026, 3, 5, 13, 4, 9, 87_000, UTC)  # a Thursday


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("logs", ("logs",)),
        ("", ()),
        ("%{[a]}", (FieldPart("a"),)),
        ("%{[a.b]}-%{[a][b]}", (FieldPart("a.b"), "-", FieldPart("a.b"))),
        ("%{[a]:x y}", (FieldPart("a", "x y"),)),
        ("%{[a]:}", (FieldPart("a", ""),)),
        ("%{ [a] :b}", (FieldPart("a", "b"),)),
        ("logs-%{+yyyy.MM.dd}", ("logs-", TimePart("yyyy.MM.dd"))),
        (r"100\% of \\ and %", (r"100% of \ and %",)),
        (r"\%{[a]}", ("%{[a]}",)),
        ("a%b", ("a%b",)),
    ],
)
def test_a_format_string_has_texts_fields_and_times(text: str, parts: tuple[FormatPart, ...]) -> None:
    assert parse_format(text) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%{[a]", "'%{[a]' has no closing brace; write '%{[fields.service]}'"),
        ("%{a}", "'%{a}' names no field; write '%{[fields.service]}' or '%{[fields.service]:other}'"),
        ("%{}", "'%{}' names no field"),
        ("%{[a]b}", "'%{[a]b}' names no field"),
        ("%{[a..b]}", "'%{[a..b]}': 'a..b' is not a field name"),
        ("%{+}", "'%{+}' has no date pattern; write '%{+yyyy.MM.dd}', for example"),
        ("%{+QQ.MM}", "'%{+QQ.MM}': 'QQ' is not a time element; write '%{+yyyy.MM.dd}' (known: D, E, H,"),
        ("%{+'T}", "'%{+'T}' has an unclosed quote"),
    ],
)
def test_what_is_not_one_is_refused_with_an_example(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_format(text)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("yyyy.MM.dd", "2026.03.05"),
        ("yy-M-d", "26-3-5"),
        ("y", "2026"),
        ("xxxx.ww.e", "2026.10.4"),
        ("EEE EEEE MMM MMMM", "Thu Thursday Mar March"),
        ("D DDD", "64 064"),
        ("HH:mm:ss.SSS", "13:04:09.087"),
        ("hh a K k", "01 PM 1 13"),
        ("yyyy-MM-dd'T'HH 'o''clock'", "2026-03-05T13 o'clock"),
        ("H''m", "13'4"),
        ("z Z ZZ", "UTC +0000 +00:00"),
        ("SSSSSSSS", "08700000"),
    ],
)
def test_a_time_is_written_in_its_layout(layout: str, text: str) -> None:
    assert TimePart(layout).text(MOMENT) == text


@pytest.mark.parametrize(("hour", "text"), [(0, "12 AM 0 24"), (12, "12 PM 0 12"), (23, "11 PM 11 23")])
def test_midnight_and_noon_have_the_hours_of_their_layout(hour: int, text: str) -> None:
    assert TimePart("h a K k").text(MOMENT.replace(hour=hour)) == text
