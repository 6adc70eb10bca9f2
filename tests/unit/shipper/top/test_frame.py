"""What is on the screen, at any size."""

import json
from dataclasses import replace
from typing import Any

import pytest

from log_shipper.shipper.top.document import parse
from log_shipper.shipper.top.frame import HELP, KEYS, render
from log_shipper.shipper.top.text import columns, left, plain
from log_shipper.shipper.top.view import View
from tests.status_documents import document


def view(**changes: Any) -> View:
    return View("/data/shipper.sock", parse(json.dumps(document(**changes)).encode()))


def screen(shown: View, width: int = 79, height: int | None = 24) -> str:
    return plain(render(shown, width, height))


def test_at_80x24_everything_that_matters_is_seen() -> None:
    text = screen(view())
    assert text.startswith("shipper web-1  0.3.0  up 1d 02h ")
    assert "\nDEGRADED The topic logs-b takes no records: it does not exist." in text
    for words in ("Events acknowledged", "1,230,001", "99/s", "Events per second", "▄", "Bytes behind"):
        assert words in text, words
    assert "Files furt" in text
    assert text.count("/app.log") >= 3
    assert text.endswith(f" {KEYS}\n")
    assert len(text.splitlines()) == 24


def test_a_tall_terminal_has_several_tables_at_once() -> None:
    text = screen(view(), 119, 40)
    assert text.count("/app.log") >= 5
    assert "cannot deliver to the topic logs-b" in text
    assert "Message size too large" in text
    assert len(text.splitlines()) == 40


HEIGHTS = (None, 1, 2, 5, 10, 24, 33, 34, 60, 200)


@pytest.mark.parametrize("width", [1, 2, 10, 40, 79, 119, 300])
def test_a_frame_fits_any_size(width: int, subtests: pytest.Subtests) -> None:
    frames = [view(), view(tables=[]), view(figures=[], charts=[]), View("asked"), View("asked", problem="none " * 50)]
    frames += [
        replace(view(), table=4),
        replace(view(), row=19),
        replace(view(), table=9),
        replace(view(), has_help=True),
    ]
    for height in HEIGHTS:
        with subtests.test(f"{height} lines"):
            for shown in frames:
                lines = render(shown, width, height)
                assert height is None or len(lines) == height
                assert height is None or "".join(span.text for span in lines[-1]) == left(f" {KEYS}", width)
                assert max(columns("".join(span.text for span in line)) for line in lines) <= width


def test_as_text_everything_is_there_and_nothing_is_cut() -> None:
    text = screen(view(), 100, None)
    assert text.count("/app.log") == 22
    assert "(auto.create.topics.enable)" in " ".join(text.split())
    assert KEYS not in text


def test_no_table_is_shown_without_a_row() -> None:
    tables = document()["tables"]
    tables[0]["rows"] = []
    tables[1]["rows"] = [[0, "error", "long " * 100, 1]]
    for height in range(34, 60):
        lines = screen(view(tables=tables), 79, height).splitlines()
        if "Errors (1)" in lines:
            assert "long" in lines[lines.index("Errors (1)") + 2]


def test_a_chart_that_does_not_fit_is_left_out_as_a_whole() -> None:
    lag = document()["charts"][1]
    charts = [lag | {"title": f"Chart {number}", "series": lag["series"] * number} for number in (1, 9, 2)]
    text = screen(view(charts=charts))
    assert ("Chart 1" in text, "Chart 9" in text, "Chart 2" in text) == (True, False, True)
    assert "service-01/app.log" in text


def test_an_empty_table_has_its_words() -> None:
    tables = document()["tables"]
    tables[0]["rows"] = []
    assert "No file is behind." in screen(view(tables=tables))


def test_the_selected_table_is_shown_from_its_row_on() -> None:
    assert "service-07" not in screen(replace(view(), row=7))
    assert "service-08" in screen(replace(view(), row=7))
    assert "logs-b\n" in screen(replace(view(), table=4))


def test_the_titles_of_all_tables_are_seen_cut_where_there_is_no_room() -> None:
    assert " Files furt… (20)  Errors (2)  Dead lette… (1)  Inputs (2)  Blocked to… (1)\n" in screen(view())
    assert " Files furthest behind (20)  Errors (2) " in screen(view(), 119)


def test_the_title_of_the_selected_table_is_always_seen() -> None:
    for number, words in enumerate(["File", "Erro", "Dead", "Inpu", "Bloc"]):
        lines = render(replace(view(), table=number), 40, 24)
        assert [span.text for line in lines for span in line if span.style == "selected" and words in span.text]


@pytest.mark.parametrize(
    ("state", "word"), [("ok", "OK"), ("failing", "FAILING"), ("starting", "STARTING"), ("other", "OTHER")]
)
def test_the_health_is_a_word_and_not_only_a_colour(state: str, word: str) -> None:
    health = {"state": state, "text": "Kafka accepts records."}
    assert f"\n{word} Kafka accepts records.\n" in screen(view(health=health))


def test_what_to_do_is_seen_and_a_text_without_end_leaves_room_for_the_rest() -> None:
    text = "The view slow_requests failed, and lines still land. It is started again. " * 2 + "Correct the query."
    assert "Correct the query." in screen(view(health={"state": "degraded", "text": text}))
    endless = screen(view(health={"state": "failing", "text": text * 50}))
    assert "service-01/app.log" in endless
    assert "Events read" in endless


def test_a_program_that_does_not_answer_is_named_and_the_last_document_has_its_time() -> None:
    text = screen(replace(view(), problem="shipper.sock was left by a shipper that has ended"))
    assert "\nNOT RESPONDING shipper.sock was left by a shipper that has ended" in text
    assert "Shown below: the state at" in " ".join(text.split())
    assert "Files furt" in text
    assert "/data/shipper.sock" in screen(View("/data/shipper.sock", problem="none"))


def test_a_paused_view_says_so() -> None:
    assert "PAUSED" in screen(replace(view(), is_paused=True))
    assert "PAUSED" not in screen(view())


def test_the_help_lists_the_keys() -> None:
    text = screen(replace(view(), has_help=True))
    assert all(line.strip() in text for line in HELP.splitlines()), "nothing is cut"
    for words in ("quit", "pause", "next table", "scroll the table"):
        assert words in text


def test_names_of_files_cannot_control_the_terminal() -> None:
    tables = document()["tables"]
    tables[0]["rows"] = [["/var/log/\x1b]0;owned\x07\u202e日本.log", 1, 1.0]]
    shown = view(tables=tables, name="\x1b[2J", health={"state": "ok\x1b", "text": "\x1b[1m"})
    text = screen(shown) + screen(replace(shown, problem="\x1b[3m"))
    assert "\\x1b]0;owned\\x07\\u202e日本.log" in text
    assert not [character for character in text if ord(character) < 32 and character != "\n"]


def test_of_many_figures_those_that_are_0_are_left_out_first() -> None:
    figures = [{"label": f"Figure {number}", "value": number % 3, "unit": ""} for number in range(30)]
    text = screen(view(figures=figures))
    for number in range(30):
        assert (f"Figure {number} " in text) == (number % 3 > 0 or number < 15), number
    assert "Files furt" in text


def test_many_figures_fill_their_room_and_no_more() -> None:
    figures = [{"label": f"The figure with number {number}", "value": 1_000_000, "unit": ""} for number in range(60)]
    text = screen(view(figures=figures))
    assert text.count("1,000,000") == 10
    assert "Files furt" in text
    assert screen(view(figures=figures), 79, None).count("1,000,000") == 60
