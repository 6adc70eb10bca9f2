import errno
import gzip
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from log_shipper.config.shipper.model import InputConfig
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.source.crawler import Crawler
from log_shipper.shipper.source.discovery.watch import Watcher
from log_shipper.shipper.source.reading.factory import Input
from log_shipper.shipper.source.reading.harvester import Harvester
from tests.builders import AGENT, Surroundings, input_config, source_context
from tests.descriptors import descriptors_before, open_descriptors
from tests.fakes import ManualClock
from tests.memory_registry import memory_store
from tests.reading_room import entry_of, read_all
from tests.watches import Watches

CHECK_INTERVAL = 10.0


class Around(Surroundings):
    """`beats` counts the calls that show progress."""

    beats = 0

    def beat(self) -> None:
        self.beats += 1


class Desk:
    """A crawler on real files, whose registry saves when the test confirms it."""

    def __init__(self, logs: Path, clock: ManualClock, *, once: bool = False) -> None:
        self.logs = logs
        self.clock = clock
        self.metrics = Metrics()
        self.watches = Watches()
        self.watcher = cast("Watcher", self.watches)
        self.store = memory_store()
        self.registrar = Registrar(self.store, clock=clock.monotonic)
        self.around = Around()
        self.crawler = self.crawler_of(self.input(), once=once)

    def input(self) -> Input:
        return Input(self.config, AGENT, {}, 1000, self.clock, self.registrar.note)

    def crawler_of(self, *inputs: Input, once: bool = False) -> Crawler:
        context = source_context(self.registrar, self.clock, self.metrics, once=once, around=self.around)
        return Crawler(list(inputs), self.watcher, context)

    @property
    def config(self) -> InputConfig:
        return input_config(paths=(f"{self.logs}/*.log",))

    def scan(self) -> None:
        self.clock.advance(CHECK_INTERVAL)
        self.crawler.step()

    def read(self) -> list[str]:
        """The file ids of what can be read now, without acknowledging any of it."""
        return read_by(self.crawler)

    def only(self) -> Harvester:
        (harvester,) = self.crawler.running.values()
        return harvester


def read_by(crawler: Crawler) -> list[str]:
    return [batch.source.file_id for batch in crawler.read(1000)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "a.log").write_text("one\n")
    return tmp_path


@pytest.fixture
def desk(logs: Path, clock: ManualClock) -> Iterator[Desk]:
    desk = Desk(logs, clock)
    yield desk
    desk.crawler.stop()


def test_a_new_file_is_not_read_before_its_id_is_on_disk(desk: Desk) -> None:
    desk.crawler.step()
    file_id = desk.only().state.id
    assert desk.read() == []
    desk.registrar.step()
    assert desk.store.states[file_id].path == f"{desk.logs}/a.log"
    assert desk.read() == [file_id]


def test_one_fsync_serves_all_files_of_a_scan(desk: Desk) -> None:
    for name in "bcd":
        (desk.logs / f"{name}.log").write_text("x\n")
    desk.crawler.step()
    desk.registrar.step()
    assert (len(desk.read()), desk.registrar.saves.fsync.distribution().count) == (4, 1)


def test_a_hint_wakes_the_file_that_it_is_about(desk: Desk) -> None:
    desk.crawler.step()
    desk.registrar.step()
    while desk.read():
        pass
    assert desk.crawler.next_wake(reading=True) > 0
    desk.watches.changed.append(desk.only().key)
    desk.crawler.step()
    assert desk.crawler.next_wake(reading=True) == 0


def test_a_scan_finds_what_no_event_showed(desk: Desk) -> None:
    desk.crawler.step()
    (desk.logs / "b.log").write_text("x\n")
    desk.crawler.step()
    assert len(desk.crawler.running) == 1
    desk.scan()
    assert len(desk.crawler.running) == 2


def test_a_stale_listing_is_renewed_before_its_time(desk: Desk) -> None:
    desk.crawler.step()
    (desk.logs / "b.log").write_text("x\n")
    desk.watches.wants_scan = True
    desk.clock.advance(1)
    desk.crawler.step()
    assert len(desk.crawler.running) == 2
    assert desk.watches.directories == {str(desk.logs)}


def test_inputs_that_come_and_go_without_files_are_no_reason_to_scan_those_that_stay(desk: Desk) -> None:
    """Of a thousand containers several begin and end each second."""
    first = desk.input()
    crawler = desk.crawler_of(first)
    crawler.step()
    (desk.logs / "b.log").write_text("x\n")
    (desk.logs / "c.txt").write_text("x\n")
    texts = replace(input_config(paths=(f"{desk.logs}/*.txt",)), id="texts")
    new = Input(texts, AGENT, {}, 1000, desk.clock, desk.registrar.note)
    crawler.replace_inputs([first, new])
    assert sorted(running.state.path for running in crawler.running.values()) == [
        f"{desk.logs}/a.log",
        f"{desk.logs}/c.txt",
    ]
    crawler.stop()


def test_a_renamed_file_keeps_its_harvester_and_is_noted_under_its_new_path(desk: Desk) -> None:
    desk.crawler.step()
    harvester = desk.only()
    (desk.logs / "a.log").rename(desk.logs / "b.log")
    desk.scan()
    assert desk.only() is harvester
    assert harvester.state.path == f"{desk.logs}/b.log"


@pytest.mark.parametrize("has_room", [True, False])
def test_the_size_of_a_file_is_looked_at_while_nothing_is_read(desk: Desk, *, has_room: bool) -> None:
    desk.crawler.step()
    (desk.logs / "a.log").write_text("longer\n")
    desk.around.has_room = has_room
    desk.crawler.step()
    assert desk.only().size == (4 if has_room else 7)


def test_the_unread_bytes_of_a_truncated_file_are_counted(desk: Desk) -> None:
    desk.crawler.step()
    harvester = desk.only()
    desk.crawler.read_failed(harvester, Truncated(0))
    assert (desk.metrics.files_truncated, desk.metrics.bytes_lost) == (1, 4)
    assert harvester.state.ended == "truncated"
    desk.clock.advance(1)  # long before the next scan would be due
    desk.crawler.step()
    assert desk.only().state.id != harvester.state.id


def test_a_problem_of_a_path_is_logged_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    (desk.logs / "a.log").unlink()
    for _ in range(3):
        desk.scan()
    assert [record.getMessage() for record in caplog.records] == [f"{desk.logs}/*.log: no file matches it"]


def test_with_once_the_end_of_the_file_is_a_cut(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock, once=True)
    desk.crawler.step()
    assert desk.only().state.cuts == (4,)
    assert desk.crawler.status().waiting == 0
    desk.crawler.stop()


def test_its_status_shows_what_is_read_what_waits_and_its_problems(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock, once=True)
    limited = replace(desk.config, compression="auto", harvester_limit=2)
    (logs / "b.log").write_bytes(gzip.compress(b"one\n"))
    (logs / "c.log").write_text("waits\n")
    crawler = desk.crawler_of(Input(limited, AGENT, {}, 1000, clock, desk.registrar.note), once=True)
    crawler.step()
    status = crawler.status()
    assert (status.files_open, status.reading, status.unsettled) == (2, 2, 0)
    assert (status.waiting, status.bytes_waiting) == (1, 6)
    assert (status.is_size_known, status.problems) == (False, {})
    for harvester in crawler.running.values():
        (batch,) = read_all(harvester)
        status = crawler.status()
        assert (status.reading, status.unsettled) == (1, 1)
        batch.resolve()
        break
    crawler.stop()


def test_reading_resumes_at_the_position_of_the_registry(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock)
    (logs / "a.log").write_text("one\ntwo\n")
    status = (logs / "a.log").stat()
    known = FileState("known", f"{logs}/a.log", status.st_dev, status.st_ino, position=4)
    desk.registrar.states[known.id] = known
    desk.registrar.states["other"] = replace(known, id="other", ended="truncated", position=0)
    again = desk.crawler_of(desk.input())
    again.step()
    (harvester,) = again.running.values()
    assert (harvester.state.id, harvester.offset) == ("known", 4)
    again.stop()


def test_a_file_without_new_data_is_not_even_opened(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock)
    status = (logs / "a.log").stat()
    desk.registrar.states["known"] = FileState("known", f"{logs}/a.log", status.st_dev, status.st_ino, position=4)
    again = desk.crawler_of(desk.input())
    again.step()
    assert not again.running
    assert desk.watches.files == {("app", status.st_dev, status.st_ino)}
    with (logs / "a.log").open("a") as file:
        file.write("two\n")
    desk.watches.changed.append(("app", status.st_dev, status.st_ino))
    again.step()
    (harvester,) = again.running.values()
    assert harvester.offset == 4
    again.stop()


# A file that does not hold what was shipped of the one for which it was taken.

LINES = b"".join(b"%05d\n" % number for number in range(500))  # head and tail do not cover it
OTHER = LINES.replace(b"00250", b"other")


def started_again(desk: Desk, known: FileState, *, once: bool = False) -> Crawler:
    desk.registrar.states[known.id] = known
    return desk.crawler_of(desk.input(), once=once)


def disprove(crawler: Crawler) -> Harvester:
    """The only file that is read turns out to be another."""
    (harvester,) = crawler.running.values()
    with pytest.raises(Disproved) as caught:
        harvester.read()
    assert crawler.read_failed(harvester, caught.value) is None
    assert harvester.settled
    return harvester


def test_it_is_read_from_its_start_as_a_new_file(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock)
    (logs / "a.log").write_bytes(LINES)
    known = entry_of(logs / "a.log", len(LINES))
    (logs / "a.log").write_bytes(OTHER)
    again = started_again(desk, known)
    again.step()
    disproved = disprove(again)
    (harvester,) = again.running.values()
    assert (harvester.key, harvester.offset, harvester.is_proven) == (disproved.key, 0, True)
    assert harvester.state.id != known.id
    assert read_by(again) == []  # its id is saved first
    desk.registrar.step()
    assert set(read_by(again)) == {harvester.state.id}
    assert desk.store.states[known.id].ended == "truncated"
    assert desk.metrics.files_truncated == 0
    again.stop()


def test_the_entry_of_a_missing_file_waits_for_the_right_one(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock)
    (logs / "a.log").write_bytes(LINES)
    os.utime(logs / "a.log", (1, 1))
    known = entry_of(logs / "a.log", len(LINES), device=7, inode=7, ended="missing")
    (logs / "a.log").write_bytes(OTHER)
    os.utime(logs / "a.log", (1, 1))
    again = started_again(desk, known)
    again.step()
    disprove(again)
    (harvester,) = again.running.values()
    assert (harvester.state.id != known.id, harvester.offset) == (True, 0)
    (logs / "b.log").write_bytes(LINES)
    os.utime(logs / "b.log", (1, 1))
    clock.advance(CHECK_INTERVAL)
    again.step()
    assert {running.state.id for running in again.running.values()} == {harvester.state.id, known.id}
    again.stop()


def test_a_file_of_an_input_that_was_removed_by_then_is_released(desk: Desk, logs: Path) -> None:
    (logs / "a.log").write_bytes(LINES)
    known = entry_of(logs / "a.log", len(LINES))
    (logs / "a.log").write_bytes(OTHER)
    again = started_again(desk, known)
    again.step()
    (logs / "a.log").unlink()  # it could not be opened again, and is read on
    again.replace_inputs([])
    disprove(again)
    assert again.running == {}


def test_with_once_nothing_is_saved_of_what_is_not_proven(logs: Path, clock: ManualClock) -> None:
    desk = Desk(logs, clock, once=True)
    (logs / "a.log").write_bytes(LINES)
    os.utime(logs / "a.log", (1, 1))
    known = entry_of(logs / "a.log", len(LINES), device=7, inode=7, ended="missing")
    (logs / "a.log").write_bytes(OTHER)
    os.utime(logs / "a.log", (1, 1))
    again = started_again(desk, known, once=True)
    again.step()
    assert known.id not in desk.registrar.states or desk.registrar.states[known.id] == known
    desk.registrar.step()
    disprove(again)
    again.stop()
    desk.registrar.step()
    assert known.id not in desk.store.states


# A read that is refused when the file is opened.


class OnBadDisk(Input):
    """What lies before the position cannot be read."""

    def open(self, *_: object, **__: object) -> Harvester:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("is_known", [True, False])
def test_a_file_whose_start_cannot_be_read_is_logged_once_and_tried_again(
    is_known: bool, desk: Desk, logs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if is_known:
        desk.registrar.states["known"] = entry_of(logs / "a.log", 2, "known")
    (logs / "b.log").write_text("other\n")
    bad = OnBadDisk(input_config(paths=(f"{logs}/a.log",)), AGENT, {}, 1000, desk.clock, desk.registrar.note)
    good = Input(
        replace(input_config(paths=(f"{logs}/b.log",)), id="good"), AGENT, {}, 1000, desk.clock, desk.registrar.note
    )
    crawler = desk.crawler_of(bad, good)
    before = len(descriptors_before())
    for _ in range(3):
        desk.clock.advance(CHECK_INTERVAL)
        crawler.step()
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        f"{logs}/a.log: cannot be read: Input/output error"
    ]
    assert [harvester.state.path for harvester in crawler.running.values()] == [f"{logs}/b.log"]
    assert len(open_descriptors()) <= before + 1

    mended = Input(bad.config, AGENT, {}, 1000, desk.clock, desk.registrar.note)
    crawler.replace_inputs([mended, good])
    desk.clock.advance(CHECK_INTERVAL)
    crawler.step()
    harvester = next(harvester for harvester in crawler.running.values() if harvester.state.path == f"{logs}/a.log")
    assert (harvester.offset, harvester.state.id == "known") == ((2, True) if is_known else (0, False))
    crawler.reached_end(harvester)
    assert crawler.problems.now == {}
    crawler.stop()


def test_a_read_that_is_refused_again_and_again_is_logged_once_until_the_file_was_read(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        desk.scan()
        desk.crawler.read_failed(desk.only(), OSError(errno.EIO, os.strerror(errno.EIO)))
    warning = f"{desk.logs}/a.log: cannot be read at offset 0: Input/output error"
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [warning]
    desk.scan()
    desk.crawler.reached_end(desk.only())
    assert desk.crawler.problems.now == {}


@pytest.mark.parametrize(
    ("seconds", "times"),
    [
        pytest.param(
            0.0, 8, id="the first scan lists it, looks at it, opens it, identifies it in four steps and starts it"
        ),
        pytest.param(300.0, 5, id="a full scan lists it, looks at it, and at what is open"),
    ],
)
def test_a_long_step_makes_progress_from_file_to_file(desk: Desk, seconds: float, times: int) -> None:
    """However many files there are, and however slow their file system is, the watchdog hears of the next one. `times`:
    for each of them, as each look at it may take long."""

    def progress_with(files: int) -> int:
        for number in range(files):
            (desk.logs / f"of-{chr(97 + number)}.log").write_text(f"{number}\n")
        desk.crawler = desk.crawler_of(desk.input())
        for wait in [0.0, seconds] if seconds else [0.0]:
            desk.clock.advance(wait)
            desk.around.beats = 0
            desk.crawler.step()
        return desk.around.beats

    few, many = progress_with(10), progress_with(30)
    assert many - few == 20 * times
