import pytest

from log_shipper.config.text.units import (
    parse_duration,
    parse_duration_or_never,
    parse_size,
    readable_bytes,
    readable_duration,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("123", 123),
        ("5b", 5),
        ("1KB", 1000),
        ("1K", 1000),
        ("1KiB", 1024),
        ("1ki", 1024),
        ("10MiB", 10 * 1024**2),
        ("10 mib", 10 * 1024**2),
        ("2GB", 2 * 1000**3),
        ("1TiB", 1024**4),
        ("1.5KiB", 1536),
    ],
)
def test_sizes_count_in_1024_with_an_i_and_in_1000_without(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "-1", "ten", "1XB", "1 2", "MiB", "1e3", "9" * 19, "9" * 400 + ".5MiB", "9" * 5000]
)
def test_what_is_no_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; write bytes as a number, or 10MiB"):
        parse_size(text)


def test_a_large_size_is_exact() -> None:
    assert parse_size("9007199254740993") == 9007199254740993


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("10", 10.0),
        ("2.5", 2.5),
        ("5s", 5.0),
        ("1m30s", 90.0),
        ("100ms", 0.1),
        ("1.5h", 5400.0),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("1h0m1s", 3601.0),
        ("100ns", 1e-7),
    ],
)
def test_durations_are_goes_notation_and_bare_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "5 s", "-1s", "1d", "5s!", "1m30", "ms5", "9" * 400, "9" * 400 + "h"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write 5s, 1m30s, 100ms or 2h"):
        parse_duration(text)


@pytest.mark.parametrize(("text", "seconds"), [("-1", 0.0), (" -1s", 0.0), ("0", 0.0), ("5m", 300.0)])
def test_a_duration_that_may_be_never_takes_minus_one_for_it(text: str, seconds: float) -> None:
    assert parse_duration_or_never(text) == seconds


@pytest.mark.parametrize("text", ["-2", "-1m", ""])
def test_no_other_negative_duration_is_never(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_or_never(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "250ms"), (5, "5s"), (90, "1m30s"), (3600, "1h"), (90_061.5, "25h1m1.5s")]
)
def test_a_duration_is_shown_as_people_write_it(seconds: float, text: str) -> None:
    assert readable_duration(seconds) == text
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (2**20, "1.0 MiB"),
        (2**30, "1.0 GiB"),
        (3 * 2**40, "3.0 TiB"),
        (2**50, "1024.0 TiB"),
    ],
)
def test_bytes_are_written_for_people(count: int, text: str) -> None:
    assert readable_bytes(count) == text
