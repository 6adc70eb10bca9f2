"""What others do with the file of `output.file`: a second agent, logrotate, a clean-up."""

import errno
import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from log_shipper.runtime.logs.throttle import INTERVAL
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.outputs.file import CHECK_INTERVAL, RETRY_INTERVAL, FileOutput, OutputFile
from tests.builders import RecordedDeliveries, batch, encoder
from tests.descriptors import open_files
from tests.fakes import ManualClock

Moment = Callable[[], None]


class Site:
    """An output and its file. `at_sync` is done once, when the output syncs what it has written."""

    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.path = directory / "out" / "shipper"
        self.older = self.path.with_name("shipper.1")
        self.clock = clock
        self.deliveries = RecordedDeliveries()
        self.at_sync: Moment | None = None
        self.output = FileOutput(OutputFile(self.path), encoder(), self.deliveries, clock, self._fsync)

    def _fsync(self, fd: int) -> None:
        os.fsync(fd)
        if self.at_sync is not None:
            done, self.at_sync = self.at_sync, None
            done()

    def deliver(self, *texts: str) -> None:
        for text in texts:
            self.output.publish(batch([text]))
        for _ in range(3):
            self.output.poll(0)
            self.clock.advance(RETRY_INTERVAL)

    def rename(self) -> None:
        self.path.rename(self.older)

    def copytruncate(self) -> None:
        shutil.copyfile(self.path, self.older)
        os.truncate(self.path, 0)

    def compress(self) -> None:
        """As logrotate without `delaycompress`: all of it has happened before the agent comes by."""
        self.rename()
        with gzip.open(f"{self.older}.gz", "wb") as packed:
            packed.write(self.older.read_bytes())
        self.older.unlink()

    def remove(self) -> None:
        self.path.unlink()

    def remove_directory(self) -> None:
        shutil.rmtree(self.path.parent)


@pytest.fixture
def site(tmp_path: Path, clock: ManualClock) -> Iterator[Site]:
    site = Site(tmp_path, clock)
    yield site
    site.output.close()


def texts(path: Path) -> list[str]:
    content = path.read_bytes()
    assert b"\0" not in content
    return [json.loads(line)["message"] for line in content.splitlines()]


@pytest.mark.parametrize("rotate", [Site.rename, Site.copytruncate])
def test_a_file_that_was_rotated_keeps_what_it_had_and_the_new_one_has_the_rest(
    site: Site, rotate: Callable[[Site], None]
) -> None:
    site.deliver("one", "two")
    rotate(site)
    site.deliver("three")
    assert texts(site.older) == ["one", "two"]
    assert texts(site.path) == ["three"]
    assert site.deliveries.texts == ["one", "two", "three"]


def test_a_new_file_that_logrotate_made_is_taken_as_it_is(site: Site) -> None:
    site.deliver("one")
    site.rename()
    site.path.touch(0o640)
    site.deliver("two")
    assert texts(site.path) == ["two"]
    assert site.path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("remove", [Site.remove, Site.remove_directory])
def test_a_file_that_was_removed_is_made_again(site: Site, remove: Callable[[Site], None]) -> None:
    site.deliver("one")
    remove(site)
    site.deliver("two")
    assert texts(site.path) == ["two"]
    assert site.deliveries.texts == ["one", "two"]


CHANGES = [Site.rename, Site.copytruncate, Site.compress, Site.remove, Site.remove_directory]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_not_acknowledged_when_the_file_changed_is_written_to_the_new_one(
    site: Site, change: Callable[[Site], None]
) -> None:
    """It is unknown whether it is in the old one: a compressor may have read it before, or it is deleted."""
    site.deliver("acknowledged")
    site.output.publish(batch(["written"]))
    change(site)
    site.deliver("later")
    assert texts(site.path) == ["written", "later"]
    assert site.deliveries.texts == ["acknowledged", "written", "later"]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_synced_into_a_file_that_is_not_at_the_path_any_more_is_not_acknowledged(
    site: Site, change: Callable[[Site], None]
) -> None:
    site.at_sync = lambda: change(site)
    site.output.publish(batch(["synced"]))
    site.output.poll(0)
    assert site.deliveries.texts == []
    site.output.poll(0)
    assert site.deliveries.texts == texts(site.path) == ["synced"]


def test_a_removed_file_does_not_keep_its_disk_space_while_nothing_is_written(site: Site, clock: ManualClock) -> None:
    site.deliver("one")
    site.output.poll(0)
    with site.path.open() as other:
        site.remove()
        clock.advance(CHECK_INTERVAL)
        site.output.poll(0)
        status = os.fstat(other.fileno())
    assert site.path.stat().st_size == 0
    assert (status.st_dev, status.st_ino) not in set(open_files())


def test_what_happened_to_the_file_is_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for change in (Site.rename, Site.copytruncate, Site.remove):
        site.deliver("one")
        change(site)
    site.deliver("one")
    levels = [(record.levelname, record.getMessage().split(" by another")[0]) for record in caplog.records]
    assert [level for level, _ in levels] == ["INFO", "WARNING", "WARNING"]
    renamed, truncated, removed = (message for _, message in levels)
    assert renamed.startswith(f"{site.path} was renamed")
    assert truncated == f"{site.path} was truncated"
    assert removed.startswith(f"{site.path} was removed")


def test_what_another_adds_stays_and_no_record_is_joined_to_it(site: Site) -> None:
    site.deliver("one")
    with site.path.open("a") as other:
        other.write("without an end")
    site.deliver("two")
    first, theirs, second = site.path.read_text().splitlines()
    assert theirs == "without an end"
    assert [json.loads(line)["message"] for line in (first, second)] == ["one", "two"]


def test_what_another_adds_is_not_cut_off_with_what_could_not_be_synced(site: Site) -> None:
    def refuse() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    site.output.publish(batch(["one"]))
    with site.path.open("a") as other:
        other.write('{"message":"theirs"}\n')
    site.at_sync = refuse
    site.deliver("two")
    assert site.deliveries.texts == ["one", "two"]
    assert texts(site.path) == ["one", "theirs", "two", "one", "two"]


def test_a_second_agent_on_the_file_is_refused_by_name(site: Site, clock: ManualClock) -> None:
    with pytest.raises(StartError) as refused:
        FileOutput(OutputFile(site.path), encoder(), RecordedDeliveries(), clock)
    assert str(refused.value) == (
        f"output.file {site.path}: in use by process {os.getpid()}; stop the other agent, or give each agent its "
        "own file (output.file.filename)"
    )


def test_another_name_of_the_file_is_the_same_file(site: Site, clock: ManualClock) -> None:
    link = site.path.with_name("link")
    link.symlink_to(site.path)
    with pytest.raises(StartError, match="in use by process"):
        FileOutput(OutputFile(link), encoder(), RecordedDeliveries(), clock)


def test_the_next_agent_has_the_file_when_the_first_has_ended(tmp_path: Path, clock: ManualClock) -> None:
    deliveries = RecordedDeliveries()
    for text in ("one", "two"):
        output = FileOutput(OutputFile(tmp_path / "shipper"), encoder(), deliveries, clock)
        output.publish(batch([text]))
        output.poll(0)
        output.close()
    assert texts(tmp_path / "shipper") == deliveries.texts == ["one", "two"]


def test_a_file_that_another_agent_took_after_a_rotation_is_waited_for(
    site: Site, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    site.deliver("one")
    site.rename()
    other = FileOutput(OutputFile(site.path), encoder(), RecordedDeliveries(), clock)
    site.deliver("two")
    assert (site.deliveries.texts, site.output.in_flight) == (["one"], 1)
    assert f"cannot write to {site.path}: in use by process {os.getpid()}" in caplog.text
    other.close()
    clock.advance(INTERVAL)
    site.deliver("three")
    assert texts(site.path) == ["two", "three"]
    assert site.deliveries.texts == ["one", "two", "three"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_locks_in_the_file_system_nothing_of_another_agent_is_cut_off(
    tmp_path: Path, clock: ManualClock, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    def no_locks(fd: int) -> None:
        raise OSError(code, os.strerror(code))

    path, deliveries = tmp_path / "shipper", RecordedDeliveries()
    outputs = [FileOutput(OutputFile(path), encoder(), deliveries, clock, lock=no_locks) for _ in range(2)]
    for number in range(40):
        for output in outputs:
            output.publish(batch([f"{number}"]))
            output.poll(0)
    assert sorted(texts(path)) == sorted(deliveries.texts)
    assert len(deliveries.texts) == 80
    assert caplog.text.count("Make sure that no other agent writes to it") == 2
    for output in outputs:
        output.close()


def test_a_lock_that_fails_for_another_reason_is_no_leave_to_write(tmp_path: Path, clock: ManualClock) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(StartError, match="Input/output error"):
        FileOutput(OutputFile(tmp_path / "shipper"), encoder(), RecordedDeliveries(), clock, lock=fail)


def test_what_is_no_plain_file_is_refused_at_the_start(tmp_path: Path, clock: ManualClock) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(StartError, match=r"fifo: not a regular file; .*set another output\.file\.path"):
        FileOutput(OutputFile(tmp_path / "fifo"), encoder(), RecordedDeliveries(), clock)
    with pytest.raises(StartError, match="Is a directory"):
        FileOutput(OutputFile(tmp_path), encoder(), RecordedDeliveries(), clock)
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match="file: Not a directory"):
        FileOutput(OutputFile(tmp_path / "file" / "shipper"), encoder(), RecordedDeliveries(), clock)
