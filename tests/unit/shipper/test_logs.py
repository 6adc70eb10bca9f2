import json
import logging
import sys

import pytest

from shipper import logs


def test_a_json_line_has_the_names_of_the_common_schema(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info", "json")
    logging.getLogger("shipper.x").warning("%s is full", "/var")
    line = json.loads(capsys.readouterr().err)
    assert (line["log.level"], line["log.logger"], line["message"]) == ("warning", "shipper.x", "/var is full")
    assert line["@timestamp"].endswith("Z")


def test_an_exception_is_one_member_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info", "json")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("shipper").exception("it ended")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: broken" in json.loads(line)["error.stack_trace"]


def test_a_path_that_is_not_utf_8_can_be_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info", "json")
    logging.getLogger("shipper").warning("%s is gone", "/var/\udcff.log")
    assert json.loads(capsys.readouterr().err)["message"] == "/var/?.log is gone"


def test_text_has_time_level_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info", "text")
    logging.getLogger("shipper").info("started")
    assert capsys.readouterr().err.split("Z ")[1] == "INFO    started\n"


def test_auto_is_json_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert not sys.stderr.isatty()
    logs.set_up("info", "auto")
    logging.getLogger("shipper").info("started")
    assert json.loads(capsys.readouterr().err)["message"] == "started"


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("warning", "text")
    logging.getLogger("shipper").info("started")
    assert capsys.readouterr().err == ""


EVIL = "/logs/\x1b]0;owned\x07\n2026-11-23T00:00:00.000Z ERROR   \u202efake.log\x9b2J"


def test_names_of_files_cannot_make_a_terminal_do_anything_or_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info", "text")
    try:
        raise ValueError(EVIL)
    except ValueError:
        logging.getLogger("shipper").exception("new file %s", EVIL)
    first, *stack = capsys.readouterr().err.splitlines()
    assert first.endswith(r"new file /logs/\x1b]0;owned\x07\n2026-11-23T00:00:00.000Z ERROR   \u202efake.log\u009b2J")
    assert stack[0] == "Traceback (most recent call last):"
    assert not set("\x1b\x07\x9b\u202e") & set("".join(stack))


def test_a_json_line_holds_such_a_name_as_it_is_and_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("info", "json")
    logging.getLogger("shipper").info("new file %s", EVIL)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == f"new file {EVIL}"
    assert line.isprintable()
