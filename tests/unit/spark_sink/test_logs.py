import io
import json
import logging
import re

from log_shipper.spark_sink import logs
from log_shipper.spark_sink.options.parts import SinkLoggingConfig
from tests.fakes import Terminal

logger = logging.getLogger("log_shipper.spark_sink.x")


def test_at_a_terminal_the_next_line_is_written_over_a_status_and_it_is_cleared_at_the_end() -> None:
    out = Terminal()
    logs.set_up(text=True, out=out)
    logger.info("batch", extra=logs.status("long status"))
    logger.info("batch", extra=logs.status("short"))
    logger.info("done")
    assert out.getvalue() == "\rlong status\rshort      \r     \rspark-sink: done\n\rshort"
    logs.set_up(text=True, out=io.StringIO())
    assert out.getvalue().endswith("\rshort\r     \r")


def test_text_in_a_file_has_a_line_for_each_status() -> None:
    out = io.StringIO()
    logs.set_up(text=True, out=out)
    logger.info("batch", extra=logs.status("status"))
    logger.info("done")
    assert out.getvalue() == "status\nspark-sink: done\n"


def test_what_is_below_the_level_is_not_logged() -> None:
    out = io.StringIO()
    logs.set_up(False, SinkLoggingConfig(level="error"), out)
    logger.info("hello")
    logger.info("batch", extra=logs.status("batch"))
    logger.error("it ended", extra=logs.trace("a long trace"))
    line = json.loads(out.getvalue())
    assert (line["message"], line["error.stack_trace"]) == ("it ended", "a long trace")


def test_what_spark_did_not_log_has_no_trace() -> None:
    out = io.StringIO()
    logs.set_up(text=False, out=out)
    logger.error("it ended", extra=logs.trace(""))
    assert "error.stack_trace" not in json.loads(out.getvalue())


def test_at_a_terminal_the_trace_is_shown_on_demand() -> None:
    quiet, loud = io.StringIO(), io.StringIO()
    for out, config in ((quiet, SinkLoggingConfig()), (loud, SinkLoggingConfig(level="debug"))):
        logs.set_up(True, config, out)
        logger.error("it ended", extra=logs.trace("a long trace"))
    assert quiet.getvalue() == "spark-sink: it ended\n"
    assert loud.getvalue() == "spark-sink: it ended\n  a long trace\n"


def test_what_other_packages_log_is_not_the_sinks() -> None:
    out = io.StringIO()
    logs.set_up(text=False, out=out)
    logging.getLogger("py4j").error("closed")
    assert out.getvalue() == ""


def test_a_component_has_its_own_level() -> None:
    assert set(logs.COMPONENTS) == set(SinkLoggingConfig.components)
    out = io.StringIO()
    logs.set_up(False, SinkLoggingConfig(level="warning", levels={"views": "debug", "kafka": "info"}), out)
    for name in (
        "log_shipper.spark_sink.views.progress",
        "log_shipper.spark_sink.landing.marks",
        "log_shipper.runtime.kafka.renewal",
        "librdkafka",
    ):
        logging.getLogger(name).info(name)
    assert [json.loads(line)["message"] for line in out.getvalue().splitlines()] == [
        "log_shipper.spark_sink.views.progress",
        "log_shipper.runtime.kafka.renewal",
        "librdkafka",
    ]
    logs.set_up(False, out=out)
    logging.getLogger("librdkafka").error("is silent again")
    logging.getLogger("log_shipper.runtime.kafka.renewal").info("renewed")
    assert json.loads(out.getvalue().splitlines()[-1])["message"] == "renewed"


def test_repeated_messages_are_folded_unless_that_is_disabled() -> None:
    folded, whole = io.StringIO(), io.StringIO()
    for out, config in ((folded, SinkLoggingConfig()), (whole, SinkLoggingConfig(fold_repeated=False))):
        logs.set_up(True, config, out)
        for _ in range(3):
            logger.warning("down")
    logs.set_up(True)
    once, repeats = folded.getvalue().splitlines()
    assert once == "spark-sink: down"
    assert re.fullmatch(r"spark-sink: down \(repeated 2 times in the last \d+ s\)", repeats)
    assert len(whole.getvalue().splitlines()) == 3


def test_no_text_from_outside_begins_a_line_of_the_log() -> None:
    out = io.StringIO()
    logs.set_up(text=True, out=out)
    logger.error("it ended: %s", "a\nspark-sink: forged\r\x85\u2028b")
    assert out.getvalue() == "spark-sink: it ended: a\n  spark-sink: forged\\r\\u0085\\u2028b\n"
