"""The options of an input that are about files and time, under the names that a user writes, told through the Lab."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from config.model import ShipperConfig
from registry.load import read
from registry.state import FileState
from tests.lab import Lab
from tests.powers import without_powers

HOUR = 3600.0
DAY = 24 * HOUR


class UserLab(Lab):
    """A Lab whose input is what a user's YAML says: `options`, beside `paths`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.options: dict[str, Any] = {}
        self.queue_events = 0
        self._file = directory / "shipper.yml"

    def _config(self) -> ShipperConfig:
        one: dict[str, Any] = {"type": "filestream", "id": "app", "paths": list(self.paths), **self.options}
        queue = {"queue.mem.events": self.queue_events} if self.queue_events else {}
        self._file.write_text(json.dumps({"shipper.inputs": [one], "output.console": {}, "name": "lab", **queue}))
        return load(self._file, ShipperConfig)

    @property
    def messages(self) -> list[str]:
        return [each.message for each in self.arrived]

    def until_messages(self, *wanted: str) -> None:
        """No scan is needed for it: next to no time passes."""
        self.until(lambda: len(self.messages) >= len(wanted), seconds=0.0005)
        assert self.messages == list(wanted)

    def pass_time(self, seconds: float, steps: int = 20) -> None:
        for _ in range(steps):
            self.step(seconds=seconds / steps, wait=0.002)
        for _ in range(5):
            self.step(seconds=0.01, wait=0.002)

    def is_open(self, name: str) -> bool:
        return self.inode(name) in self.opened_by_agent()

    def date(self, name: str, ago: float = 0.0) -> None:
        then = self.clock.time() - ago
        os.utime(self.logs / name, (then, then))

    def saved(self) -> list[FileState]:
        """The registry as it is on disk when the agent was stopped now; it runs on as the next life."""
        self.stop()
        return list(read(self.data / "registry").values())


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[UserLab]:
    lab = UserLab(tmp_path)
    yield lab
    lab.close()


def pack(lab: UserLab, name: str, content: bytes) -> bytes:
    packed = gzip.compress(content)
    lab.append(name, packed)
    return packed


# closing


def test_a_file_without_news_for_five_minutes_is_closed_and_a_line_that_comes_later_is_read_without_a_scan(
    lab: UserLab,
) -> None:
    lab.options = {"prospector.scanner.check_interval": "24h"}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(299)
    assert lab.is_open("a.log")
    lab.pass_time(10)
    assert not lab.is_open("a.log")
    lab.append("a.log", "two\n")
    lab.until_messages("one", "two")
    assert len({each.file_id for each in lab.arrived}) == 1


def test_close_on_state_change_inactive_of_zero_keeps_a_file_open(lab: UserLab) -> None:
    lab.options = {"close.on_state_change.inactive": 0}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(DAY)
    assert lab.is_open("a.log")


def test_a_file_that_is_written_to_now_and_then_is_not_inactive(lab: UserLab) -> None:
    lab.options = {"close.on_state_change.inactive": "1m"}
    lab.start()
    for number in range(5):
        lab.append("a.log", f"{number}\n")
        lab.until(lambda wanted=number + 1: len(lab.messages) == wanted)  # type: ignore[misc]  # a default: not inferred
        lab.pass_time(50)
        assert lab.is_open("a.log")
    assert lab.running.metrics.harvesters_started == 1


@pytest.mark.parametrize("closes", [True, False])
def test_close_on_state_change_renamed_closes_a_renamed_file_at_its_end_or_keeps_it(lab: UserLab, closes: bool) -> None:
    lab.options = {"close.on_state_change.renamed": closes}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.append("a.log", "two\n")
    lab.rotate("a.log", to="a.log.1")
    lab.pass_time(60)
    assert lab.messages == ["one", "two"]
    assert lab.is_open("a.log.1") != closes
    lab.append("a.log.1", "late\n")
    lab.until_messages("one", "two", "late")


@pytest.mark.parametrize("closes", [True, False])
def test_close_on_state_change_removed_closes_a_deleted_file_at_its_end_or_keeps_it_until_it_is_inactive(
    lab: UserLab, closes: bool
) -> None:
    lab.options = {"close.on_state_change.removed": closes}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.append("a.log", "two\n")
    inode = lab.inode("a.log")
    lab.remove("a.log")
    lab.pass_time(30)
    assert lab.messages == ["one", "two"]
    assert (inode in lab.opened_by_agent()) != closes
    lab.pass_time(400)
    assert inode not in lab.opened_by_agent()
    assert lab.running.metrics.bytes_lost == 0


def test_what_is_written_to_a_deleted_file_that_is_kept_is_shipped(lab: UserLab) -> None:
    lab.options = {"close.on_state_change.removed": False}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    with (lab.logs / "a.log").open("ab", buffering=0) as writer:
        lab.remove("a.log")
        lab.pass_time(30)
        writer.write(b"two\n")
        lab.until_messages("one", "two")


def test_close_reader_on_eof_closes_a_file_at_its_end_and_it_is_opened_again_with_news(lab: UserLab) -> None:
    lab.options = {"close.reader.on_eof": True}
    lab.append("a.log", "one\nhalf")
    lab.start()
    lab.until_messages("one")
    lab.until(lambda: not lab.is_open("a.log"), seconds=0.001)
    lab.append("a.log", " line\n")
    lab.until_messages("one", "half line")
    lab.until(lambda: not lab.is_open("a.log"), seconds=0.001)


def test_a_file_that_is_there_is_closed_after_the_interval_and_goes_on_without_loss_or_repeat(lab: UserLab) -> None:
    lab.options = {"close.reader.after_interval": "1m", "close.on_state_change.inactive": 0}
    wanted = []
    lab.start()
    for number in range(30):
        lab.append("a.log", f"{number}\n")
        wanted.append(f"{number}")
        lab.pass_time(11, steps=3)
    lab.pass_time(30)
    assert lab.messages == wanted
    assert lab.running.metrics.harvesters_started >= 4
    assert len({each.file_id for each in lab.arrived}) == 1


def test_a_deleted_file_that_a_blocked_output_keeps_is_given_up_after_the_interval_told_and_counted(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"close.reader.after_interval": "1m"}
    lab.queue_events = 32
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.destination.room = 0
    lab.append("a.log", "blocked\n" * 100_000)
    inode, size = lab.inode("a.log"), 4 + 800_000
    lab.remove("a.log")
    lab.pass_time(50)
    assert inode in lab.opened_by_agent()
    lab.pass_time(20)
    assert inode not in lab.opened_by_agent()
    lab.destination.room = None
    lab.pass_time(5)
    (file_id,) = {each.file_id for each in lab.arrived}
    end = max(each.offset + each.length for each in lab.arrived)
    assert 0 < lab.running.metrics.bytes_lost == size - end
    (told,) = [line for line in caplog.messages if "given up (close.reader.after_interval)" in line]
    assert f"{lab.logs}/a.log (file id {file_id})" in told
    assert f"{size - end} bytes, from offset {end} to {size}" in told


def test_a_file_that_is_there_and_that_a_blocked_output_keeps_is_not_given_up(lab: UserLab) -> None:
    lab.options = {"close.reader.after_interval": "1m", "close.removed.max_bytes": 1}
    lab.queue_events = 32
    lab.append("a.log", "blocked\n" * 20_000)
    lab.start()
    lab.until(lambda: lab.running.metrics.events_read)
    lab.destination.room = 0
    lab.pass_time(600)
    lab.destination.room = None
    lab.until(lambda: len(lab.messages) == 20_000, seconds=1)
    assert lab.running.metrics.bytes_lost == 0
    assert len({(each.file_id, each.offset) for each in lab.arrived}) == 20_000


def test_of_deleted_files_above_the_budget_the_one_opened_first_is_given_up_and_the_other_arrives_whole(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"close.removed.max_bytes": "1MB"}
    lab.queue_events = 32
    lab.start()
    for name in ("old.log", "new.log"):
        lab.append(name, f"{name}\n")
        lab.pass_time(11)
    lab.destination.room = 0
    for name in ("old.log", "new.log"):
        lab.append(name, f"more of {name}\n" * 40_000)
        lab.remove(name)
        lab.pass_time(11)
    lab.destination.room = None
    lab.until(lambda: lab.messages.count("more of new.log") == 40_000, seconds=0.01)
    assert lab.messages.count("more of old.log") < 40_000
    (told,) = [line for line in caplog.messages if "given up" in line]
    assert "old.log" in told
    assert "close.removed.max_bytes" in told


# cleaning


def test_clean_inactive_forgets_a_file_in_the_registry_and_no_line_of_it_is_sent_again(lab: UserLab) -> None:
    lab.options = {"ignore_older": "1h", "clean_inactive": "2h"}
    lab.append("a.log", "one\n")
    lab.date("a.log")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(1.5 * HOUR)
    assert len(lab.saved()) == 1
    lab.start()
    lab.pass_time(HOUR)
    assert lab.saved() == []
    lab.start()
    lab.pass_time(600)
    assert lab.messages == ["one"]


def test_a_file_that_clean_inactive_forgot_and_that_has_news_goes_on_while_the_agent_runs(lab: UserLab) -> None:
    lab.options = {"ignore_older": "1h", "clean_inactive": "2h"}
    lab.append("a.log", "one\n")
    lab.date("a.log")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(3 * HOUR)
    lab.append("a.log", "two\n")
    lab.date("a.log")
    lab.until_messages("one", "two")
    (state,) = lab.saved()
    assert state.position == 8
    lab.start()
    lab.pass_time(600)
    assert lab.messages == ["one", "two"]


@pytest.mark.parametrize("cleans", [True, False])
def test_the_entry_of_a_deleted_file_is_forgotten_after_24_hours_if_clean_removed_says_so(
    lab: UserLab, cleans: bool
) -> None:
    lab.options = {"clean_removed": cleans}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.remove("a.log")
    lab.pass_time(30)
    lab.pass_time(23 * HOUR)
    (state,) = lab.saved()
    assert state.ended == "removed"
    lab.start()
    lab.pass_time(2 * HOUR)
    assert len(lab.saved()) == (0 if cleans else 1)


# deleting


DELETING = {"delete.enabled": True, "delete.grace_period": "30m", "close.on_state_change.inactive": "1m"}


def test_delete_removes_a_file_after_the_grace_period_and_not_before(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    lab.options = DELETING
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(29 * 60)
    assert (lab.logs / "a.log").exists()
    lab.pass_time(3 * 60)
    assert not (lab.logs / "a.log").exists()
    assert any("all of it is acknowledged; deleted" in line for line in caplog.messages)


def test_delete_saves_the_position_before_the_file_goes(lab: UserLab) -> None:
    lab.options = DELETING
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.until(lambda: not (lab.logs / "a.log").exists(), seconds=60)
    lab.kill()
    (state,) = read(lab.data / "registry").values()
    assert state.position == 4


def test_delete_leaves_a_file_that_grew_and_removes_it_after_a_new_grace_period(lab: UserLab) -> None:
    lab.options = DELETING
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(20 * 60)
    lab.append("a.log", "two\n")
    lab.until_messages("one", "two")
    lab.pass_time(20 * 60)
    assert (lab.logs / "a.log").exists()
    lab.pass_time(12 * 60)
    assert not (lab.logs / "a.log").exists()


def test_delete_never_removes_what_is_not_acknowledged(lab: UserLab) -> None:
    lab.options = DELETING
    lab.start()
    lab.destination.holding = True
    lab.append("a.log", "one\n")
    lab.until(lambda: lab.destination.in_flight)
    lab.pass_time(HOUR)
    assert (lab.logs / "a.log").exists()
    lab.destination.holding = False
    lab.pass_time(HOUR)
    assert not (lab.logs / "a.log").exists()
    assert lab.messages == ["one"]


def test_delete_leaves_a_file_whose_last_line_is_not_whole(lab: UserLab) -> None:
    lab.options = DELETING
    lab.append("a.log", "one\nhalf")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(2 * HOUR)
    assert (lab.logs / "a.log").exists()
    lab.append("a.log", " line\n")
    lab.until_messages("one", "half line")
    lab.pass_time(HOUR)
    assert not (lab.logs / "a.log").exists()


def test_delete_removes_what_an_agent_before_this_one_has_read(lab: UserLab) -> None:
    lab.options = DELETING
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(600)
    lab.stop()
    lab.start()
    lab.pass_time(2 * HOUR)
    assert not (lab.logs / "a.log").exists()


def test_delete_that_is_refused_is_told_with_the_file_and_tried_again(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = DELETING
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.logs.chmod(0o555)
    with without_powers():
        lab.pass_time(HOUR)
    lab.logs.chmod(0o755)
    assert (lab.logs / "a.log").exists()
    assert f"{lab.logs}/a.log: cannot be deleted (delete.enabled): Permission denied" in "\n".join(caplog.messages)
    lab.pass_time(120)
    assert not (lab.logs / "a.log").exists()


# which files


def test_a_waiting_file_starts_as_soon_as_a_place_is_free_not_at_the_next_scan(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 2, "prospector.scanner.check_interval": "24h"}
    for number in range(20):
        lab.append(f"{number:02}.log", f"{number}\n")
    lab.start()
    lab.until(lambda: len(lab.messages) == 20, seconds=0.001)
    assert len(lab.running.loop.crawler.running) <= 2


def test_a_copytruncate_while_down_repeats_nothing_although_only_one_file_may_be_open(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    for name in "ab":
        lab.append(f"{name}.log", f"{name}\n" * 100)
    lab.start()
    lab.until(lambda: len(lab.messages) == 200)
    lab.stop()
    for age, name in enumerate("ab"):
        lab.append(f"{name}.log.1", (lab.logs / f"{name}.log").read_bytes())
        lab.truncate(f"{name}.log")
        lab.append(f"{name}.log", "new\n")
        lab.date(f"{name}.log.1", 100 - age)
        lab.date(f"{name}.log", 50 - age)
    lab.start()
    lab.pass_time(600)
    assert lab.messages[200:] == ["new", "new"]


def test_a_file_older_than_ignore_older_is_left_alone_and_what_is_added_to_it_is_shipped(lab: UserLab) -> None:
    lab.options = {"ignore_older": "2h"}
    for name, ago in (("old.log", 3 * HOUR), ("young.log", HOUR)):
        lab.append(name, f"{name}\n")
        lab.date(name, ago)
    lab.start()
    lab.until_messages("young.log")
    lab.pass_time(30)
    lab.append("old.log", "added\n")
    lab.date("old.log")
    lab.until_messages("young.log", "added")


def test_a_file_that_was_read_and_grows_old_is_not_read_again_after_a_restart(lab: UserLab) -> None:
    lab.options = {"ignore_older": "2h"}
    lab.append("a.log", "one\n")
    lab.date("a.log")
    lab.start()
    lab.until_messages("one")
    lab.stop()
    lab.clock.advance(DAY)
    lab.start()
    lab.pass_time(30)
    lab.append("a.log", "two\n")
    lab.date("a.log")
    lab.until_messages("one", "two")


@pytest.mark.parametrize(("since", "wanted"), [("since_first_start", ["b"]), ("since_last_start", [])])
def test_ignore_inactive_leaves_out_what_was_not_written_to_since_the_first_or_the_last_start(
    lab: UserLab, since: str, wanted: list[str]
) -> None:
    lab.options = {"ignore_inactive": since}
    lab.append("a.log", "a\n")
    lab.date("a.log", 60)
    lab.start()
    lab.pass_time(60)
    assert lab.messages == []
    lab.stop()
    lab.append("b.log", "b\n")
    lab.date("b.log")
    lab.clock.advance(60)
    lab.start()
    lab.pass_time(60)
    assert lab.messages == wanted
    lab.append("c.log", "c\n")
    lab.date("c.log")
    lab.until_messages(*wanted, "c")
    lab.append("a.log", "added\n")
    lab.date("a.log")
    lab.until_messages(*wanted, "c", "added")


def test_tail_files_of_type_log_begins_at_the_end_of_the_files_of_the_first_scan_and_reads_later_ones_whole(
    lab: UserLab,
) -> None:
    lab.options = {"type": "log", "tail_files": True}
    lab.append("a.log", "old\n")
    lab.start()
    lab.pass_time(30)
    lab.append("a.log", "new\n")
    lab.until_messages("new")
    lab.append("b.log", "of another\n")
    lab.until_messages("new", "of another")
    lab.stop()
    lab.append("a.log", "while down\n")
    lab.start()
    lab.until_messages("new", "of another", "while down")


def test_type_log_closes_by_its_old_names(lab: UserLab) -> None:
    lab.options = {"type": "log", "close_inactive": "1m", "scan_frequency": "24h"}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(50)
    assert lab.is_open("a.log")
    lab.pass_time(20)
    assert not lab.is_open("a.log")


# file_identity


IDENTITIES: dict[str, dict[str, Any]] = {
    "native": {"file_identity.native": None},
    "path": {"file_identity.path": None},
    "fingerprint": {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64},
    "inode_marker": {},
}
HEAD = "h" * 63 + "\n"


@pytest.fixture(params=list(IDENTITIES))
def identity(request: pytest.FixtureRequest, lab: UserLab) -> str:
    lab.options = IDENTITIES[request.param]
    if request.param == "inode_marker":
        marker = lab.logs.parent / "marker"
        marker.write_text("this disk\n")
        lab.options = {"file_identity.inode_marker.path": str(marker)}
    return str(request.param)


def test_under_each_identity_a_restart_goes_on_where_it_was(lab: UserLab, identity: str) -> None:
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.stop()
    lab.append("a.log", "two\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one", "two")
    lab.pass_time(600)
    lab.kill()
    lab.append("a.log", "three\n")
    lab.start()
    lab.expect_lines("a.log", HEAD[:-1], "one", "two", "three")
    assert len({each.file_id for each in lab.arrived}) == 1


def test_under_each_identity_but_the_path_a_rename_is_the_same_file(lab: UserLab, identity: str) -> None:
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.rotate("a.log", to="b.log")
    lab.append("b.log", "two\n")
    lab.pass_time(60)
    lab.stop()
    lab.append("b.log", "three\n")
    lab.start()
    lab.pass_time(60)
    if identity != "path":
        assert lab.messages == [HEAD[:-1], "one", "two", "three"]
        assert len({each.file_id for each in lab.arrived}) == 1
    else:
        assert [m for m in lab.messages if m == "three"] == ["three"]
        assert len({each.file_id for each in lab.arrived}) == 2


def test_under_each_identity_a_rename_while_down_is_the_same_file_but_for_the_path(lab: UserLab, identity: str) -> None:
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.stop()
    lab.rotate("a.log", to="b.log")
    lab.append("b.log", "two\n")
    lab.start()
    lab.pass_time(60)
    again = [HEAD[:-1], "one"] if identity == "path" else []
    assert lab.messages == [HEAD[:-1], "one", *again, "two"]


def test_under_path_a_file_that_is_replaced_by_one_that_is_at_least_as_long_goes_on_at_the_position(
    lab: UserLab,
) -> None:
    lab.options = IDENTITIES["path"]
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.stop()
    lab.append("new", "two\nthree\n")
    os.replace(lab.logs / "new", lab.logs / "a.log")
    lab.start()
    lab.until_messages("one", "three")


def test_under_each_identity_a_gz_that_was_read_is_not_read_again_after_a_restart(lab: UserLab, identity: str) -> None:
    lab.options = {**lab.options, "compression": "auto"}
    content = HEAD + "".join(f"{os.urandom(20).hex()}\n" for _ in range(1000))
    pack(lab, "a.log.gz", content.encode())
    lab.start()
    lab.until(lambda: len(lab.messages) == 1001)
    lab.pass_time(60)
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert len(lab.messages) == 1001


@pytest.mark.parametrize("name", ["path", "inode_marker", "native"])
def test_a_file_that_was_deleted_and_made_anew_is_read_from_its_start_whatever_names_it(
    lab: UserLab, name: str
) -> None:
    marker = lab.logs.parent / "marker"
    marker.write_text("this disk\n")
    lab.options = IDENTITIES[name] or {"file_identity.inode_marker.path": str(marker)}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.remove("a.log")
    lab.pass_time(60)
    lab.append("a.log", "two\nthree\n")
    lab.until_messages("one", "two", "three")


@pytest.mark.parametrize("name", ["path", "inode_marker", "native"])
def test_a_file_that_was_cut_and_has_grown_past_the_position_is_read_from_its_start_whatever_names_it(
    lab: UserLab, name: str
) -> None:
    marker = lab.logs.parent / "marker"
    marker.write_text("this disk\n")
    lab.options = IDENTITIES[name] or {"file_identity.inode_marker.path": str(marker)}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.truncate("a.log")
    lab.append("a.log", "two\nthree\n")
    lab.until_messages("one", "two", "three")
    lab.pass_time(600)
    lab.stop()
    lab.append("a.log", "four\n")
    lab.start()
    lab.until_messages("one", "two", "three", "four")


def test_under_fingerprint_a_gz_of_what_was_shipped_is_not_shipped_again(lab: UserLab) -> None:
    lab.options = {**IDENTITIES["fingerprint"], "compression": "auto"}
    content = HEAD + "".join(f"{os.urandom(20).hex()}\n" for _ in range(1000))
    lab.append("a.log.1", content)
    lab.start()
    lab.until(lambda: len(lab.messages) == 1001)
    pack(lab, "a.log.1.gz", content.encode())
    lab.pass_time(2)
    lab.remove("a.log.1")
    lab.pass_time(600)
    assert len(lab.messages) == 1001


def test_under_path_a_rotation_out_of_the_globs_leaves_one_entry_for_the_path_also_after_a_restart(
    lab: UserLab,
) -> None:
    lab.options = {"file_identity.path": None, "close.on_state_change.inactive": "1m"}
    lab.paths = (f"{lab.logs}/a.log",)
    lab.append("a.log", "old\n" * 10)
    lab.start()
    lab.until_messages(*["old"] * 10)
    lab.rotate("a.log", to="rotated")
    lab.append("a.log", "new\n")
    lab.pass_time(10)
    assert lab.messages[10:] == ["new"]
    lab.pass_time(600)
    lab.stop()
    lab.append("a.log", "while down\n" * 10)
    lab.start()
    lab.pass_time(60)
    assert lab.messages[11:] == ["while down"] * 10


def test_under_fingerprint_a_copytruncate_neither_loses_nor_repeats_a_line(lab: UserLab) -> None:
    lab.options = IDENTITIES["fingerprint"]
    lab.append("a.log", f"{HEAD}one\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.append("a.log.1", (lab.logs / "a.log").read_bytes())
    lab.truncate("a.log")
    lab.pass_time(60)
    lab.append("a.log", "n" * 63 + "\nnew\n")
    lab.pass_time(60)
    assert lab.messages == [HEAD[:-1], "one", "n" * 63, "new"]
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert len(lab.messages) == 4


def test_under_fingerprint_two_files_with_equal_heads_are_one_and_no_restart_repeats_it(lab: UserLab) -> None:
    lab.options = IDENTITIES["fingerprint"]
    lab.append("a.log", f"{HEAD}one\n")
    lab.append("b.log", f"{HEAD}one\n")
    lab.start()
    lab.pass_time(60)
    arrived = lab.messages
    lab.stop()
    lab.start()
    lab.pass_time(60)
    assert lab.messages == arrived


def test_under_fingerprint_a_copy_to_another_disk_is_the_same_file_and_a_short_file_waits(lab: UserLab) -> None:
    lab.options = IDENTITIES["fingerprint"]
    lab.append("a.log", f"{HEAD}one\n")
    lab.append("short.log", "short\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one")
    lab.pass_time(60)
    lab.stop()
    lab.append("copy", (lab.logs / "a.log").read_bytes())
    os.replace(lab.logs / "copy", lab.logs / "a.log")
    lab.append("a.log", "two\n")
    lab.start()
    lab.until_messages(HEAD[:-1], "one", "two")
    lab.append("short.log", "x" * 63 + "\n")
    lab.until(lambda: len(lab.messages) == 5, seconds=0.5)
    assert lab.messages[3:] == ["short", "x" * 63]


def test_fingerprint_offset_passes_over_a_header_that_all_files_have(lab: UserLab) -> None:
    lab.options = {
        "file_identity.fingerprint": None,
        "prospector.scanner.fingerprint": {"offset": 64, "length": 64},
    }
    for name in "ab":
        lab.append(f"{name}.log", HEAD + name * 63 + "\n")
    lab.start()
    lab.until(lambda: len(lab.messages) == 4)
    assert len({each.file_id for each in lab.arrived}) == 2


def test_under_inode_marker_another_device_number_is_the_same_file_and_another_marker_is_another(lab: UserLab) -> None:
    marker = lab.logs.parent / "marker"
    marker.write_text("this disk\n")
    lab.options = {"file_identity.inode_marker.path": str(marker)}
    lab.append("a.log", "one\n")
    lab.start()
    lab.until_messages("one")
    lab.stop()
    marker.write_text("another disk\n")
    lab.start()
    lab.until_messages("one", "one")
    assert len({each.file_id for each in lab.arrived}) == 2


# sizes and compression


@pytest.mark.parametrize("compression", ["none", "auto"])
def test_a_longer_message_is_cut_whatever_the_file_is_packed_in(lab: UserLab, compression: str) -> None:
    lab.options = {"message_max_bytes": 10, "compression": compression}
    content = b"x" * 25 + b"\nshort\n"
    if compression == "auto":
        pack(lab, "a.log.gz", content)
    else:
        lab.append("a.log", content)
    lab.start()
    lab.until_messages("x" * 10, "short")
    assert lab.running.metrics.events_truncated == 1


def test_a_gz_among_plain_files_is_told_of_once_when_compression_is_none(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    pack(lab, "a.log.gz", b"one\n")
    lab.start()
    lab.pass_time(HOUR)
    lab.append("a.log.gz", b"\n")
    lab.pass_time(HOUR)
    told = [line for line in caplog.messages if "looks like a gzip file" in line]
    assert len(told) == 1
    assert f"{lab.logs}/a.log.gz" in told[0]


def test_a_gz_of_several_members_arrives_whole(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lab.append("a.log.gz", gzip.compress(b"one\ntw") + gzip.compress(b"") + gzip.compress(b"o\nthree"))
    lab.start()
    lab.until_messages("one", "two", "three")


def test_a_gz_that_is_still_being_written_is_read_as_it_grows(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lines = [os.urandom(40).hex() for _ in range(5000)]
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    lab.append("a.log.gz", packed[:1])
    lab.start()
    lab.pass_time(1)
    for start in range(1, len(packed), len(packed) // 5):
        lab.append("a.log.gz", packed[start : start + len(packed) // 5])
        lab.pass_time(11)
    lab.until(lambda: len(lab.messages) >= 5000)
    assert lab.messages == lines
    lab.pass_time(1)
    assert not lab.is_open("a.log.gz")


def test_a_gz_that_is_made_empty_beside_the_plain_file_and_filled_slowly_repeats_nothing(lab: UserLab) -> None:
    lab.options = {"compression": "auto"}
    lines = [os.urandom(40).hex() for _ in range(5000)]
    content = "".join(f"{line}\n" for line in lines).encode()
    lab.append("a.log.1", content)
    lab.start()
    lab.until(lambda: len(lab.messages) == 5000)
    packed = gzip.compress(content)
    lab.append("a.log.1.gz", b"")
    lab.pass_time(1)
    for start in range(0, len(packed), 50_000):
        lab.append("a.log.1.gz", packed[start : start + 50_000])
        lab.pass_time(2)
    lab.remove("a.log.1")
    lab.pass_time(HOUR)
    assert lab.messages == lines


def test_a_damaged_gz_is_told_of_once_shipped_as_far_as_it_is_whole_and_not_read_again_until_it_changes(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"compression": "auto"}
    packed = gzip.compress(b"one\ntwo\n") + b"not gzip"
    lab.append("a.log.gz", packed)
    lab.start()
    lab.pass_time(DAY, steps=200)
    assert lab.messages == ["one", "two"]
    assert lab.running.metrics.harvesters_started == 1
    (told,) = [line for line in caplog.messages if "damaged" in line]
    assert f"{lab.logs}/a.log.gz" in told
    assert f"compressed byte {len(packed) - 8}" in told


def test_under_compression_gzip_a_file_that_is_no_gzip_is_told_of_and_the_others_are_shipped(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"compression": "gzip"}
    lab.append("plain.log", "not packed\n")
    pack(lab, "a.log.gz", b"one\n")
    lab.start()
    lab.pass_time(DAY)
    assert lab.messages == ["one"]
    assert len([line for line in caplog.messages if f"{lab.logs}/plain.log" in line and "gzip" in line]) == 1
    assert lab.running.metrics.harvesters_started == 2
