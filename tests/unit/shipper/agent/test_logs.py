import json
import logging
import os
import re
import resource
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from log_shipper.runtime.logs.files import LocalSyslogHandler, LogFileHandler, RotatingFile
from log_shipper.runtime.logs.folding_handler import FoldingHandler
from log_shipper.runtime.logs.formatters import JsonFormatter, PlainFormatter, TextFormatter
from log_shipper.shipper.agent import logs
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.logs import LogFilesConfig, LoggingConfig
from tests.capabilities import without_capabilities


def test_a_json_line_has_the_names_of_the_common_schema(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="info", format="json"))
    logging.getLogger("log_shipper.shipper.x").warning("%s is full", "/var")
    line = json.loads(capsys.readouterr().err)
    assert (line["log.level"], line["log.logger"], line["message"]) == (
        "warning",
        "log_shipper.shipper.x",
        "/var is full",
    )
    assert line["@timestamp"].endswith("Z")


def test_an_exception_is_one_member_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="info", format="json"))
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("log_shipper.shipper").exception("it ended")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: broken" in json.loads(line)["error.stack_trace"]


def test_a_path_that_is_not_utf_8_can_be_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="info", format="json"))
    logging.getLogger("log_shipper.shipper").warning("%s is gone", "/var/\udcff.log")
    assert json.loads(capsys.readouterr().err)["message"] == "/var/?.log is gone"


def test_text_has_time_level_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="info", format="text"))
    logging.getLogger("log_shipper.shipper").info("started")
    assert capsys.readouterr().err.split("Z ")[1] == "INFO    started\n"


def test_auto_is_json_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert not sys.stderr.isatty()
    logs.set_up(LoggingConfig(level="info", format="auto"))
    logging.getLogger("log_shipper.shipper").info("started")
    assert json.loads(capsys.readouterr().err)["message"] == "started"


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="warning", format="text"))
    logging.getLogger("log_shipper.shipper").info("started")
    assert capsys.readouterr().err == ""


EVIL = "/logs/\x1b]0;owned\x07\n2026-11-23T00:00:00.000Z ERROR   \u202efake.log\x9b2J"


def test_names_of_files_cannot_make_a_terminal_do_anything_or_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="info", format="text"))
    try:
        raise ValueError(EVIL)
    except ValueError:
        logging.getLogger("log_shipper.shipper").exception("new file %s", EVIL)
    first, *stack = capsys.readouterr().err.splitlines()
    assert first.endswith(r"new file /logs/\x1b]0;owned\x07\n2026-11-23T00:00:00.000Z ERROR   \u202efake.log\u009b2J")
    assert stack[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in stack)
    assert not set("\x1b\x07\x9b\u202e") & set("".join(stack))


def test_a_json_line_holds_such_a_name_as_it_is_and_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig(level="info", format="json"))
    logging.getLogger("log_shipper.shipper").info("new file %s", EVIL)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == f"new file {EVIL}"
    assert line.isprintable()


# What some reader of text takes for the end of a line: YAML, Unicode, Python, terminals.
LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter(), PlainFormatter()])
def test_no_character_of_a_message_ends_a_line_for_any_reader(formatter: logging.Formatter) -> None:
    """A log that is read as YAML was a kubeconfig from the first carriage return on."""
    names = {"path": LINE_ENDS, "fields": {LINE_ENDS: LINE_ENDS}}
    record = logging.makeLogRecord({"msg": "a%sb", "args": (f"{LINE_ENDS}current-context: x{LINE_ENDS}",), **names})
    text = formatter.format(record)
    assert "current-context" in text
    assert not set(LINE_ENDS) & set(text)
    assert text.splitlines() == [text]
    assert list(yaml.scan(text))  # one line, whatever YAML makes of it


@pytest.fixture(autouse=True)
def closed_handlers() -> Iterator[None]:
    yield
    for handler in logging.getLogger().handlers[:]:
        if isinstance(handler, FoldingHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()


def to_files(path: Path, form: str = "auto", **options: object) -> None:
    files = LogFilesConfig(path=str(path), **options)  # type: ignore[arg-type]
    logs.set_up(LoggingConfig(level="info", format=form, files=files))  # type: ignore[arg-type]


def test_files_have_json_and_stderr_has_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to_files(tmp_path / "deep" / "logs", name="agent")
    logging.getLogger("log_shipper.shipper").info("started")
    assert json.loads((tmp_path / "deep" / "logs" / "agent.ndjson").read_text())["message"] == "started"
    assert capsys.readouterr().err == ""


def test_files_may_have_text(tmp_path: Path) -> None:
    to_files(tmp_path, "text")
    logging.getLogger("log_shipper.shipper").info("started \udcff")
    assert (tmp_path / "shipper.log").read_text().endswith("INFO    started \\udcff\n")


def test_e_wins_over_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = LoggingConfig(to_files=True, to_syslog=True, files=LogFilesConfig(path=str(tmp_path)))
    logs.set_up(config, to_stderr=True)
    logging.getLogger("log_shipper.shipper").info("started")
    assert capsys.readouterr().err.endswith("INFO    started\n")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_rotated_by_size_and_at_the_start(tmp_path: Path) -> None:
    to_files(tmp_path, "text", rotateeverybytes=1024, keepfiles=2)
    for number in range(5):
        logging.getLogger("log_shipper.shipper").info("%s", f"{number}" * 600)
    to_files(tmp_path, "text", rotateeverybytes=1024, keepfiles=2)
    logging.getLogger("log_shipper.shipper").info("started")
    names = {path.name: path.read_text()[-3] for path in tmp_path.iterdir()}
    assert names == {"shipper.log": "e", "shipper.log.1": "4", "shipper.log.2": "3"}


def test_a_start_may_continue_the_file(tmp_path: Path) -> None:
    for _ in range(2):
        to_files(tmp_path, "text", rotateonstartup=False)
        logging.getLogger("log_shipper.shipper").info("started")
    (file,) = tmp_path.iterdir()
    assert len(file.read_text().splitlines()) == 2


def test_new_files_have_the_permissions_that_were_asked_for(tmp_path: Path) -> None:
    to_files(tmp_path, permissions="0640")
    assert stat.S_IMODE((tmp_path / "shipper.ndjson").stat().st_mode) == 0o640


def test_a_named_pipe_in_the_place_of_the_log_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "shipper.ndjson")
    with pytest.raises(StartError, match=r"shipper\.ndjson: No such device or address. The shipper does not start"):
        to_files(tmp_path)


class Wall:
    def __init__(self, text: str) -> None:
        self.set(text)

    def set(self, text: str) -> None:
        self.now = time.mktime(time.strptime(text, "%Y-%m-%d %H:%M:%S"))

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("interval", "same", "next_one"),
    [
        (60.0, "2026-11-21 09:30:59", "2026-11-21 09:31:00"),
        (3600.0, "2026-11-21 09:59:59", "2026-11-21 10:00:00"),
        (86400.0, "2026-11-21 23:59:59", "2026-11-22 00:00:00"),
        (7 * 86400.0, "2026-11-22 23:59:59", "2026-11-23 00:00:00"),
        (30 * 86400.0, "2026-11-30 23:59:59", "2026-12-01 00:00:00"),
        (365 * 86400.0, "2026-12-31 23:59:59", "2027-01-01 00:00:00"),
        (7.0, "2026-11-21 09:30:01", "2026-11-21 09:30:08"),
    ],
)
def test_a_file_is_rotated_at_intervals_of_the_local_clock(
    tmp_path: Path, interval: float, same: str, next_one: str
) -> None:
    wall = Wall("2026-11-21 09:30:01")
    handler = LogFileHandler(RotatingFile(tmp_path / "log", interval=interval), wall)
    for text in ("2026-11-21 09:30:01", same, next_one):
        wall.set(text)
        handler.emit(logging.makeLogRecord({"msg": text}))
    handler.close()
    assert (tmp_path / "log").read_text() == f"{next_one}\n"
    assert len((tmp_path / "log.1").read_text().splitlines()) == 2


def test_a_file_of_the_interval_before_is_rotated_although_the_start_does_not(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old\n")
    os.utime(tmp_path / "log", (0, 0))
    handler = LogFileHandler(RotatingFile(tmp_path / "log", interval=3600.0, rotates_on_start=False))
    handler.emit(logging.makeLogRecord({"msg": "new"}))
    handler.close()
    assert ((tmp_path / "log").read_text(), (tmp_path / "log.1").read_text()) == ("new\n", "old\n")


def test_a_directory_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir(mode=0o500)
    with (
        without_capabilities(),
        pytest.raises(StartError, match=r"logging\.files: .*/logs/shipper\.ndjson: Permission"),
    ):
        to_files(tmp_path / "logs")


def test_a_full_disk_loses_lines_and_reports_that_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handler = LogFileHandler(RotatingFile(Path("/dev/full"), rotates_on_start=False))
    for _ in range(3):
        handler.emit(logging.makeLogRecord({"msg": "x"}))
    handler.close()
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot write the log to /dev/full: No space left on device; the program continues" in error


def test_a_line_that_a_full_disk_refused_does_not_come_later(tmp_path: Path) -> None:
    handler = LogFileHandler(RotatingFile(tmp_path / "log"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        handler.emit(logging.makeLogRecord({"msg": "lost"}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    handler.emit(logging.makeLogRecord({"msg": "written"}))
    handler.close()
    assert (tmp_path / "log").read_text() == "written\n"


def test_a_file_that_cannot_be_rotated_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "logs" / "log"
    handler = LogFileHandler(RotatingFile(path, max_bytes=10))
    with without_capabilities():
        path.parent.chmod(0o500)
        for text in ("one of many bytes", "two", "three"):
            handler.emit(logging.makeLogRecord({"msg": text}))
        path.parent.chmod(0o700)
    assert path.read_text().splitlines() == ["one of many bytes", "two", "three"]
    handler.emit(logging.makeLogRecord({"msg": "four"}))
    handler.close()
    assert path.read_text() == "four\n"
    assert (
        capsys.readouterr().err == f"cannot rotate {path}: Permission denied; the file grows until rotation succeeds\n"
    )


def test_a_file_that_is_removed_is_made_again(tmp_path: Path) -> None:
    to_files(tmp_path)
    (tmp_path / "shipper.ndjson").unlink()
    logging.getLogger("log_shipper.shipper").info("started")
    assert "started" in (tmp_path / "shipper.ndjson").read_text()


def test_syslog_gets_the_message_with_its_level(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(tmp_path / "log"))
        handler = LocalSyslogHandler("shipper", str(tmp_path / "log"))
        handler.setFormatter(PlainFormatter())
        handler.emit(logging.makeLogRecord({"msg": "a\nb", "levelno": logging.ERROR, "levelname": "ERROR"}))
        handler.close()
        # 27: the facility daemon (3) times 8, and the severity error (3).
        assert daemon.recv(1000).rstrip(b"\0") == f"<27>shipper[{os.getpid()}]: a\\nb".encode()


def test_a_syslog_daemon_that_ends_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(tmp_path / "log"))
        handler = LocalSyslogHandler("shipper", str(tmp_path / "log"))
    (tmp_path / "log").unlink()
    for _ in range(3):
        handler.emit(logging.makeLogRecord({"msg": "x"}))
    handler.close()
    assert capsys.readouterr().err.count("cannot write the log to syslog") == 1


def test_a_machine_without_syslog_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LocalSyslogHandler("shipper", str(tmp_path / "log"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(tmp_path / "log"))
    with pytest.raises(ConnectionRefusedError):
        LocalSyslogHandler("shipper", str(tmp_path / "log"))


def test_a_syslog_daemon_that_hangs_delays_a_line_by_a_moment_only(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(tmp_path / "log"))
        handler = LocalSyslogHandler("shipper", str(tmp_path / "log"))
        before = time.monotonic()
        while time.monotonic() < before + 0.2:  # until its queue is full, and some more
            handler.emit(logging.makeLogRecord({"msg": "x" * 1000}))
        handler.close()
        assert time.monotonic() < before + 30


def test_why_it_ends_is_logged_where_stderr_is_not_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(LoggingConfig())
    logs.log_end("no room")
    assert capsys.readouterr().err == ""
    to_files(tmp_path, "text")
    logs.log_end("no room")
    assert "CRITICAL the shipper ended: no room" in (tmp_path / "shipper.log").read_text()


def test_a_component_has_its_own_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(logs.COMPONENTS) == set(LoggingConfig.components)
    logs.set_up(LoggingConfig(format="text", level="warning", levels={"source": "debug", "kafka": "info"}))
    names = (
        "log_shipper.shipper.inputs.files.crawler",
        "log_shipper.shipper.output.kafka",
        "librdkafka",
        "log_shipper.shipper.agent.app",
    )
    for name in names:
        logging.getLogger(name).debug("debug of %s", name)
        logging.getLogger(name).info("info of %s", name)
    assert [line.split("Z ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "DEBUG   debug of log_shipper.shipper.inputs.files.crawler",
        "INFO    info of log_shipper.shipper.inputs.files.crawler",
        "INFO    info of librdkafka",
    ]
    logs.set_up(LoggingConfig(format="text"))
    for name in names:
        logging.getLogger(name).debug("%s", name)
    logging.getLogger("librdkafka").error("is silent again")
    assert capsys.readouterr().err == ""


def test_repeated_messages_are_folded_unless_that_is_disabled(capsys: pytest.CaptureFixture[str]) -> None:
    for fold_repeated in (True, False):
        logs.set_up(LoggingConfig(format="text", fold_repeated=fold_repeated))
        for _ in range(3):
            logging.getLogger("log_shipper.shipper").warning("down")
    logs.set_up(LoggingConfig(format="text"))
    err = re.sub(r"in the last \d+ s", "in the last ... s", capsys.readouterr().err)
    assert [line.split("Z ")[1] for line in err.splitlines()] == [
        "WARNING down",
        "WARNING down (repeated 2 times in the last ... s)",
        *["WARNING down"] * 3,
    ]


def test_standard_error_goes_to_the_file_that_is_written_now(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    to_files(tmp_path, "text", redirect_stderr=True, rotateeverybytes=1024, keepfiles=2)
    os.write(2, b"of a library\n")
    logging.getLogger("log_shipper.shipper").info("%s", "x" * 1024)
    os.write(2, b"behind the rotation\n")
    logging.getLogger().handlers[0].close()
    os.write(2, b"as before\n")
    assert (tmp_path / "shipper.log.1").read_text() == "of a library\n"
    assert (tmp_path / "shipper.log").read_text().endswith("xxx\nbehind the rotation\n")
    assert capfd.readouterr().err == "as before\n"


def test_a_full_disk_is_reported_where_standard_error_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    handler = LogFileHandler(RotatingFile(Path("/dev/full"), rotates_on_start=False, takes_stderr=True))
    handler.emit(logging.makeLogRecord({"msg": "x"}))
    handler.close()
    assert "cannot write the log to /dev/full: No space left on device" in capfd.readouterr().err


def test_standard_error_is_as_before_also_if_the_disk_is_full_at_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    handler = LogFileHandler(RotatingFile(Path("/dev/full"), rotates_on_start=False, takes_stderr=True))
    assert handler.stream is not None
    handler.stream.write("not flushed yet")
    with suppress(OSError):
        handler.close()
    os.write(2, b"as before\n")
    assert capfd.readouterr().err == "as before\n"
