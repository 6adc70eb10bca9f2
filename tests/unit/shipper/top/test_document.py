"""A document of another release is shown as far as it is understood."""

import json

import pytest

from log_shipper.shipper.top.document import parse
from log_shipper.shipper.top.frame import render
from log_shipper.shipper.top.view import View
from tests.status_documents import document


def test_a_document_is_read() -> None:
    read = parse(json.dumps(document()).encode())
    assert (read.program, read.name, read.state) == ("shipper", "web-1", "degraded")
    assert read.figures[0].rate == 101.5
    assert read.charts[0].series[0].values[:2] == [None, 100.0]
    assert read.tables[0].rows[0] == ["/var/log/service-01/app.log", 4_000_000, 75.2]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"health": "ok"}', b"\xff", b"<html>"])
def test_what_is_no_such_document_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # json's and ours
        parse(body)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e300", "-1e300", "1e-300", f"1{'0' * 400}"])
def test_a_number_that_no_program_has_is_shown_as_unknown_or_as_the_last_possible_one(number: str) -> None:
    whole = document()
    whole["started"] = whole["now"] = "NUMBER"
    whole["figures"][0] |= {"value": "NUMBER", "rate": "NUMBER"}
    whole["charts"][0]["step_seconds"] = whole["charts"][1]["until"] = "NUMBER"
    whole["charts"][0]["series"][0]["values"][-1] = "NUMBER"
    for table in whole["tables"]:
        table["rows"] += [["NUMBER"] * len(table["columns"])]
    read = parse(json.dumps(whole).replace('"NUMBER"', number).encode())
    for height in (None, 60):
        assert render(View("asked", read), 120, height)


def test_what_is_missing_is_empty_and_what_is_of_another_type_is_left_out() -> None:
    strange = {
        "health": {"state": 1},
        "figures": [1, {"label": "A", "value": "x"}],
        "charts": [{"title": "C", "step_seconds": 0, "series": [{"values": ["x", 1, True]}, 2]}, {"series": 1}],
        "tables": [{"columns": [{"label": "A"}, {"label": "B"}], "rows": [[1], 2, [1, 2, 3]]}],
        "added": {"by": "a later release"},
    }
    read = parse(json.dumps(strange).encode())
    assert (read.program, read.state, read.started) == ("", "", 0.0)
    assert [(figure.label, figure.value) for figure in read.figures] == [("A", None)]
    assert list(read.charts[0].series[0].values) == [None, 1, None]
    assert list(read.tables[0].rows) == [[1, None], [1, 2]]
