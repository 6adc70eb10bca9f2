"""Files that are longer than what is written in them: mapped into memory, or allocated before they are written."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.registry.load import read
from log_shipper.shipper.positions.view import behind
from tests.lab import CHECK_INTERVAL, CLOSE_INACTIVE
from tests.model.user_lab import HOUR, UserLab

REGION = 64 * 1024


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[UserLab]:
    lab = UserLab(tmp_path)
    yield lab
    lab.close()


class Appender:
    """As log4j2's MemoryMappedFileAppender: maps a region, writes to it, maps the next, and truncates at the end."""

    def __init__(self, path: Path, region: int = REGION) -> None:
        self._file = path.open("w+b")
        self._region = region
        self._mapped_to = 0
        self.written = 0
        self._map = self._map_next()

    def _map_next(self) -> mmap.mmap:
        self._mapped_to += self._region
        self._file.truncate(self._mapped_to)
        return mmap.mmap(self._file.fileno(), self._mapped_to)

    def store(self, content: bytes, offset: int | None = None) -> None:
        offset = self.written if offset is None else offset
        while offset + len(content) > self._mapped_to:
            self._map.close()
            self._map = self._map_next()
        self._map[offset : offset + len(content)] = content
        self.written = max(self.written, offset + len(content))

    def close(self) -> None:
        if self._file.closed:
            return
        self._map.close()
        self._file.truncate(self.written)
        self._file.close()


@pytest.fixture
def appender(lab: UserLab) -> Iterator[Appender]:
    appender = Appender(lab.logs / "a.log")
    lab.keep(lab.logs / "a.log")
    yield appender
    appender.close()


def is_open(lab: UserLab) -> bool:
    """Return True if the agent has the file open; the test's own process maps it, too."""
    return bool(lab.crawler.running)


def test_lines_of_a_mapped_file_come_once_and_under_one_id(lab: UserLab, appender: Appender) -> None:
    lab.start()
    expected = []
    for number in range(1500):
        expected.append(f"line {number} {'x' * (number % 97)}")
        appender.store(expected[-1].encode() + b"\n")
        if number % 50 == 0:
            lab.step(seconds=CHECK_INTERVAL)
    lab.wait_until(lambda: len(lab.messages) >= 1500, seconds=CHECK_INTERVAL)
    appender.close()
    lab.calm_down()
    assert lab.messages == expected
    assert len(lab.file_ids) == 1
    lab.stop()
    assert lab.bytes_lost == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le", "utf-16be"])
def test_lines_of_a_mapped_file_come_once_in_each_encoding(lab: UserLab, appender: Appender, encoding: str) -> None:
    lab.options = {"encoding": encoding}
    lab.start()
    for number in range(5):
        appender.store(f"{number} ĀĐ\n".encode(encoding.replace("16", "16-")))
        lab.pass_time(2 * CHECK_INTERVAL)
        assert lab.messages == [f"{before} ĀĐ" for before in range(number + 1)]
    assert len(lab.file_ids) == 1


def test_a_line_of_which_the_end_is_stored_first_comes_whole(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    appender.store(b"end\n", offset=4 + 32)
    for _ in range(3):
        lab.step(seconds=0.001)
    appender.store(b"x" * 32, offset=4)
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.messages == ["one", "x" * 32 + "end"]


@pytest.mark.parametrize("closed_by", ["close.on_state_change.inactive", "start"])
def test_a_mapped_file_that_was_closed_is_read_on_when_it_is_stored_in(
    lab: UserLab, appender: Appender, closed_by: str
) -> None:
    """Its pages are not on disk yet, so this moves no time."""
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    if closed_by == "start":
        lab.stop()
        lab.start()
        lab.pass_time(2 * CHECK_INTERVAL)
    else:
        lab.pass_time(2 * CLOSE_INACTIVE + 400, steps=60)
    assert not is_open(lab)
    appender.store(b"two\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.messages == ["one", "two"]
    assert len(lab.file_ids) == 1


def test_a_restart_resumes_in_a_mapped_file(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    appender.store(b"two\n")
    lab.kill()
    lab.start()
    appender.store(b"three\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert sorted({event.offset: event.message for event in lab.arrived}.items()) == [
        (0, "one"),
        (4, "two"),
        (8, "three"),
    ]
    assert len(lab.file_ids) == 1


def test_nothing_of_it_counts_as_behind_or_lost(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.crawler.status().bytes_behind == 0
    (state,) = lab.saved()
    assert behind(state) == 0
    lab.remove("a.log")
    lab.start()
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.running.metrics.bytes_lost == 0


def fill_queue(lab: UserLab) -> None:
    """Nothing is acknowledged any more, and there is no room for another batch."""
    lab.destination.holding = True
    while lab.running.pipeline.has_room:
        lab.append("b.log", "x\n" * 10_000)
        lab.step(seconds=0.1, wait=0.002)  # it grows until its id is saved, too


def test_space_that_was_allocated_while_the_queue_was_full_is_not_lost_by_a_truncation(
    lab: UserLab, appender: Appender
) -> None:
    lab.queue_events = 1000
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    fill_queue(lab)
    lab.truncate("a.log", 2 * REGION)
    for _ in range(3):
        lab.step(seconds=1)
    assert lab.crawler.status().bytes_behind == (lab.logs / "b.log").stat().st_size
    lab.truncate("a.log")
    lab.destination.holding = False
    lab.pass_time(2 * CHECK_INTERVAL)
    assert (lab.running.metrics.files_truncated, lab.running.metrics.bytes_lost) == (1, 0)


def test_space_of_a_file_that_was_not_read_to_its_end_is_not_lost_when_it_is_deleted(
    lab: UserLab, appender: Appender
) -> None:
    lab.queue_events = 1000
    lab.append("b.log", "x\n")
    lab.start()
    lab.until_messages("x")
    fill_queue(lab)
    os.utime(lab.logs / "a.log")
    lab.destination.holding = False
    lab.stop()
    lab.remove("a.log")
    lab.start()
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.running.metrics.bytes_lost == 0


def test_what_is_stored_in_a_mapped_file_just_before_it_is_deleted_comes(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.pass_time(1.0)
    appender.store(b"two\n")
    lab.remove("a.log")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.messages == ["one", "two"]
    assert not is_open(lab)


def test_what_is_stored_in_a_mapped_file_just_before_it_is_closed_comes(lab: UserLab, appender: Appender) -> None:
    """Its page was written to already: neither of the file's times shows it, unless the kernel has saved that page."""
    lab.options = {"close.on_state_change.inactive": "1m", "prospector.scanner.check_interval": "1h"}
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.pass_time(50)
    appender.store(b"two\n")
    lab.pass_time(60)
    assert lab.messages == ["one", "two"]


def test_of_a_deleted_file_that_is_given_up_the_content_is_lost_and_not_the_space(
    lab: UserLab, appender: Appender
) -> None:
    lab.queue_events = 1000
    lab.options = {"close.reader.after_interval": "1m"}
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    fill_queue(lab)
    appender.store(b"two\n")
    lab.remove("a.log")
    lab.pass_time(2 * CLOSE_INACTIVE)
    assert lab.running.metrics.bytes_lost == len(b"two\n")
    lab.destination.holding = False


def test_a_mapped_file_that_is_deleted_is_let_go(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.remove("a.log")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert not is_open(lab)
    assert lab.running.metrics.bytes_lost == 0


def test_tail_files_begins_behind_the_content_and_not_behind_the_padding(lab: UserLab, appender: Appender) -> None:
    lab.options = {"type": "log", "tail_files": True}
    appender.store(b"old\n")
    lab.start()
    lab.pass_time(CHECK_INTERVAL)
    appender.store(b"new\n")
    os.utime(lab.logs / "a.log")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.messages == ["new"]


def test_once_ends_at_the_end_of_the_content(lab: UserLab, appender: Appender) -> None:
    appender.store(b"one\nhalf a line")
    assert lab.run_once() == {}
    assert lab.messages == ["one", "half a line"]


def test_delete_removes_a_file_of_which_only_padding_is_not_read(lab: UserLab, appender: Appender) -> None:
    lab.options = {"delete.enabled": True, "delete.grace_period": "30m", "close.on_state_change.inactive": "1m"}
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.wait_until(lambda: not (lab.logs / "a.log").exists(), seconds=60)
    appender.store(b"two\n")


def test_delete_leaves_a_file_in_which_data_was_stored_since(lab: UserLab, appender: Appender) -> None:
    lab.options = {"delete.enabled": True, "delete.grace_period": "30m", "close.on_state_change.inactive": "1m"}
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.pass_time(20 * 60)
    appender.store(b"two\n")
    os.utime(lab.logs / "a.log")
    lab.pass_time(20 * 60)
    assert lab.messages == ["one", "two"]
    assert (lab.logs / "a.log").exists()


def test_a_name_by_its_bytes_waits_until_they_are_filled(lab: UserLab, appender: Appender) -> None:
    lab.options = {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64}
    lab.start()
    appender.store(b"one\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.messages == []
    appender.store(b"x" * 63 + b"\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    appender.store(b"last\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    assert lab.messages == ["one", "x" * 63, "last"]
    assert len(lab.file_ids) == 1


def test_where_nuls_end_lines_none_waits(lab: UserLab) -> None:
    lab.options = {"line_terminator": "null_terminator"}
    lab.append("a.log", b"one\0two\0")
    lab.start()
    lab.until_messages("one", "two")


def test_a_mapped_file_is_known_after_a_rotation(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.rotate("a.log", "a.log.1")
    lab.append("a.log", "new\n")
    lab.pass_time(CHECK_INTERVAL)
    appender.store(b"two\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    appender.close()
    lab.pass_time(2 * CHECK_INTERVAL)
    assert sorted(lab.messages) == ["new", "one", "two"]
    assert len(lab.file_ids) == 2
    assert {state.ended for state in read(lab.data / "registry").values()} == {None}


def test_a_clock_that_runs_for_hours_sends_nothing_again(lab: UserLab, appender: Appender) -> None:
    lab.start()
    appender.store(b"one\n")
    lab.until_messages("one")
    lab.pass_time(HOUR, steps=100)
    assert lab.messages == ["one"]


def test_a_message_continues_in_the_next_file_behind_the_padding_of_the_first(lab: UserLab, appender: Appender) -> None:
    lab.options = {"parsers": [{"multiline": {"type": "pattern", "pattern": r"^\s", "match": "after"}}]}
    lab.start()
    appender.store(b"one\n  more\n")
    lab.pass_time(1.0)
    lab.rotate("a.log", "a.log.1")
    lab.append("a.log", "  and more\ntwo\nthree\n")
    lab.pass_time(3.0)
    lab.wait_until(lambda: len(lab.messages) >= 2, seconds=0.0005)
    assert lab.messages == ["one\n  more\n  and more", "two"]
    appender.store(b"four\nfive\n")
    lab.pass_time(2 * CHECK_INTERVAL)
    lab.wait_until(lambda: len(lab.messages) >= 5)
    assert sorted(lab.messages) == sorted(["one\n  more\n  and more", "two", "three", "four", "five"])
