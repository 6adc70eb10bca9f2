import io
import json

from spark_sink.report import Report


def test_at_a_terminal_the_next_line_is_written_over_a_status() -> None:
    out = io.StringIO()
    report = Report(text=True, out=out)
    report.status("long status")
    report.status("short")
    report.say("done")
    assert out.getvalue() == "long status\rshort      \rspark-sink: done\n"


def test_what_is_below_the_level_is_not_said() -> None:
    out = io.StringIO()
    report = Report(text=False, level="error", out=out)
    report.say("hello")
    report.status("batch")
    report.failure("it ended", "a long trace")
    line = json.loads(out.getvalue())
    assert (line["message"], line["error.stack_trace"]) == ("it ended", "a long trace")


def test_what_spark_did_not_say_has_no_trace() -> None:
    out = io.StringIO()
    Report(text=False, out=out).failure("it ended", "")
    assert "error.stack_trace" not in json.loads(out.getvalue())


def test_at_a_terminal_the_trace_is_shown_on_demand() -> None:
    quiet, loud = io.StringIO(), io.StringIO()
    Report(text=True, out=quiet).failure("it ended", "a long trace")
    Report(text=True, level="debug", out=loud).failure("it ended", "a long trace")
    assert "a long trace" not in quiet.getvalue()
    assert "a long trace" in loud.getvalue()
