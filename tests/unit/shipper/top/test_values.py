"""Numbers as people read them."""

from datetime import datetime

import pytest

from log_shipper.shipper.top import values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1_234_567, "1,234,567"),
        (0.25, "0.25"),
        (1.5, "1.5"),
        (101.5, "102"),
        (-3, "-3"),
        (1e15, "1e+15"),
    ],
)
def test_a_number(value: float, text: str) -> None:
    assert values.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (999 * 1024, "999 KiB"),
        (1023 * 1024, "1.0 MiB"),
        (987_654_321, "942 MiB"),
        (2**51, "2048 TiB"),
    ],
)
def test_a_size(value: float, text: str) -> None:
    assert values.size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0123, "12 ms"),
        (1.5, "1.5 s"),
        (75.2, "75 s"),
        (99.9, "1m 40s"),
        (600, "10m"),
        (3599, "59m 59s"),
        (7260, "2h 01m"),
        (93_784, "1d 02h"),
    ],
)
def test_a_duration(seconds: float, text: str) -> None:
    assert values.duration(seconds) == text


def test_a_time_has_its_date_where_it_is_another_one() -> None:
    noon = datetime(2026, 11, 24, 12, 0).timestamp()
    assert values.moment(noon - 60, noon) == "11:59:00"
    assert values.moment(noon - 86_400, noon) == "11-23 12:00"
    assert values.moment(1e30, noon) == "-"


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [(None, "bytes", "-"), (True, "number", "True"), (5, "text", "5"), ("a", "bytes", "a"), (2048, "bytes", "2.0 KiB")],
)
def test_a_cell_is_shown_whatever_it_is(value: object, kind: str, text: str) -> None:
    assert values.cell(value, kind, 0) == text


def test_figures_and_rates_have_their_unit() -> None:
    assert values.figure(54_321, "bytes/s") == "53.0 KiB"
    assert values.figure(None, "events") == "-"
    assert (values.rate(54_321, "bytes"), values.rate(99, "events"), values.rate(None, "")) == (
        "53.0 KiB/s",
        "99/s",
        "",
    )
