"""timestamp: the time of an event from a field."""

from typing import Any

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from tests.fakes import ManualClock
from tests.processing import batch_of, chain_of, records, section

LAYOUTS = "layouts: ['2006-01-02 15:04:05', UNIX]"


def run(options: str, *docs: Doc, metrics: Metrics | None = None, clock: Clock | None = None) -> list[Doc]:
    batch = batch_of(docs, time=0.0)
    chain_of(f"- timestamp: {{{options}}}", metrics, clock)(batch)
    return records(batch)


def test_the_time_of_an_event_is_read_out_of_a_field_that_stays() -> None:
    (record,) = run(f"field: start.time, {LAYOUTS}", {"start": {"time": "2015-03-07 11:06:39"}})
    assert record["@timestamp"] == "2015-03-07T11:06:39.000Z"
    assert record["start"] == {"time": "2015-03-07 11:06:39"}


def test_another_field_can_take_it_and_the_time_of_the_event_stays() -> None:
    (record,) = run(f"field: t, target_field: event.start, {LAYOUTS}", {"t": 1425726399.25})
    assert record["event"] == {"start": "2015-03-07T11:06:39.250Z"}
    assert record["@timestamp"] == "1970-01-01T00:00:00.000Z"


def test_a_zone_holds_for_times_without_one() -> None:
    (record,) = run(f"field: t, timezone: America/Panama, {LAYOUTS}", {"t": "2015-03-07 11:06:39"})
    assert record["@timestamp"] == "2015-03-07T16:06:39.000Z"


def test_a_time_without_a_year_is_of_the_current_one() -> None:
    (record,) = run("field: message, layouts: ['Jan _2 15:04:05']", {"message": "Mar  7 11:06:39"}, clock=ManualClock())
    assert record["@timestamp"] == "2025-03-07T11:06:39.000Z"


def test_the_events_own_time_is_a_time_already() -> None:
    (record,) = run(f"field: '@timestamp', target_field: event.created, {LAYOUTS}", {"message": "x"})
    assert record["event"]["created"] == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    "value", ["never", "", "2015-02-30 00:00:00", "x" * 100_000, None, True, [1], {"a": 1}, 10**30]
)
def test_a_value_that_is_not_a_time_is_reported_in_the_event_which_is_otherwise_unchanged(value: Any) -> None:
    metrics = Metrics()
    (record,) = run(f"field: t, id: mine, {LAYOUTS}", {"t": value, "message": "x"}, metrics=metrics)
    assert record["@timestamp"] == "1970-01-01T00:00:00.000Z"
    assert record["error"]["type"] == "timestamp"
    assert record["error"]["message"].startswith("mine: field t is not a time: ")
    assert len(record["error"]["message"]) < 500
    assert metrics.processor_failures == 1


def test_a_failure_can_be_ignored() -> None:
    (record,) = run(f"field: t, ignore_failure: true, {LAYOUTS}", {"t": "never", "message": "x"})
    assert "error" not in record
    (record,) = run(f"field: t, ignore_failure: true, {LAYOUTS}", {"message": "x"})
    assert "error" not in record


def test_a_missing_field_is_an_error_unless_that_is_ignored() -> None:
    (record,) = run(f"field: t, {LAYOUTS}", {"message": "x"})
    assert record["error"]["message"] == "field t is missing"
    (record,) = run(f"field: t, ignore_missing: true, {LAYOUTS}", {"message": "x"})
    assert "error" not in record
    (record,) = run(f"field: t, ignore_missing: true, {LAYOUTS}", {"t": "never"})
    assert "error" in record


def test_times_that_are_to_fit_are_tried() -> None:
    layouts = "layouts: ['2006-01-02T15:04:05Z', '2006-01-02T15:04:05.999-07:00']"
    section(f"- timestamp: {{field: t, {layouts}, test: ['2019-06-22T16:33:51Z', '2020-08-03T07:10:20.123456+02:00']}}")
    last = "'2020-02-30T00:00:00Z'"
    with pytest.raises(ConfigError) as caught:
        section(f"- timestamp: {{field: t, {layouts}, test: ['2019-06-22T16:33:51Z', '2019-06-22', {last}]}}")
    reported = str(caught.value)
    assert (
        "timestamp.test[1]: '2019-06-22' matches none of the layouts: as '2006-01-02T15:04:05Z': it does not match"
        in reported
    )
    assert (
        "timestamp.test[2]: '2020-02-30T00:00:00Z' matches none of the layouts: as '2006-01-02T15:04:05Z': day is"
        in reported
    )
    assert "test[0]" not in reported
