import json
import logging

from log_shipper.runtime.logs.formatters import STATUS_LINE, JsonFormatter


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.getLogger("a.b").makeRecord("a.b", logging.WARNING, "x.py", 1, message, (), None, extra=extra)
    made.created, made.msecs = 1795253400.123, 123.0
    return made


def test_a_line_of_json_has_these_fields_and_no_others() -> None:
    assert json.loads(JsonFormatter().format(record("full"))) == {
        "@timestamp": "2026-11-21T09:30:00.123Z",
        "log.level": "warning",
        "message": "full",
        "ecs.version": "1.6.0",
        "log.logger": "a.b",
    }


def test_it_begins_with_time_level_and_message() -> None:
    line = JsonFormatter().format(record("full"))
    assert line.startswith('{"@timestamp":"2026-11-21T09:30:00.123Z","log.level":"warning","message":"full",')


def test_what_a_call_adds_is_a_field_of_its_own_and_a_status_line_is_not() -> None:
    fields = json.loads(JsonFormatter().format(record("batch", rows_in=3, **{STATUS_LINE: "3 rows"})))
    assert fields["rows_in"] == 3
    assert STATUS_LINE not in fields


def test_names_with_dots_stay_as_they_are() -> None:
    fields = json.loads(JsonFormatter().format(record("it ended", **{"error.stack_trace": "at line 1"})))
    assert fields["error.stack_trace"] == "at line 1"
