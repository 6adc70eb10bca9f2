"""What the keys do."""

import json
from dataclasses import replace

import pytest

from log_shipper.shipper.top.document import parse
from log_shipper.shipper.top.view import View
from tests.status_documents import document

READ = parse(json.dumps(document()).encode())
VIEW = View("shipper.sock", READ)


def after(*keys: str, view: View = VIEW) -> View:
    for key in keys:
        pressed = view.pressed(key)
        assert pressed is not None
        view = pressed
    return view


def test_q_ends_it() -> None:
    assert VIEW.pressed("q") is None
    assert after("?").pressed("q") is None


def test_tables_are_selected_in_a_circle() -> None:
    assert after("tab").table == 1
    assert after("right", "right").table == 2
    assert after("left").table == 4
    assert after("backtab", "tab").table == 0
    assert after("3").table == 2
    assert after("9") == VIEW


def test_a_table_is_scrolled_from_its_first_to_its_last_row() -> None:
    assert after("down", "j").row == 2
    assert after("up").row == 0
    assert after("page down", "down", "page up").row == 1
    assert after("end").row == 19
    assert after("end", "home").row == 0
    assert after("down", "tab").row == 0


@pytest.mark.parametrize("key", ["p", " "])
def test_a_paused_view_keeps_what_it_shows(key: str) -> None:
    newer = replace(READ, now=READ.now + 1)
    paused = after(key)
    assert paused.updated(newer, "").document is READ
    assert after(key, view=paused).updated(newer, "").document is newer


def test_any_key_closes_the_help() -> None:
    helped = after("?")
    assert helped.has_help
    assert after("down", view=helped) == VIEW


def test_without_a_document_no_key_does_harm() -> None:
    empty = View("shipper.sock")
    for key in ("tab", "left", "down", "end", "page down", "1", "", "x"):
        assert empty.pressed(key) == empty
