import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.processors.parsing import SyslogProcessorConfig, TimestampConfig
from tests.processing import section


def problems(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        section(text)
    return str(caught.value)


def test_timestamp_needs_a_field_and_layouts() -> None:
    (processor,) = section("- timestamp: {field: t, layouts: ['2006', UNIX]}").processors
    assert processor == TimestampConfig(
        source="t",
        layouts=("2006", "UNIX"),
        target_field="@timestamp",
        timezone="UTC",
        ignore_missing=False,
        ignore_failure=False,
        test=(),
        id="",
    )
    assert "timestamp.layouts: missing" in problems("- timestamp: {field: t}")
    assert "timestamp.field: missing" in problems("- timestamp: {layouts: ['2006']}")
    assert "timestamp.layouts: must not be empty" in problems("- timestamp: {field: t, layouts: []}")


def test_syslog_needs_nothing() -> None:
    (processor,) = section("- syslog: {}").processors
    assert processor == SyslogProcessorConfig(
        source="message",
        format="auto",
        timezone="Local",
        overwrite_keys=True,
        ignore_missing=False,
        ignore_failure=False,
        tag="",
    )


def test_times_that_are_to_fit_are_tried() -> None:
    layouts = "layouts: ['2006-01-02T15:04:05Z', '2006-01-02T15:04:05.999-07:00']"
    section(f"- timestamp: {{field: t, {layouts}, test: ['2019-06-22T16:33:51Z', '2020-08-03T07:10:20.123456+02:00']}}")
    reported = problems(
        f"- timestamp: {{field: t, {layouts}, test: ['2019-06-22T16:33:51Z', '2019-06-22', '2020-02-30T00:00:00Z']}}"
    )
    assert (
        "timestamp.test[1]: '2019-06-22' matches none of the layouts: as '2006-01-02T15:04:05Z': it does not match"
        in reported
    )
    assert (
        "timestamp.test[2]: '2020-02-30T00:00:00Z' matches none of the layouts: as '2006-01-02T15:04:05Z': day is"
        in reported
    )
    assert "test[0]" not in reported


@pytest.mark.parametrize("name", ["timestamp: {field: t, layouts: [UNIX], ", "syslog: {"])
def test_an_unknown_zone_is_reported(name: str) -> None:
    assert "timezone: '-400' is not a time zone" in problems(f"- {name}timezone: '-400'}}")


def test_an_unknown_format_is_reported() -> None:
    assert "syslog.format: 'bsd' must be one of: auto, rfc3164, rfc5424" in problems("- syslog: {format: bsd}")
