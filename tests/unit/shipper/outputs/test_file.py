import errno
import json
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from log_shipper.shipper.event import Rejection
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.outputs.file import RETRY_INTERVAL, FileOutput, OutputFile
from log_shipper.shipper.processor.formatting import Formatter
from tests.builders import RecordedDeliveries, batch, encoder
from tests.fakes import ManualClock
from tests.processing import batch_of


class Disk:
    """An fsync that refuses while `broken`, and forgets what it was to write, as a kernel does."""

    def __init__(self) -> None:
        self.broken = False
        self.syncs = 0

    def fsync(self, fd: int) -> None:
        self.syncs += 1
        if self.broken:
            os.ftruncate(fd, 0)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.fsync(fd)


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Limit file sizes, as on a full disk: the kernel accepts a part of a write beyond the limit, and refuses the
    next."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def deliveries() -> RecordedDeliveries:
    return RecordedDeliveries()


@pytest.fixture
def output(tmp_path: Path, clock: ManualClock, disk: Disk, deliveries: RecordedDeliveries) -> FileOutput:
    return FileOutput(OutputFile(tmp_path / "out" / "shipper"), encoder(), deliveries, clock, disk.fsync)


def written(path: Path) -> list[str]:
    return [json.loads(line)["message"] for line in (path / "out" / "shipper").read_text().splitlines()]


def test_a_batch_is_delivered_once_it_is_synced(
    output: FileOutput, deliveries: RecordedDeliveries, disk: Disk, tmp_path: Path
) -> None:
    assert output.publish(batch(["a", "b"]))
    assert output.publish(batch(["c"]))
    assert (deliveries.texts, output.in_flight) == ([], 2)
    output.poll(0)
    assert (deliveries.texts, output.in_flight, disk.syncs) == (["a", "b", "c"], 0, 1)
    assert written(tmp_path) == ["a", "b", "c"]


def test_only_the_owner_may_read_the_file(output: FileOutput, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "out" / "shipper").stat().st_mode) == 0o600


def test_an_fsync_that_fails_delivers_nothing(output: FileOutput, deliveries: RecordedDeliveries, disk: Disk) -> None:
    disk.broken = True
    output.publish(batch(["a"]))
    output.poll(0)
    assert (deliveries.texts, output.in_flight) == ([], 1)


def test_after_a_failed_fsync_everything_is_written_again(
    output: FileOutput,
    deliveries: RecordedDeliveries,
    disk: Disk,
    clock: ManualClock,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    disk.broken = True
    output.publish(batch(["a"]))
    output.publish(batch(["b"]))
    output.poll(0)
    assert "Input/output error" in output.problem
    disk.broken = False
    clock.advance(RETRY_INTERVAL)
    output.poll(0)
    assert deliveries.texts == written(tmp_path) == ["a", "b"]
    assert output.problem == ""
    assert [record.message for record in caplog.records if record.levelname == "INFO"] == [
        f"output.file {tmp_path / 'out' / 'shipper'}: events are delivered again"
    ]


def test_what_comes_after_a_failed_fsync_waits_until_the_rest_is_written_again(
    output: FileOutput, deliveries: RecordedDeliveries, disk: Disk, clock: ManualClock, tmp_path: Path
) -> None:
    disk.broken = True
    output.publish(batch(["a"]))
    output.poll(0)
    disk.broken = False
    clock.advance(RETRY_INTERVAL)
    late = batch(["b"])
    if not output.publish(late):
        output.poll(0)
        assert output.publish(late)
    output.poll(0)
    assert deliveries.texts == written(tmp_path) == ["a", "b"]


def test_a_disk_that_refuses_is_retried_after_a_while_and_logged_once_a_minute(
    output: FileOutput, disk: Disk, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    disk.broken = True
    output.publish(batch(["a"]))
    for _ in range(70):
        output.poll(0)
        output.poll(0)
        clock.advance(RETRY_INTERVAL)
    assert disk.syncs == 70
    assert len(caplog.records) == 2
    assert "Input/output error" in caplog.text


def test_a_disk_that_is_full_in_the_middle_of_a_record_leaves_no_part_of_it(
    output: FileOutput, deliveries: RecordedDeliveries, clock: ManualClock, tmp_path: Path
) -> None:
    output.publish(batch(["before"]))
    output.poll(0)
    with no_file_beyond((tmp_path / "out" / "shipper").stat().st_size + 700):
        output.publish(batch(["fits"]))
        output.publish(batch(["also", "half"]))
        output.poll(0)
        assert written(tmp_path) == ["before", "fits"]
        clock.advance(RETRY_INTERVAL)
        output.poll(0)
        assert written(tmp_path) == deliveries.texts == ["before", "fits"]
    clock.advance(RETRY_INTERVAL)
    output.poll(0)
    assert written(tmp_path) == deliveries.texts == ["before", "fits", "also", "half"]


@pytest.mark.parametrize("rest", [b'{"half a rec', b'{"message":"' + b"x" * 200_000])
def test_what_a_killed_writer_left_of_a_line_is_cut_off(
    rest: bytes, tmp_path: Path, deliveries: RecordedDeliveries, clock: ManualClock
) -> None:
    path = tmp_path / "shipper"
    path.write_bytes(b'{"message":"old"}\n' + rest)
    output = FileOutput(OutputFile(path), encoder(), deliveries, clock)
    output.publish(batch(["new"]))
    output.poll(0)
    assert [json.loads(line)["message"] for line in path.read_text().splitlines()] == ["old", "new"]


@pytest.mark.parametrize("theirs", ['{"message":"whole"}', "no record of ours"])
def test_what_no_writer_of_records_left_is_not_cut_off(
    theirs: str, tmp_path: Path, deliveries: RecordedDeliveries, clock: ManualClock
) -> None:
    path = tmp_path / "shipper"
    path.write_text(theirs)
    output = FileOutput(OutputFile(path), encoder(), deliveries, clock)
    output.publish(batch(["new"]))
    output.poll(0)
    first, second = path.read_text().splitlines()
    assert (first, json.loads(second)["message"]) == (theirs, "new")


def test_a_lot_is_synced_before_the_next_poll(output: FileOutput, deliveries: RecordedDeliveries) -> None:
    output.publish(batch(["x" * 5_000_000]))
    assert len(deliveries.texts) == 1


def test_while_the_disk_refuses_a_poll_waits_instead_of_returning_at_once(
    output: FileOutput, disk: Disk, clock: ManualClock
) -> None:
    disk.broken = True
    output.publish(batch(["a"]))
    output.poll(0)
    before = clock.monotonic()
    output.poll(0.02)
    assert clock.monotonic() == before + 0.02
    assert disk.syncs == 1


def test_an_event_without_a_text_is_rejected_and_the_others_are_written(
    tmp_path: Path, clock: ManualClock, deliveries: RecordedDeliveries
) -> None:
    events = batch_of([{"message": "a", "user": "u"}, {"message": "b"}, {"message": "c", "user": "v"}])
    codec = FormatCodec(Formatter("%{[user]}: %{[message]}").texts, 2**31)
    output = FileOutput(OutputFile(tmp_path / "out"), codec, deliveries, clock)
    assert output.publish(events)
    output.poll(0)
    assert (tmp_path / "out").read_bytes() == b"u: a\nv: c\n"
    assert deliveries.rejections == {events: [Rejection(1, "the event has no field user")]}
