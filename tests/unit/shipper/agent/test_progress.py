import logging
import os
import pty
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TextIO, cast

import pytest

from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.shipper.agent.progress import (
    INTERVAL,
    RATE_WINDOW,
    Progress,
    RunStatus,
    describe,
    duration,
    percent,
)
from log_shipper.shipper.inputs.base import SourceStatus
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.metrics import Metrics
from tests.builders import source_status
from tests.fakes import ManualClock

HALF = RunStatus(done=2**30, left=2**30, files_done=12, files_found=1040, bytes_rate=2**25, events_rate=312_000.4)
HALF_LINE = "50 %  1.0 GiB of 2.0 GiB  312,000 events/s  12 of 1,040 files  0:32 left"


def test_a_line_tells_percent_bytes_events_files_and_time() -> None:
    assert describe(HALF) == HALF_LINE


def test_where_the_total_is_unknown_it_is_left_out_with_all_that_needs_it() -> None:
    assert describe(replace(HALF, left=None)) == "1.0 GiB  312,000 events/s  12 of 1,040 files"


def test_time_is_left_out_before_there_is_a_rate_and_when_nothing_is_left() -> None:
    assert "left" not in describe(replace(HALF, bytes_rate=0.0))
    assert describe(replace(HALF, left=0)).startswith("100 %  1.0 GiB of 1.0 GiB")
    assert "left" not in describe(replace(HALF, left=0))


@pytest.mark.parametrize(("done", "left", "shown"), [(0, 0, 100), (0, 5, 0), (1, 2, 33), (999, 1, 99), (5, 0, 100)])
def test_percent_is_100_only_when_nothing_is_left(done: int, left: int, shown: int) -> None:
    assert percent(done, left) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (61, "1:01"), (3600, "1:00:00"), (360_000, "100:00:00")])
def test_times_are_readable(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


STATUS = source_status(1000)


@dataclass
class Source:
    """What the progress asks the source."""

    now: SourceStatus = STATUS

    def status(self) -> SourceStatus:
        return self.now


def progress_of(handler: TerminalHandler | None, metrics: Metrics, source: Source, clock: ManualClock) -> Progress:
    return Progress(handler, metrics, cast("BatchSources", source), clock)


END = "\x1f"


class Terminal:
    """What a person would have seen, as text with its carriage returns."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self.stream: TextIO = os.fdopen(slave, "w")
        self.handler = TerminalHandler(self.stream)

    def seen(self) -> str:
        """Return the output since the last call. Output to a terminal arrives a moment later."""
        self.stream.write(END)
        self.stream.flush()
        found = ""
        while not found.endswith(END):
            found += os.read(self._master, 65536).decode()
        return found.removesuffix(END)

    def close(self) -> None:
        self.stream.close()
        os.close(self._master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


def screen(text: str) -> list[str]:
    """Return the lines on the screen after all carriage returns, without trailing spaces."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = ""
        for piece in line.split("\r"):
            shown = piece + shown[len(piece) :]
        lines.append(shown.rstrip())
    return lines


@pytest.mark.parametrize("width", [2, 40, len(HALF_LINE)])
def test_a_line_never_fills_a_narrow_terminal(width: int, terminal: Terminal) -> None:
    termios.tcsetwinsize(terminal.stream.fileno(), (24, width))
    terminal.handler.show(HALF_LINE)
    assert terminal.seen() == f"\r{HALF_LINE[: width - 1]}"


def test_it_is_shown_at_a_terminal_and_removed_at_the_end(terminal: Terminal, clock: ManualClock) -> None:
    metrics, source = Metrics(harvesters_started=2), Source()
    progress = progress_of(terminal.handler, metrics, source, clock)
    progress.step()
    assert screen(terminal.seen()) == ["0 %  0 B of 1000 B  0 events/s  0 of 2 files"]
    metrics.bytes_acked, metrics.events_acked = 400, 10
    source.now = replace(source.now, bytes_behind=600, reading=1)
    clock.advance(1.0)
    progress.step()
    drawn = terminal.seen()
    assert screen(drawn) == ["40 %  400 B of 1000 B  10 events/s  1 of 2 files  0:01 left"]
    progress.close()
    assert screen(drawn + terminal.seen()) == [""]


@pytest.mark.parametrize(("reading", "unsettled", "done"), [(0, 0, 5), (1, 0, 4), (0, 1, 4), (2, 1, 2)])
def test_a_file_is_done_when_its_last_byte_is_acknowledged(
    terminal: Terminal, clock: ManualClock, reading: int, unsettled: int, done: int
) -> None:
    source = Source(replace(STATUS, reading=reading, unsettled=unsettled))
    progress_of(terminal.handler, Metrics(harvesters_started=5), source, clock).step()
    assert f"  {done} of 5 files" in screen(terminal.seen())[0]


def test_files_that_wait_for_their_turn_are_counted(terminal: Terminal, clock: ManualClock) -> None:
    source = Source(replace(STATUS, waiting=98, bytes_waiting=2000))
    progress_of(terminal.handler, Metrics(harvesters_started=2, bytes_acked=1000), source, clock).step()
    (line,) = screen(terminal.seen())
    assert line.startswith("25 %  1000 B of 3.9 KiB")
    assert "  0 of 100 files" in line


@pytest.mark.parametrize(("is_known", "shown"), [(False, "500 B  0 events/s"), (True, "33 %  500 B of 1.5 KiB  0 ")])
def test_the_total_is_unknown_while_a_compressed_file_is_read(
    terminal: Terminal, clock: ManualClock, is_known: bool, shown: str
) -> None:
    source = Source(replace(STATUS, is_size_known=is_known))
    progress_of(terminal.handler, Metrics(bytes_acked=500), source, clock).step()
    assert screen(terminal.seen())[0].startswith(shown)


def test_it_is_drawn_no_more_often_than_five_times_a_second(terminal: Terminal, clock: ManualClock) -> None:
    metrics = Metrics()
    progress = progress_of(terminal.handler, metrics, Source(), clock)
    drawings = 0
    for _ in range(100):
        metrics.bytes_acked += 1
        progress.step()
        drawings += terminal.seen().count("\r")
        clock.advance(0.01)
    assert 4 <= drawings <= 1 / INTERVAL + 1


def test_rates_are_those_of_the_last_seconds(terminal: Terminal, clock: ManualClock) -> None:
    metrics = Metrics()
    progress = progress_of(terminal.handler, metrics, Source(), clock)
    metrics.events_acked = 1_000_000
    for _ in range(2 * round(RATE_WINDOW)):
        clock.advance(1.0)
        metrics.events_acked += 7
        progress.step()
    assert "  7 events/s" in screen(terminal.seen())[-1]


def test_a_log_line_is_written_above_it_and_complete(terminal: Terminal) -> None:
    logger = logging.Logger("told")
    logger.addHandler(terminal.handler)
    terminal.handler.show("50 %  a line that is longer than what is logged")
    logger.warning("/var is full")
    assert screen(terminal.seen()) == ["/var is full", "50 %  a line that is longer than what is logged"]
    terminal.handler.show("")
    logger.warning("stopped")
    assert screen(terminal.seen())[-2:] == ["stopped", ""]


def test_a_shorter_line_leaves_nothing_of_a_longer_one(terminal: Terminal) -> None:
    terminal.handler.show("a long line")
    terminal.handler.show("short")
    assert screen(terminal.seen()) == ["short"]


def test_threads_that_log_leave_every_line_whole(terminal: Terminal) -> None:
    logger = logging.Logger("told")
    logger.addHandler(terminal.handler)

    def log(name: str) -> None:
        for number in range(50):
            logger.warning("%s %d", name, number)

    threads = [threading.Thread(target=log, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for number in range(100):
        terminal.handler.show(f"{number} %")
    for thread in threads:
        thread.join()
    terminal.handler.show("")
    expected = [f"{name} {number}" for name in "ab" for number in range(50)]
    assert sorted(screen(terminal.seen())) == sorted([*expected, ""])


def test_a_terminal_that_was_closed_does_not_end_the_run(clock: ManualClock) -> None:
    master, slave = pty.openpty()
    stream = os.fdopen(slave, "w")
    os.close(master)
    progress = progress_of(TerminalHandler(stream), Metrics(), Source(), clock)
    progress.step()
    progress.close()
    with pytest.raises(OSError, match="Input/output error"):
        stream.close()


def test_without_a_terminal_nothing_is_shown(clock: ManualClock) -> None:
    progress = progress_of(None, Metrics(), Source(), clock)
    progress.step()
    progress.close()
