from contextlib import suppress
from datetime import UTC, datetime
from itertools import product
from time import process_time
from typing import Any

import pytest

from log_shipper.config.text.layouts import time_reader
from log_shipper.config.text.timezones import zone_of

NOW = 1_763_000_000.0  # November 2025
THEN = "2015-03-07T11:06:39+00:00"


def read(layout: str, value: Any, zone: str = "UTC") -> str:
    return time_reader([layout], zone_of(zone))(value, NOW).isoformat()


def refusal(layout: str, value: Any, zone: str = "UTC") -> str:
    """Why it is no time; empty where it is one."""
    with suppress(ValueError):
        read(layout, value, zone)
        return ""
    with pytest.raises(ValueError, match="as '") as caught:
        read(layout, value, zone)
    return str(caught.value)


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        # Those that Go has names for.
        ("Mon Jan _2 15:04:05 2006", "Sat Mar  7 11:06:39 2015", THEN),
        ("Mon Jan _2 15:04:05 MST 2006", "Sat Mar  7 11:06:39 UTC 2015", THEN),
        ("Mon Jan 02 15:04:05 -0700 2006", "Sat Mar 07 12:06:39 +0100 2015", THEN),
        ("02 Jan 06 15:04 MST", "07 Mar 15 11:06 GMT", "2015-03-07T11:06:00+00:00"),
        ("02 Jan 06 15:04 -0700", "07 Mar 15 11:06 -0030", "2015-03-07T11:36:00+00:00"),
        ("Monday, 02-Jan-06 15:04:05 MST", "Saturday, 07-Mar-15 11:06:39 UTC", THEN),
        ("Mon, 02 Jan 2006 15:04:05 -0700", "Sat, 07 Mar 2015 11:06:39 +0000", THEN),
        ("2006-01-02T15:04:05Z07:00", "2015-03-07T11:06:39Z", THEN),
        ("2006-01-02T15:04:05Z07:00", "2015-03-07T13:06:39+02:00", THEN),
        ("2006-01-02T15:04:05.999999999Z07:00", "2015-03-07T11:06:39.5Z", "2015-03-07T11:06:39.500000+00:00"),
        ("3:04PM", "3:04PM", "2025-01-01T15:04:00+00:00"),
        ("Jan _2 15:04:05", "Mar  7 11:06:39", "2025-03-07T11:06:39+00:00"),
        ("Jan _2 15:04:05.000", "Mar  7 11:06:39.002", "2025-03-07T11:06:39.002000+00:00"),
        # Those of Filebeat's page.
        ("2006-01-02T15:04:05Z", "2019-06-22T16:33:51Z", "2019-06-22T16:33:51+00:00"),
        ("2006-01-02T15:04:05.999Z", "2019-11-18T04:59:51.123Z", "2019-11-18T04:59:51.123000+00:00"),
        ("2006-01-02T15:04:05.999-07:00", "2020-08-03T07:10:20.123456+02:00", "2020-08-03T05:10:20.123456+00:00"),
        # Those of programs that people run.
        ("02/Jan/2006:15:04:05 -0700", "07/Mar/2015:12:06:39 +0100", THEN),
        ("2006/01/02 15:04:05", "2015/03/07 11:06:39", THEN),
        ("2006-01-02 15:04:05,000", "2015-03-07 11:06:39,250", "2015-03-07T11:06:39.250000+00:00"),
        ("060102 15:04:05", "150307 11:06:39", THEN),
        ("1/2/2006 3:04:05 PM", "3/7/2015 11:06:39 AM", THEN),
        ("2006-002", "2024-366", "2024-12-31T00:00:00+00:00"),
        ("2006 __2", "2015  66", "2015-03-07T00:00:00+00:00"),
        # What the pieces take.
        ("2006-01-02 15:04:05", "2015-03-07 11:06:39.123456789123", "2015-03-07T11:06:39.123456+00:00"),
        ("2006-01-02 15:04:05.999", "2015-03-07 11:06:39", THEN),
        ("2006-1-2 15:4:5", "2015-03-07 11:06:39", THEN),
        ("2006-1-2 15:4:5", "2015-3-7 1:6:9", "2015-03-07T01:06:09+00:00"),
        ("January 2 2006", "mARch 7 2015", "2015-03-07T00:00:00+00:00"),
        ("2 Jan 06", "7 MAR 68", "2068-03-07T00:00:00+00:00"),
        ("2 Jan 06", "7 MAR 69", "1969-03-07T00:00:00+00:00"),
        ("2006-01-02 03:04pm", "2015-03-07 12:06am", "2015-03-07T00:06:00+00:00"),
        ("2006-01-02 03:04pm", "2015-03-07 12:06pm", "2015-03-07T12:06:00+00:00"),
        ("2006-01-02  15:04", "2015-03-07 11:06", "2015-03-07T11:06:00+00:00"),
        ("2006-01-02 15:04", "2015-03-07     11:06", "2015-03-07T11:06:00+00:00"),
        ("2006-01-02T15:04:05-07", "2015-03-07T13:06:39+02", THEN),
        ("2006-01-02T15:04:05-07:00:00", "2015-03-07T11:06:49+00:00:10", THEN),
        ("2006-01-02T15:04:05Z070000", "2015-03-07T11:06:49+000010", THEN),
        ("2006-01-02 MST", "2015-03-07 GMT+3", "2015-03-06T21:00:00+00:00"),
        ("2006-01-02 MST", "2015-03-07 -03", "2015-03-07T03:00:00+00:00"),
        ("2006_01_02", "2015_03_07", "2015-03-07T00:00:00+00:00"),
        ("01_2006", "03_2015", "2015-03-01T00:00:00+00:00"),
        ("Janitor 2006", "Janitor 2015", "2015-01-01T00:00:00+00:00"),
        ("0000 2006", "0000 2015", "2015-01-01T00:00:00+00:00"),
        (".*[x](2006)+", ".*[x](2015)+", "2015-01-01T00:00:00+00:00"),
        ("2006 [x] 01", "2015 [x] 03", "2015-03-01T00:00:00+00:00"),
        ("01/02 15:04", "03/07 11:06", "2025-03-07T11:06:00+00:00"),
        ("2006", "0000", "2025-01-01T00:00:00+00:00"),
        ("2006-01-02", "9999-12-31", "9999-12-31T00:00:00+00:00"),
    ],
)
def test_go_layouts(layout: str, text: str, expected: str) -> None:
    assert read(layout, text) == expected


NO_DATES = ["2015-3-07", "2015-03-07 ", "x2015-03-07", "", "2015-13-07", "2015-02-30", "2015-00-07", "99999-03-07"]
ODD_YEARS = ["-001-03-07", "\u0662\u0660\u0661\u0665-03-07"]
NO_TIMES = ["24:00:00", "23:60:00", "23:59:60", "1\u0661:00:00"]


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        *(("2006-01-02", text) for text in (*NO_DATES, *ODD_YEARS)),
        *(("15:04:05", text) for text in NO_TIMES),
        *(("15:04:05.000", text) for text in ("11:06:39.12", "11:06:39.1234")),
        *(("3:04PM", text) for text in ("13:04PM", "3:04pm")),
        ("2006-01-02T15:04:05Z", "2015-03-07T11:06:39"),
        ("2006 MST", "2015 mst"),
        ("2006 MST", "2015 ABCDEF"),
        ("2006-01-02T15:04:05-0700", "2015-03-07T13:06:39Z"),
        ("2006-01-02T15:04:05-07:00", "2015-03-07T11:06:39+25:00"),
        ("2006-01-02T15:04:05-07:00", "0001-01-01T00:00:00+02:00"),
        ("2006-002", "2015-366"),
        ("2006-002", "2015-000"),
        ("2006-01-89T15:04:05Z07:00", "2015-03-07T11:06:39Z"),
        ("2006-01-02 15:04", "2015-03-0711:06"),
        ("Jan _2 15:04:05", "Feb 29 11:06:39"),
        ("Mon Jan 2", "Xyz Mar 7"),
        ("MSTX 2006", "ABCX 2015"),
    ],
)
def test_what_does_not_fit_a_layout_is_refused(layout: str, text: str) -> None:
    with pytest.raises(ValueError, match="as '"):
        read(layout, text)


@pytest.mark.parametrize(
    ("layout", "value", "expected"),
    [
        ("UNIX", 1425726399, THEN),
        ("UNIX", 1425726399.0, THEN),
        ("UNIX", "1425726399", THEN),
        ("UNIX", "1425726399.0", THEN),
        ("UNIX", "+1425726399", THEN),
        ("UNIX", "1.425726399e9", THEN),
        ("UNIX", 1525783800.123, "2018-05-08T12:50:00.123000+00:00"),
        ("UNIX", 1.001, "1970-01-01T00:00:01.001000+00:00"),
        ("UNIX", -1, "1969-12-31T23:59:59+00:00"),
        ("UNIX", 0, "1970-01-01T00:00:00+00:00"),
        ("UNIX", "-.5", "1969-12-31T23:59:59.500000+00:00"),
        ("UNIX_MS", 1425726399000, THEN),
        ("UNIX_MS", 1425726399000.0, THEN),
        ("UNIX_MS", "1425726399000", THEN),
        ("UNIX_MS", "1425726399000.0", THEN),
        ("UNIX_MS", 1425726399001, "2015-03-07T11:06:39.001000+00:00"),
        ("UNIX", 253402300799, "9999-12-31T23:59:59+00:00"),
    ],
)
def test_numbers_since_1970(layout: str, value: Any, expected: str) -> None:
    assert read(layout, value) == expected


NO_NUMBERS = ["", "x", "1_000", " 1", "1 ", "0x10", "nan", "inf", "\u0661", "1" * 20 + "x", True, None, [1], {}, b"1"]
TOO_LARGE = ["1e999", "9" * 5000, 10**30, -(10**30), 10**400, 1e300, 253402300800 * 10**6]


def test_what_is_not_the_number_of_a_time_is_refused(subtests: pytest.Subtests) -> None:
    values, why = (*NO_NUMBERS, *TOO_LARGE, float("nan"), float("inf")), "not a number|outside the years"
    for layout, value in product(("UNIX", "UNIX_MS"), values):
        with subtests.test(f"{layout}: {value!r:.50}"), pytest.raises(ValueError, match=why):
            read(layout, value)


@pytest.mark.parametrize("value", [1, 1.5, None, True, b"2015", ["2015"], {"2015": 1}])
def test_only_text_fits_a_layout_of_text(value: Any) -> None:
    with pytest.raises(ValueError, match="it is not a string"):
        read("2006", value)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("America/Panama", "2015-03-07T16:06:39+00:00"),
        ("+0430", "2015-03-07T06:36:39+00:00"),
        ("Europe/Berlin", "2015-03-07T10:06:39+00:00"),
        ("UTC", THEN),
    ],
)
def test_a_time_without_a_zone_is_of_the_one_that_was_set(zone: str, expected: str) -> None:
    assert read("2006-01-02 15:04:05", "2015-03-07 11:06:39", zone) == expected
    assert read("2006-01-02 15:04:05Z07:00", "2015-03-07 11:06:39Z", zone) == THEN


def test_a_short_name_means_what_the_zone_that_was_set_means_by_it() -> None:
    assert read("2006-01-02 15:04 MST", "2015-07-07 11:06 CEST", "Europe/Berlin") == "2015-07-07T09:06:00+00:00"
    assert read("2006-01-02 15:04 MST", "2015-03-07 11:06 MSK", "Europe/Moscow") == "2015-03-07T08:06:00+00:00"


@pytest.mark.parametrize("zone", ["America/New_York", "America/Toronto"])
def test_a_short_name_of_another_time_of_the_year_keeps_its_meaning(zone: str) -> None:
    assert read("2006-01-02 15:04 MST", "2015-06-07 20:22 EST", zone) == "2015-06-08T01:22:00+00:00"
    assert read("2006-01-02 15:04 MST", "2015-12-31 20:22 EDT", zone) == "2016-01-01T00:22:00+00:00"


@pytest.mark.parametrize(
    ("name", "zone"), [("MSK", "UTC"), ("CEST", "UTC"), ("EST", "Europe/Berlin"), ("XYZ", "Local")]
)
def test_a_short_name_that_the_zone_does_not_use_is_refused(name: str, zone: str) -> None:
    assert f"{name} is not an abbreviation of the configured time zone" in refusal(
        "2006-01-02 MST", f"2015-03-07 {name}", zone
    )


def test_the_hour_that_comes_twice_is_reported_apart_by_its_short_name() -> None:
    assert read("2006-01-02 15:04 MST", "2025-10-26 02:30 CEST", "Europe/Berlin") == "2025-10-26T00:30:00+00:00"
    assert read("2006-01-02 15:04 MST", "2025-10-26 02:30 CET", "Europe/Berlin") == "2025-10-26T01:30:00+00:00"


def test_local_times_are_of_this_machine() -> None:
    expected = datetime(2015, 3, 7, 11, 6, 39).astimezone(UTC).isoformat()
    assert read("2006-01-02 15:04:05", "2015-03-07 11:06:39", "Local") == expected


@pytest.mark.parametrize("zone", ["Local", "Pacific/Kiritimati", "America/Adak"])
@pytest.mark.parametrize("text", ["0001-01-01 00:00:00", "9999-12-31 23:59:59"])
def test_the_ends_of_the_calendar_raise_nothing_else(zone: str, text: str) -> None:
    why = refusal("2006-01-02 15:04:05", text, zone)
    assert why == "" or "outside the years" in why or "out of range" in why


def test_layouts_are_tried_in_order_and_all_of_them_are_reported() -> None:
    reader = time_reader(["2006-01-02", "UNIX", "2006-02-01"], UTC)
    assert reader("2015-03-07", NOW).month == 3
    assert reader("0", NOW).year == 1970
    with pytest.raises(
        ValueError, match="as '2006-01-02': it does not match the layout; as 'UNIX': it is not a number; as"
    ):
        reader("never", NOW)


@pytest.mark.parametrize("layout", ["2006-01-02 15:04:05", "Jan 2 2006 MST", "1 2 3 4 5 2006", "UNIX", "15:04:05.999"])
@pytest.mark.parametrize(
    "text", ["1" * 1_000_000, " " * 1_000_000, "1 " * 500_000, "11:06:39." + "1" * 1_000_000 + "x"]
)
def test_hostile_texts_take_no_time(layout: str, text: str) -> None:
    began = process_time()
    assert len(refusal(layout, text)) < 200
    assert process_time() - began < 1


def test_a_time_without_a_year_moves_with_the_clock() -> None:
    reader = time_reader(["Jan _2 15:04:05"], UTC)
    new_year = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert reader("Mar  7 11:06:39", new_year - 1).year == 2025
    assert reader("Mar  7 11:06:39", new_year).year == 2026
