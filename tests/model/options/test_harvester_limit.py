"""Files that wait for others to be closed."""

import gzip
import os

import pytest

from tests.model.user_lab import UserLab


def test_a_waiting_file_starts_as_soon_as_a_place_is_free_not_at_the_next_scan(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 2, "prospector.scanner.check_interval": "24h"}
    for number in range(20):
        lab.append(f"{number:02}.log", f"{number}\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 20, seconds=0.001)
    assert len(lab.crawler.running) <= 2


def test_a_copytruncate_while_down_repeats_nothing_although_only_one_file_may_be_open(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    for name in "ab":
        lab.append(f"{name}.log", f"{name}\n" * 100)
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 200)
    lab.stop()
    for name in "ab":  # both copies are older than what is written after the truncation, and opened first
        lab.append(f"{name}.log.1", (lab.logs / f"{name}.log").read_bytes())
    for name in "ab":
        lab.truncate(f"{name}.log")
        lab.append(f"{name}.log", "new\n")
    lab.start()
    lab.pass_time(600)
    assert lab.messages[200:] == ["new", "new"]


def test_nor_does_one_while_its_file_waits_and_is_renamed_then(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    for name in "ab":
        lab.append(f"{name}.log", f"{name}\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 2)
    lab.pass_time(600)
    for name in "ab":
        lab.copytruncate(f"{name}.log", f"{name}.log.1")
        lab.append(f"{name}.log", "new\n")
        lab.rotate(f"{name}.log", to=f"{name}.log-old")
    lab.pass_time(600)
    assert lab.messages[2:] == ["new", "new"]


def test_nor_after_its_file_had_been_moved_away(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.ship("a.log", "one")
    lab.pass_time(600)
    lab.rotate("a.log", to="elsewhere")
    lab.pass_time(60)
    lab.rotate("elsewhere", to="a.log")
    lab.copytruncate("a.log", "a.log.1")
    lab.append("a.log", "new\n")
    lab.pass_time(600)
    assert lab.messages == ["one", "new"]


def expect_a_late_line_of(lab: UserLab, name: str) -> None:
    """Expect that a line comes which is added, while its successor waits, to the log that was just moved to `name`."""
    lab.append("a.log", "new\n")
    lab.pass_time(2)
    lab.append(name, "late\n")
    lab.pass_time(60)
    assert lab.messages == ["one", "late", "new"]


def test_what_a_program_writes_to_its_old_log_is_shipped_although_the_new_one_waits(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.paths = (f"{lab.logs}/a.log",)
    lab.ship("a.log", "one")
    lab.rotate("a.log", to="a.log.1")
    expect_a_late_line_of(lab, "a.log.1")


def test_so_it_is_if_that_was_renamed_within_the_paths_before_it_left_them(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.ship("a.log", "one")
    lab.rotate("a.log", to="a.log.1")
    lab.pass_time(60)
    lab.rotate("a.log.1", to="elsewhere")
    expect_a_late_line_of(lab, "elsewhere")


def test_so_it_is_if_that_left_the_paths_a_second_time(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.paths = (f"{lab.logs}/a.log",)
    lab.ship("a.log", "one")
    lab.rotate("a.log", to="a.log.1")
    lab.pass_time(70)
    lab.rotate("a.log.1", to="a.log")
    lab.pass_time(70)
    lab.rotate("a.log", to="a.log.1")
    expect_a_late_line_of(lab, "a.log.1")


@pytest.fixture
def busy(lab: UserLab) -> UserLab:
    """Only one file may be open, and cannot be closed because its last line is not acknowledged."""
    lab.options = {"harvester_limit": 1, "compression": "auto"}
    lab.ship("a.log", "one")
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.pass_time(60)
    lab.append("b.log.1", "waits\n")
    lab.pass_time(60)
    assert lab.crawler.status().waiting == 1
    return lab


def test_a_file_that_is_deleted_while_it_waits_is_logged_and_counted(
    busy: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    busy.remove("b.log.1")
    busy.pass_time(60)
    assert busy.running.metrics.bytes_lost == len("waits\n")
    assert "b.log.1 disappeared before it could be opened" in caplog.text


@pytest.mark.parametrize("name", ["b.log.1.7.gz", "other.log"])
def test_so_is_one_although_an_older_file_has_a_longer_name_or_its_time(lab: UserLab, name: str) -> None:
    lab.options = {"harvester_limit": 1, "compression": "auto"}
    lab.ship("a.log", "one")
    lab.append(name, gzip.compress(b"old\n") if name.endswith(".gz") else "old\n")
    lab.date(name, ago=0 if name == "other.log" else 60)
    lab.pass_time(60)
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.pass_time(60)
    lab.append("b.log.1", "waits\n")
    time = (lab.logs / "other.log").stat().st_mtime if name == "other.log" else lab.clock.time()
    os.utime(lab.logs / "b.log.1", (time, time))
    lab.pass_time(60)
    assert lab.crawler.status().waiting == 1
    lab.remove("b.log.1")
    lab.pass_time(60)
    assert lab.running.metrics.bytes_lost == len("waits\n")


def test_nor_one_whose_compression_lasts_longer_than_a_scan(busy: UserLab) -> None:
    packed = gzip.compress(b"waits\n")
    busy.append("b.log.1.gz", packed[:10])
    busy.pass_time(60)
    busy.append("b.log.1.gz", packed[10:])
    before = (busy.logs / "b.log.1").stat()
    os.utime(busy.logs / "b.log.1.gz", ns=(before.st_atime_ns, before.st_mtime_ns))
    busy.remove("b.log.1")
    busy.pass_time(60)
    assert busy.running.metrics.bytes_lost == 0


def test_so_is_one_that_is_truncated_while_it_waits(busy: UserLab, caplog: pytest.LogCaptureFixture) -> None:
    busy.truncate("b.log.1")
    busy.append("b.log.1", "new\n")
    busy.pass_time(600)
    assert busy.running.metrics.bytes_lost == len("waits\n")
    assert "b.log.1 was truncated" in caplog.text
    busy.destination.holding = False
    busy.pass_time(600)
    assert busy.messages == ["one", "two", "new"]
    assert busy.running.metrics.bytes_lost == len("waits\n")


def test_one_that_is_copied_and_truncated_while_it_waits_is_not_lost(busy: UserLab) -> None:
    busy.copytruncate("b.log.1", "b.log.2")
    busy.append("b.log.1", "new\n")
    busy.pass_time(600)
    busy.destination.holding = False
    busy.pass_time(600)
    assert sorted(busy.messages) == ["new", "one", "two", "waits"]
    assert busy.running.metrics.bytes_lost == 0


def test_what_was_read_of_a_file_is_not_lost_when_it_is_truncated_and_then_waits(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.ship("a.log", "long and read")
    lab.destination.holding = True
    lab.truncate("a.log")
    lab.append("b.log", "b\n")
    lab.date("b.log", ago=60)
    lab.append("a.log", "a\n")
    lab.pass_time(60)
    assert lab.crawler.status().waiting == 1
    lab.pass_time(600)
    lab.destination.holding = False
    lab.pass_time(600)
    assert lab.messages == ["long and read", "b", "a"]
    assert lab.running.metrics.bytes_lost == 0


@pytest.mark.parametrize("name", ["b.log.1.gz", "b.log.2.gz"])
def test_one_that_is_compressed_while_it_waits_is_not_lost(busy: UserLab, name: str) -> None:
    before = (busy.logs / "b.log.1").stat()
    busy.append(name, gzip.compress(b"waits\n"))
    os.utime(busy.logs / name, ns=(before.st_atime_ns, before.st_mtime_ns))
    busy.remove("b.log.1")
    busy.pass_time(60)
    busy.rotate(name, to=f"renamed-{name}.log")
    busy.pass_time(60)
    busy.destination.holding = False
    busy.pass_time(600)
    assert busy.messages == ["one", "two", "waits"]
    assert busy.running.metrics.bytes_lost == 0


def test_what_was_added_to_a_known_file_is_counted_when_it_is_deleted_while_it_waits(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.append("b.log", "b\n")
    lab.start()
    lab.until_messages("b")
    lab.pass_time(600)
    lab.append("a.log", "a\n")
    lab.pass_time(60)
    lab.destination.holding = True
    lab.append("a.log", "more\n")
    lab.pass_time(60)
    lab.append("b.log", "waits\n")
    lab.pass_time(60)
    assert lab.crawler.status().waiting == 1
    lab.remove("b.log")
    lab.pass_time(60)
    assert lab.running.metrics.bytes_lost == len("waits\n")


@pytest.mark.parametrize("is_known", [False, True])
def test_so_is_what_is_deleted_between_its_listing_and_its_opening(lab: UserLab, is_known: bool) -> None:
    lab.options = {"harvester_limit": 1}
    lab.append("b.log", "b\n" if is_known else "")
    lab.append("a.log", "a\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 1 + is_known)
    lab.pass_time(600)
    if not is_known:
        lab.remove("b.log")
    lab.destination.holding = True
    lab.append("a.log", "more\n")
    lab.pass_time(60)
    lab.append("b.log", "waits\n")
    lab.pass_time(60)
    lab.append("c.log", "c\n")  # the scan that finds it looks for deletions, and the next one not before a second
    for _ in range(10):
        lab.step(seconds=0.01, wait=0.002)
    assert lab.crawler.status().waiting == 2
    lab.remove("b.log")
    lab.destination.holding = False
    for _ in range(20):
        lab.step(seconds=0.01, wait=0.002)
    assert "c" in lab.messages
    lab.pass_time(60)
    assert lab.running.metrics.bytes_lost == len("waits\n")
