import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from log_shipper.config.text.timezones import parse_timezone, zone_of


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("UTC", 0),
        ("", 0),
        ("Etc/UTC", 0),
        ("Etc/GMT+2", -2),
        ("America/Panama", -5),
        ("EST", -5),
        ("+0000", 0),
        ("+0430", 4.5),
        ("+03:00", 3),
        ("+00:30", 0.5),
        ("+04", 4),
        ("-03:30", -3.5),
        ("-00:30", -0.5),
        ("-04", -4),
    ],
)
def test_a_zone_is_a_name_or_an_offset(text: str, hours: float) -> None:
    zone = zone_of(text)
    assert zone is not None
    assert zone.utcoffset(datetime(2015, 3, 7)) == timedelta(hours=hours)
    assert parse_timezone(text) == text


def test_a_zone_knows_summer_and_winter() -> None:
    zone = zone_of("Europe/Berlin")
    assert zone is not None
    assert zone.utcoffset(datetime(2025, 7, 1)) == timedelta(hours=2)
    assert zone.utcoffset(datetime(2025, 1, 1)) == timedelta(hours=1)


def test_local_is_whatever_this_machine_is_set_to() -> None:
    assert zone_of("Local") is None


@pytest.mark.parametrize(
    "text",
    [
        "Z",
        "-400",
        "Equatorial/Kundu",
        "America",
        "../etc/passwd",
        "/etc/localtime",
        "+24",
        "+02:60",
        "x" * 5000,
        "+02:",
        "\x00",
        "+\u0660\u0662",
        "local",
    ],
)
def test_what_is_no_zone_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone; write a name such as"):
        parse_timezone(text)


def test_names_are_known_on_a_machine_without_a_database_of_zones() -> None:
    code = (
        "import zoneinfo; zoneinfo.reset_tzpath(()); "
        "from log_shipper.config.text.timezones import zone_of; print(zone_of('Asia/Tokyo'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Asia/Tokyo\n"
