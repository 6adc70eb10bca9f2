import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE
from log_shipper.shipper.inputs.files.lifecycle.deletion import OTHERS_AFTER, Deletions
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import DeleteConfig, InputConfig
from log_shipper.shipper.reader.log_file import TAIL_SIZE
from tests.fakes import ManualClock
from tests.reading_room import Books, entry_of

REPORT = b"#" * HEAD_SIZE + b" 1 " + b"-" * TAIL_SIZE + b"\n"
GRACE = 30.0


class Bin:
    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.path = folder / "app.log"
        self.path.write_bytes(b"one\ntwo\n")
        self.books = Books()
        self.clock = clock
        self.metrics = Metrics()
        self.deletions = Deletions(
            cast("Registrar", self.books), clock, self.metrics, self._is_read_by_all, self._unlink, self._rename
        )
        deleting = DeleteConfig(enabled=True, grace_period=GRACE)
        self.deletions.update_rules([InputSpec(InputConfig(id="app", paths=("/l",), delete=deleting))])
        self.others_read = False  # the file, which they have not read to its end
        self.last_words = b""  # written just before the file goes
        self.last_events: list[Callable[[], object]] = []  # when it was checked, and is about to get another name
        self.next_events: list[Callable[[], object]] = []  # when it has got it

    def _is_read_by_all(self, input_id: str, scanned: ScannedFile) -> bool:
        return not self.others_read

    def _unlink(self, path: str) -> None:
        with open(path, "ab") as file:
            file.write(self.last_words)
        os.unlink(path)

    def _rename(self, path: str, new: str) -> None:
        for happen in self.last_events:
            happen()
        os.rename(path, new)
        for happen in self.next_events:
            happen()

    def plan(self, position: int = 8) -> FileState:
        state = entry_of(self.path, position, seen=True)
        self.deletions.plan(state, GRACE)
        return state

    def after(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.deletions.step(lambda fd, state: False)

    def save(self) -> None:
        """Save the registry, and check again."""
        self.books.confirm()
        self.after(1)


@pytest.fixture
def bin_(tmp_path: Path, clock: ManualClock) -> Bin:
    return Bin(tmp_path, clock)


def test_a_file_stays_until_all_inputs_have_read_it(bin_: Bin) -> None:
    bin_.plan()
    bin_.others_read = True
    bin_.after(GRACE)
    for _ in range(3):
        bin_.after(OTHERS_AFTER)
    assert bin_.books.tickets == []
    bin_.others_read = False
    bin_.after(OTHERS_AFTER)
    bin_.save()
    assert not bin_.path.exists()


def test_a_file_is_deleted_when_its_grace_period_is_over(bin_: Bin) -> None:
    bin_.plan()
    assert bin_.deletions.next_step == bin_.clock.monotonic() + GRACE
    bin_.after(GRACE - 1)
    bin_.save()
    assert bin_.path.exists()
    bin_.after(0)
    bin_.save()
    assert not bin_.path.exists()
    assert bin_.deletions.next_step == float("inf")


def test_its_position_is_on_disk_before_it_goes(bin_: Bin) -> None:
    """Else a crash could forget what became of it."""
    state = bin_.plan()
    bin_.after(GRACE)
    assert bin_.books.saves == [[state.id]]
    bin_.after(600)
    assert (bin_.path.exists(), bin_.books.saves) == (True, [[state.id]])
    bin_.save()
    assert not bin_.path.exists()


def test_other_content_with_an_equal_head_and_tail_stops_it(bin_: Bin) -> None:
    bin_.path.write_bytes(REPORT)
    bin_.plan(position=len(REPORT))
    bin_.path.write_bytes(REPORT.replace(b" 1 ", b" 2 "))
    bin_.after(GRACE)
    assert (bin_.books.saves, bin_.path.exists(), bin_.deletions.next_step) == ([], True, float("inf"))


def test_also_if_its_time_was_set_back(bin_: Bin) -> None:
    bin_.path.write_bytes(REPORT)
    state = bin_.plan(position=len(REPORT))
    bin_.path.write_bytes(REPORT.replace(b" 1 ", b" 2 "))
    os.utime(bin_.path, ns=(0, state.modified))
    bin_.after(GRACE)
    assert (bin_.books.saves, bin_.path.exists()) == ([], True)


def test_also_while_the_position_is_saved(bin_: Bin) -> None:
    bin_.path.write_bytes(REPORT)
    bin_.plan(position=len(REPORT))
    bin_.after(GRACE)
    bin_.path.write_bytes(REPORT.replace(b" 1 ", b" 2 "))
    bin_.save()
    assert bin_.path.exists()


def test_what_is_not_acknowledged_stays(bin_: Bin) -> None:
    bin_.plan(position=4)
    bin_.after(GRACE)
    bin_.save()
    assert bin_.path.exists()


def test_another_file_at_the_path_stays(bin_: Bin) -> None:
    bin_.plan()
    bin_.path.rename(bin_.path.with_name("app.log.1"))
    bin_.path.write_bytes(b"one\ntwo\n")
    bin_.after(GRACE)
    bin_.save()
    assert bin_.path.exists()


def test_another_file_that_comes_to_the_path_after_the_check_stays(bin_: Bin, tmp_path: Path) -> None:
    def rotate() -> None:
        bin_.path.rename(tmp_path / "app.log.1")
        bin_.path.write_bytes(b"three\n")

    bin_.last_events = [rotate]
    bin_.plan()
    bin_.after(GRACE)
    bin_.save()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log", "app.log.1"]
    assert bin_.path.read_bytes() == b"three\n"
    assert bin_.deletions.next_step == float("inf")


def test_a_link_that_comes_to_the_path_after_the_check_stays(bin_: Bin, tmp_path: Path) -> None:
    bin_.last_events = [lambda: bin_.path.rename(tmp_path / "app.log.1"), lambda: bin_.path.symlink_to("app.log.1")]
    bin_.plan()
    bin_.after(GRACE)
    bin_.save()
    assert (bin_.path.readlink(), bin_.path.read_bytes()) == (Path("app.log.1"), b"one\ntwo\n")


def test_a_name_that_is_taken_meanwhile_leaves_both_files(
    bin_: Bin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bin_.last_events = [
        lambda: bin_.path.rename(tmp_path / "app.log.1"),
        lambda: bin_.path.write_bytes(b"three\n"),
    ]
    bin_.next_events = [lambda: bin_.path.write_bytes(b"four\n")]
    state = bin_.plan()
    bin_.after(GRACE)
    bin_.save()
    aside = tmp_path / f".shipper-deleting-{state.id}"
    assert (bin_.path.read_bytes(), aside.read_bytes()) == (b"four\n", b"three\n")
    assert f"it is now {aside}. No data is lost; rename it" in caplog.text


def test_a_link_to_the_file_stays(bin_: Bin) -> None:
    bin_.plan()
    moved = bin_.path.rename(bin_.path.with_name("elsewhere"))
    bin_.path.symlink_to(moved)
    bin_.after(GRACE)
    bin_.save()
    assert bin_.path.is_symlink()


def test_a_file_that_another_process_removed_needs_nothing(bin_: Bin, caplog: pytest.LogCaptureFixture) -> None:
    bin_.plan()
    bin_.path.unlink()
    bin_.after(GRACE)
    assert (bin_.deletions.next_step, caplog.text) == (float("inf"), "")


def test_each_file_has_its_own_time(bin_: Bin) -> None:
    bin_.plan()
    other = bin_.path.with_name("other.log")
    other.write_bytes(b"one\n")
    bin_.clock.advance(10)
    bin_.deletions.plan(entry_of(other, 4, file_id="other", seen=True), GRACE)
    bin_.after(20)
    bin_.save()
    assert (bin_.path.exists(), other.exists()) == (False, True)
    bin_.after(9)
    bin_.save()
    assert not other.exists()


def test_where_no_input_can_read_it_that_is_counted_and_logged(bin_: Bin, caplog: pytest.LogCaptureFixture) -> None:
    bin_.last_words = b"three\n"
    bin_.plan()
    bin_.after(GRACE)
    bin_.save()
    assert bin_.metrics.bytes_lost == 6
    assert "it no longer belongs to an input: the data from offset 8 to 14 is lost" in caplog.text
