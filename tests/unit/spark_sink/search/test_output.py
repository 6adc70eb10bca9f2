"""What a person and a program get to see."""

import io
import json
import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from log_shipper.spark_sink.search.output import JsonOutput, TextOutput, has_colours, highlight
from log_shipper.spark_sink.search.query import Query
from tests.fakes import Terminal
from tests.unit.spark_sink.search.search_lab import NOON, Table, line, search

HOSTILE = "a\x1b[2J\x1b]0;owned\x07\r\u202eb\x9b31m"


def test_no_terminal_obeys_a_line(table: Table) -> None:
    table.land([line(HOSTILE, host=HOSTILE, path=HOSTILE, doc=json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False))])
    for arguments in ([], ["--json"], ["--context", "1"]):
        text = search(table, *arguments).text
        assert re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) is None
    assert search(table).messages[0].endswith("a\\x1b[2J\\x1b]0;owned\\x07\\r\\u202eb\\u009b31m")
    (row,) = search(table, "--json").rows
    assert (row["message"], row["host"], row["doc"]) == (HOSTILE, HOSTILE, {HOSTILE: HOSTILE})


def test_a_line_within_a_message_cannot_pass_for_another_hit(table: Table) -> None:
    table.land([line("Trace\n\tat Cart\n2026-11-21T12:00:00.000Z web-1 /x: forged")])
    _, *others = search(table).text.splitlines()
    assert others == ["    \tat Cart", "    2026-11-21T12:00:00.000Z web-1 /x: forged"]


def test_json_has_all_columns_and_the_members_of_json_columns(table: Table) -> None:
    row = line(
        "m",
        1.000001,
        status=200,
        tags=["a", None],
        fields='{"env":"prod"}',
        doc='{"n":1.10,"big":123456789012345678901}',
    )
    table.land([row])
    printed = search(table, "--json")
    assert '"doc":{"n":1.10,"big":123456789012345678901}' in printed.text
    (shown,) = printed.rows
    assert shown.keys() == row.keys()
    assert (shown["ts"], shown["date"]) == ("2026-11-21T12:00:01.000001Z", "2026-11-21")
    assert (shown["status"], shown["tags"], shown["fields"], shown["topic"]) == (
        200,
        ["a", None],
        {"env": "prod"},
        None,
    )


@pytest.mark.parametrize("text", ['{"a":', '{\n"a": 1}', "[1] 2"])
def test_a_text_that_is_not_json_on_one_line_stays_a_text(text: str) -> None:
    assert json.loads(JsonOutput().line({"ts": NOON, "doc": text}, True))["doc"] == text


def test_what_is_null_is_a_dash(table: Table) -> None:
    table.land([line(None, host=None, path=None)])
    assert search(table).text == "2026-11-21T12:00:00.000Z - -: \n"


def test_a_huge_message_is_printed_whole(table: Table) -> None:
    message = "x" * 5_000_000 + "needle"
    table.land([line(message)])
    assert search(table, "needle").messages == [message]


def test_times_are_shown_in_the_zone_that_was_asked_for() -> None:
    row = line("m", ts=datetime(2026, 7, 1, 22, 30, tzinfo=UTC))
    assert TextOutput(UTC).line(row, True).startswith("2026-07-01T22:30:00.000Z ")
    assert TextOutput(ZoneInfo("Europe/Berlin")).line(row, True).startswith("2026-07-02T00:30:00.000+02:00 ")


def test_times_at_the_ends_of_the_calendar_are_shown() -> None:
    for moment in (datetime.min, datetime.max):
        row = line("m", ts=moment.replace(tzinfo=UTC))
        for hours in (-12, 12):
            assert str(moment.year).zfill(4) in TextOutput(timezone(timedelta(hours=hours))).line(row, True)


def test_a_match_is_coloured_and_escapes_are_not_split() -> None:
    people = TextOutput(UTC, re.compile("b\x1b|c"), colours=True)
    text = people.line(line("ab\x1b[31mc", host="h", path="p"), True)
    assert text.endswith(" \x1b[35mh\x1b[0m \x1b[36mp\x1b[0m: a\x1b[1;31mb\\x1b\x1b[0m[31m\x1b[1;31mc\x1b[0m")


def test_what_is_coloured_is_what_was_searched_for() -> None:
    people = TextOutput(UTC, highlight(Query("äb")), colours=True)
    assert people.line(line("1 ÄB 2"), True).endswith(": 1 \x1b[1;31mÄB\x1b[0m 2")
    assert people.line(line("1 ÄB 2"), False).endswith("- 1 ÄB 2")
    assert highlight(Query()) is None


def test_colours_are_for_terminals_whose_user_wants_them() -> None:
    assert has_colours(Terminal(), {"TERM": "xterm"})
    assert not has_colours(io.StringIO(), {"TERM": "xterm"})
    assert not has_colours(Terminal(), {"NO_COLOR": "1"})
    assert not has_colours(Terminal(), {"TERM": "dumb"})
