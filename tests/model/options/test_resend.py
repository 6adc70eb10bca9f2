"""`resend_on_touch`: which files are sent again."""

import os
from pathlib import Path

import pytest

from log_shipper.registry.load import read
from log_shipper.shipper.inputs.files.lifecycle.transitions import FileEvent, next_state
from tests.model.user_lab import UserLab, pack

RESEND = {"prospector.scanner.resend_on_touch": True}
FINGERPRINT = {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64}
HEAD = "h" * 63


def touch(path: Path, later: float = 60.0) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + int(later * 1e9)))


def expect(lab: UserLab, *expected: str) -> None:
    """Let time pass until these messages have arrived, and then some more: no others come."""
    lab.wait_until(lambda: len(lab.messages) >= len(expected), seconds=1)
    lab.pass_time(60)
    assert lab.messages == list(expected)


@pytest.fixture
def resending(lab: UserLab) -> UserLab:
    lab.options = dict(RESEND)
    return lab


@pytest.mark.parametrize("inactive", ["1m", "1h"])
def test_a_touched_file_is_sent_again_under_a_new_id_once_for_each_touch_whether_it_is_open_or_closed(
    resending: UserLab, inactive: str
) -> None:
    resending.options["close.on_state_change.inactive"] = inactive
    resending.ship("a.log", "one", "two")
    resending.pass_time(600)
    assert resending.is_open("a.log") is (inactive == "1h")
    for times in (2, 3):
        touch(resending.logs / "a.log")
        expect(resending, *(["one", "two"] * times))
        assert len(resending.file_ids) == times
    assert resending.running.metrics.files_resent == 2
    resending.append("a.log", "three\n")
    expect(resending, *(["one", "two"] * 3 + ["three"]))


def test_a_time_that_the_registry_cannot_hold_is_no_touch_at_the_next_start(resending: UserLab) -> None:
    resending.append("a.log", "one\n")
    os.utime(resending.logs / "a.log", ns=(0, 2**63 + 10**9))  # in the year 2262
    resending.start()
    expect(resending, "one")
    resending.stop()
    resending.start()
    expect(resending, "one")


def test_without_the_option_a_touch_does_nothing(lab: UserLab) -> None:
    lab.ship("a.log", "one")
    touch(lab.logs / "a.log")
    lab.pass_time(600)
    lab.stop()
    touch(lab.logs / "a.log")
    lab.start()
    lab.pass_time(600)
    assert lab.messages == ["one"]


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_file_that_was_touched_while_the_agent_was_down_is_sent_again(resending: UserLab, ends: str) -> None:
    resending.ship("a.log", "one")
    resending.wait_until(lambda: any(state.position for state in read(resending.data / "registry").values()))
    getattr(resending, ends)()
    touch(resending.logs / "a.log")
    resending.start()
    resending.until_messages("one", "one")
    resending.pass_time(600)
    resending.stop()
    resending.start()
    expect(resending, "one", "one")
    assert len(resending.file_ids) == 2


def test_a_touch_just_before_a_stop_is_noticed_by_the_next_process(resending: UserLab) -> None:
    resending.ship("a.log", "one")
    resending.pass_time(30)
    touch(resending.logs / "a.log")
    resending.stop()
    resending.start()
    resending.until_messages("one", "one")


def test_a_file_that_is_touched_just_before_it_would_be_closed_is_sent_again(resending: UserLab) -> None:
    resending.options |= {"prospector.scanner.check_interval": "10m", "close.on_state_change.inactive": "1m"}
    resending.ship("a.log", "one")
    resending.pass_time(30)
    touch(resending.logs / "a.log")
    expect(resending, "one", "one")


def test_with_once_too(resending: UserLab) -> None:
    resending.append("a.log", "one\n")
    resending.run_once()
    resending.run_once()
    assert resending.messages == ["one"]
    touch(resending.logs / "a.log")
    resending.run_once()
    assert resending.messages == ["one", "one"]


def test_a_touched_file_logs_that_it_is_sent_again_and_counts_nothing_as_lost(
    resending: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    resending.ship("a.log", "one")
    resending.pass_time(30)
    (file_id,) = resending.file_ids
    touch(resending.logs / "a.log")
    expect(resending, "one", "one")
    (line,) = [line for line in caplog.messages if "resend_on_touch" in line]
    assert line.startswith(f"{resending.logs}/a.log (file id {file_id}) was touched")
    assert resending.running.metrics.bytes_lost == 0


def test_an_earlier_time_or_another_size_is_no_touch(resending: UserLab) -> None:
    resending.ship("a.log", "one")
    resending.pass_time(30)
    touch(resending.logs / "a.log", later=-60)
    resending.pass_time(30)
    resending.append("a.log", "two\n")
    touch(resending.logs / "a.log", later=120)
    expect(resending, "one", "two")


@pytest.mark.parametrize("inactive", ["1m", "1h"])
def test_a_file_whose_time_is_less_than_a_second_old_is_decided_about_later(resending: UserLab, inactive: str) -> None:
    """A write changes the time just before the size."""
    resending.options["close.on_state_change.inactive"] = inactive
    resending.append("a.log", "one\n")
    resending.date("a.log", ago=1000)
    resending.start()
    resending.until_messages("one")
    resending.pass_time(600)
    resending.date("a.log", ago=-9.5)
    resending.step(10)
    resending.take_steps()
    assert resending.messages == ["one"]
    resending.step(10)
    resending.take_steps()
    assert resending.messages == ["one", "one"]


def test_a_touch_of_a_file_that_was_not_read_to_its_end_waits_until_it_is(resending: UserLab) -> None:
    resending.ship("a.log", "one")
    resending.pass_time(30)
    resending.destination.holding = True
    resending.append("a.log", "two\n")
    resending.pass_time(30)
    touch(resending.logs / "a.log")
    expect(resending, "one")
    resending.destination.holding = False
    expect(resending, "one", "two", "one", "two")


def test_what_is_written_before_a_reload_and_acknowledged_after_it_is_no_touch(resending: UserLab) -> None:
    resending.ship("a.log", "one")
    resending.pass_time(30)
    resending.destination.holding = True
    resending.append("a.log", "two\n")
    touch(resending.logs / "a.log")
    resending.take_steps()
    (harvester,) = resending.crawler.running.values()
    assert not harvester.settled
    resending.crawler.open_files.leave(harvester, next_state(FileEvent.WITHDRAWN))
    resending.destination.holding = False
    expect(resending, "one", "two")


def test_a_file_that_its_writer_trims_before_a_reload_is_not_touched(resending: UserLab) -> None:
    resending.ship("a.log", "one")
    with (resending.logs / "a.log").open("r+b") as file:
        file.truncate(8192)
        resending.take_steps()
        file.seek(4)
        file.write(b"two\n")
        file.flush()
        resending.until_messages("one", "two")
        file.truncate(8)
    resending.pass_time(30)
    (harvester,) = resending.crawler.running.values()
    assert harvester.settled
    resending.crawler.open_files.leave(harvester, next_state(FileEvent.WITHDRAWN))
    expect(resending, "one", "two")


def test_an_incomplete_last_line_is_no_reason_to_wait(resending: UserLab) -> None:
    resending.options["close.on_state_change.inactive"] = "1m"
    resending.append("a.log", "one\nhalf")
    resending.start()
    resending.until_messages("one")
    for times in (2, 3):
        resending.pass_time(600)
        touch(resending.logs / "a.log")
        expect(resending, *["one"] * times)
    resending.append("a.log", " line\n")
    expect(resending, *(["one"] * 3 + ["half line"]))
    resending.stop()
    resending.start()
    resending.pass_time(30)
    assert resending.running.metrics.bytes_lost == 0


def test_a_line_that_is_written_over_zeros_is_no_touch(resending: UserLab) -> None:
    (resending.logs / "a.log").write_bytes(b"one\n" + b"\0" * 100)
    resending.start()
    resending.until_messages("one")
    resending.pass_time(30)
    with (resending.logs / "a.log").open("r+b") as file:
        file.seek(4)
        file.write(b"two\n")
    touch(resending.logs / "a.log")
    expect(resending, "one", "two")


def test_a_file_of_which_nothing_but_zeros_is_left_closes_all_the_same(resending: UserLab) -> None:
    resending.options["close.on_state_change.inactive"] = "1m"
    (resending.logs / "a.log").write_bytes(b"one\n" + b"\0" * 100)
    resending.start()
    resending.until_messages("one")
    touch(resending.logs / "a.log")
    resending.pass_time(600)
    assert not resending.is_open("a.log")


@pytest.mark.parametrize("identity", [FINGERPRINT, {"file_identity.path": None}, {"file_identity.native": None}])
@pytest.mark.parametrize("inactive", ["1m", "1h"])
def test_under_each_identity_a_touched_file_is_sent_again(
    resending: UserLab, identity: dict[str, object], inactive: str
) -> None:
    resending.options |= identity | {"close.on_state_change.inactive": inactive}
    resending.ship("a.log", HEAD, "one")
    resending.pass_time(600)
    touch(resending.logs / "a.log")
    expect(resending, *([HEAD, "one"] * 2))
    resending.stop()
    touch(resending.logs / "a.log")
    resending.start()
    expect(resending, *([HEAD, "one"] * 3))
    assert len(resending.file_ids) == 3


def test_under_fingerprint_a_copy_with_a_later_time_is_no_touch(resending: UserLab) -> None:
    resending.options |= FINGERPRINT
    resending.ship("a.log", HEAD, "one")
    resending.pass_time(600)
    resending.copy("a.log", "a.log.1")
    touch(resending.logs / "a.log.1")
    resending.remove("a.log")
    expect(resending, HEAD, "one")


def test_a_rotated_file_that_is_touched_is_sent_again_and_the_new_one_at_its_path_is_not(resending: UserLab) -> None:
    resending.ship("a.log", "one")
    resending.rotate("a.log", to="a.log.1")
    resending.append("a.log", "two\n")
    resending.pass_time(600)
    touch(resending.logs / "a.log.1")
    expect(resending, "one", "two", "one")


def test_a_gz_that_is_touched_is_sent_again(resending: UserLab) -> None:
    resending.options["compression"] = "auto"
    pack(resending, "a.log.gz", b"one\n")
    resending.start()
    resending.until_messages("one")
    resending.pass_time(60)
    touch(resending.logs / "a.log.gz")
    expect(resending, "one", "one")


def test_a_file_that_was_moved_out_of_the_paths_is_read_on_instead(resending: UserLab) -> None:
    resending.paths = (f"{resending.logs}/a.log",)
    resending.ship("a.log", "one")
    resending.rotate("a.log", to="elsewhere")
    resending.pass_time(60)
    touch(resending.logs / "elsewhere")
    resending.pass_time(60)
    resending.append("elsewhere", "two\n")
    expect(resending, "one", "two")
    assert resending.running.metrics.files_resent == 0
