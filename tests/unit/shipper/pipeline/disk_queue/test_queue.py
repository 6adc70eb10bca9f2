"""What the queue on disk writes, keeps in memory and reads back, driven step by step, without its thread."""

from __future__ import annotations

import errno
import gc
import os
import threading
from collections import deque
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.runtime.disk import DiskFile
from log_shipper.shipper.event import Batch
from log_shipper.shipper.pipeline.disk_queue.files import SegmentDisk
from log_shipper.shipper.pipeline.disk_queue.options import QueueOptions
from log_shipper.shipper.pipeline.disk_queue.repeats import Repeats
from tests.builders import batch, source
from tests.queue_lab import QueueLab, Saved


@pytest.fixture
def lab(tmp_path: Path) -> QueueLab:
    return QueueLab(tmp_path)


def texts(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


def test_what_is_delivered_in_time_is_never_written(lab: QueueLab) -> None:
    for number in range(50):
        lab.put(f"{number}")
        lab.step(0.05)
        lab.deliver()
    assert (lab.on_disk, lab.arrived, lab.resolved) == (0, texts(0, 50), texts(0, 50))
    assert lab.position == 50


@pytest.mark.parametrize("repeatable", [False, True])
def test_what_is_delivered_leaves_memory_at_once(lab: QueueLab, repeatable: bool) -> None:
    def batches() -> int:
        return sum(type(one) is Batch for one in gc.get_objects())

    gc.collect()
    before = batches()
    gc.disable()
    try:
        for _ in range(10):
            lab.put("one", repeatable=repeatable)
            lab.step(0.05)
            lab.deliver()
        lab.step(0.0)
        assert batches() - before <= 1
    finally:
        gc.enable()


def test_what_is_not_delivered_in_time_is_written_and_its_source_may_forget_it(lab: QueueLab) -> None:
    lab.put("one")
    lab.step(0.09)
    assert (lab.on_disk, lab.resolved) == (0, [])
    lab.step(0.01)
    assert (lab.on_disk, lab.resolved) == (1, ["one"])
    lab.kill()
    assert lab.drain() == ["one"]
    assert lab.position == 1


def test_what_can_be_read_again_has_ten_times_as_long(lab: QueueLab) -> None:
    lab.put("one", repeatable=True)
    lab.step(0.99)
    assert lab.on_disk == 0
    lab.step(0.01)
    assert (lab.on_disk, lab.resolved) == (1, ["one"])


def test_what_is_written_takes_with_it_all_that_was_put_before(lab: QueueLab) -> None:
    lab.put("one", repeatable=True)
    lab.put("two")
    lab.step(0.1)
    assert (lab.on_disk, lab.resolved) == (2, ["one", "two"])


def test_without_a_wait_everything_is_written(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0))
    lab.put("one", repeatable=True)
    lab.step()
    assert (lab.on_disk, lab.resolved, len(lab.in_flight)) == (1, ["one"], 1)


def test_what_was_delivered_before_it_is_written_is_left_out(lab: QueueLab) -> None:
    lab.put("one")
    lab.put("two")
    lab.step(0.1, write=False)
    lab.step(write=False)
    lab.deliver()
    lab.writer.step()
    assert lab.on_disk == 1
    lab.kill()
    assert lab.drain() == ["one", "two"]
    assert lab.position == 2


def test_while_the_output_takes_nothing_what_comes_goes_to_disk_and_memory_is_bounded(lab: QueueLab) -> None:
    lab.put("0", "0")
    lab.step(2)
    for number in range(1, 200):
        if lab.queue.has_room:
            lab.put(f"{number}", f"{number}", repeatable=True)
        lab.step(0.01)
        assert lab.memory.events <= lab.events + 2
    assert lab.queue.backlog.frames > 150
    assert lab.resolved == texts(0, lab.queue.sequence)[: len(lab.resolved)]
    assert len(lab.resolved) > 150
    expected = [text for text in texts(0, lab.queue.sequence) for _ in range(2)]
    assert lab.drain() == expected
    assert lab.position == lab.queue.sequence


def test_memory_that_is_smaller_than_a_batch_does_not_keep_the_disk_from_being_used(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, events=1)
    for number in range(20):
        assert lab.queue.has_room
        lab.put(f"{number}", "more", "and more")
        for _ in range(2):
            lab.step(0.1)
    assert lab.queue.backlog.frames == 19
    assert lab.memory.events == 3
    assert [text for text in lab.drain() if "more" not in text] == texts(0, 20)


def test_an_output_that_keeps_up_leaves_the_files_to_be_the_queue(lab: QueueLab) -> None:
    number = 0
    for _ in range(300):
        while lab.queue.has_room:
            lab.put(f"{number}", repeatable=True)
            number += 1
        lab.step(0.01)
        lab.deliver(min(5, len(lab.in_flight)))
    assert lab.on_disk == 0
    assert lab.drain() == texts(0, number)


def test_what_is_put_behind_a_backlog_keeps_its_place(lab: QueueLab) -> None:
    for number in range(120):
        lab.put(f"{number}")
        lab.step(0.1)
    assert lab.queue.backlog.frames
    for number in range(120, 300):
        if lab.queue.has_room:
            lab.put(f"{number}")
        lab.step(0.02)
        lab.deliver(min(3, len(lab.in_flight)))
    assert lab.drain() == texts(0, lab.queue.sequence)


def test_a_backlog_is_read_back_in_steps(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0, read_ahead=3), events=1000)
    for number in range(20):
        lab.put(f"{number}")
    lab.step()
    lab.kill()
    assert lab.queue.backlog.frames == 20
    assert lab.queue.next_step <= lab.clock.monotonic()
    lab.step(write=False)
    assert len(lab.in_flight) == 3
    assert lab.drain() == texts(0, 20)


def test_at_a_stop_what_is_not_delivered_is_on_disk(lab: QueueLab) -> None:
    lab.put("one")
    lab.put("two", repeatable=True)
    lab.step()
    lab.writer.start()
    lab.queue.close(10)
    assert lab.resolved == ["one", "two"]
    lab.kill()
    assert lab.drain() == ["one", "two"]


def test_what_cannot_be_written_at_a_stop_is_not_resolved_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0), max_size=1)
    for number in range(3):
        lab.put(f"{number}", repeatable=number == 1)
        lab.step()
    lab.writer.start()
    lab.queue.close(0.1)
    lab.queue.close(0.1)
    assert lab.resolved == ["0"]
    assert [record.message for record in caplog.records] == [
        "lost at the stop: 1 events, neither delivered nor on disk, of inputs that cannot read them again: the queue "
        "on disk is full or too slow"
    ]


class HungDisk(SegmentDisk):
    """A disk of a server that has died: a new file is written when the server `is_back`."""

    def __init__(self) -> None:
        super().__init__()
        self.is_back = threading.Event()

    def open(self, path: Path, fresh: bool = False) -> DiskFile:
        self.is_back.wait()
        return super().open(path, fresh)


def test_what_is_being_written_when_the_stop_does_not_wait_any_longer_is_logged_as_lost(
    lab: QueueLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.files = disk = HungDisk()
    lab.start()
    lab.put("one")
    lab.writer.start()
    lab.queue.close(0.1)
    assert "lost at the stop: 1 events" in caplog.text
    disk.is_back.set()
    assert lab.writer.flush(10)
    assert lab.writer.unwritten == []


def test_whether_the_writer_is_idle_is_not_answered_while_it_takes_what_it_writes(lab: QueueLab) -> None:
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(lab.writer.idle))

    class Asked:
        """A batch that the writer is taking when another thread asks."""

        @property
        def is_delivered(self) -> bool:
            asking.start()
            asking.join(0.1)
            assert not answers
            return True

    lab.writer.submit([Asked()])  # type: ignore[list-item]  # nothing else of it is used
    lab.writer.step()
    asking.join()
    assert answers == [True]


def test_a_full_queue_takes_no_more_until_something_is_delivered(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0), events=8, max_size=1500, segment_size=300)
    number = 0
    for _ in range(60):
        if lab.queue.has_room:
            lab.put(f"{number}")
            number += 1
        lab.step(31)
    assert lab.writer.is_full
    assert not lab.queue.has_room
    assert lab.store.bytes <= 1500
    assert number < 40
    lab.deliver(len(lab.in_flight))
    for _ in range(5):
        lab.step(31)
    assert lab.queue.has_room
    assert lab.drain() == texts(0, number)


def test_segments_are_removed_when_all_is_delivered_and_the_registry_knows(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0), events=1000, segment_size=500)
    lab.saves = False
    for number in range(20):
        lab.put(f"{number}")
        lab.step()
    assert len(lab.store.segments) > 3
    lab.drain()
    lab.step(10)
    assert len(lab.store.segments) > 3
    assert lab.queue._removal is not None
    lab.saves = True
    lab.queue._removal = (Saved(), *lab.queue._removal[1:])
    for _ in range(3):
        lab.step(10)
    assert lab.store.segments == deque()
    assert lab.store.bytes == 0
    assert list(tmp_path.iterdir()) == []
    lab.put("more")
    lab.step()
    lab.kill()
    assert lab.drain()[-1] == "more"


def test_a_lost_registry_has_what_is_on_disk_sent_again(lab: QueueLab) -> None:
    for number in range(3):
        lab.put(f"{number}")
        lab.step(0.1)
    lab.deliver(2)
    lab.progress = None
    lab.arrived.clear()
    lab.kill()
    assert lab.drain() == texts(0, 3)


def test_nothing_is_published_before_it_is_on_disk_where_transactions_ask_for_that(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(is_written_first=True))
    for number in range(60):
        if lab.queue.has_room:
            lab.put(f"{number}", repeatable=True, start=number * 10)
        lab.step(write=False)
    assert not lab.in_flight
    lab.step()
    assert lab.resolved == texts(0, lab.queue.sequence)
    assert lab.drain() == texts(0, lab.queue.sequence)


def test_what_is_on_disk_of_a_file_is_not_put_again(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path)
    lab.queue.repeats.note("f1", 20)
    lab.put("a", "b", start=10)
    lab.put("c" * 7, "d" * 7, start=14)
    lab.put("e", start=30)
    lab.put("other", file_id="f2")
    assert lab.resolved == ["a"]
    lab.queue.repeats.keep({"f1": 19}.get)
    assert lab.queue.repeats.text == '{"f1":20}'
    assert lab.drain() == ["d" * 7, "e", "other"]
    assert lab.queue.repeats.text == ""


def test_a_dead_letter_is_no_repeat_of_what_is_on_disk_of_its_file(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0))
    lab.queue.repeats.note("f1", 20)
    letter = batch(["a"], "f1", 10, resolve=lambda: lab.resolved.append("a"))
    letter.source = replace(source("f1"), letter="id")
    assert lab.queue.takes_more(letter.source)
    lab.queue.put(letter)
    lab.step()
    assert (lab.on_disk, lab.resolved) == (0, [])
    lab.deliver()
    assert (lab.arrived, lab.resolved) == (["a"], ["a"])


@pytest.mark.parametrize("position", [20, None])
def test_a_file_that_the_registry_has_as_far_or_not_at_all_gives_nothing_again(position: int | None) -> None:
    repeats = Repeats('{"f1":20}')
    repeats.keep(lambda file_id: position)
    assert repeats.text == ""


def test_what_can_be_read_again_passes_by_where_only_the_rest_is_queued(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0, takes_all=False))
    lab.put("file", repeatable=True)
    lab.put("socket")
    lab.step()
    assert (lab.on_disk, lab.resolved) == (1, ["socket"])
    files, sockets = replace(source(), repeatable=True), replace(source(), repeatable=False)
    for _ in range(28):
        lab.put("file", repeatable=True)
    assert not lab.queue.takes_more(files)
    assert lab.queue.takes_more(sockets)
    assert lab.queue.has_room
    lab.drain()
    assert lab.queue.takes_more(files)


def test_damage_to_the_backlog_is_counted_and_the_rest_is_delivered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0), segment_size=600)
    for number in range(10):
        lab.put(f"{number}")
        lab.step()
    lab.kill()
    path = lab.store.segments[1].path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    arrived = lab.drain()
    assert len(arrived) == 9
    assert (lab.lost.events, lab.queue.backlog.frames) == (1, 0)
    assert f"is damaged: {path} from byte" in caplog.text
    for _ in range(3):
        lab.step(10)
    assert lab.store.segments == deque()


def test_a_segment_that_someone_removed_is_lost_and_holds_up_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0), segment_size=600)
    for number in range(10):
        lab.put(f"{number}")
        lab.step()
    lab.kill()
    lab.store.segments[1].path.unlink()
    arrived = lab.drain()
    assert 0 < len(arrived) < 10
    assert arrived[-1] == "9"
    assert lab.queue.backlog.frames == 0
    assert f"is damaged: {lab.directory}/0002.seg from byte" in caplog.text


def test_a_segment_that_is_there_twice_is_delivered_once(tmp_path: Path) -> None:
    lab = QueueLab(tmp_path, QueueOptions(flush=0), segment_size=600)
    for number in range(10):
        lab.put(f"{number}")
        lab.step()
    (tmp_path / "0009.seg").write_bytes(lab.store.segments[0].path.read_bytes())
    lab.kill()
    assert lab.drain() == [f"{number}" for number in range(10)]


def test_a_directory_that_someone_removed_is_made_again(lab: QueueLab) -> None:
    lab.directory.rmdir()
    lab.put("one")
    lab.step(0.1)
    assert (lab.on_disk, lab.resolved) == (1, ["one"])


def test_a_disk_that_refuses_is_retried_and_named(lab: QueueLab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    (lab.directory / "file").write_text("in the way")
    lab.store.directory = lab.directory / "file"
    lab.put("one")
    lab.step(0.1)
    assert "Not a directory; check this file system" in lab.writer.problem
    assert lab.resolved == []
    lab.store.directory = lab.directory
    lab.step(1)
    assert (lab.writer.problem, lab.resolved) == ("", ["one"])
    assert "is writable again" in caplog.messages[-1]


class Undeletable(SegmentDisk):
    """A disk that removes nothing at first."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = True

    def unlink(self, path: Path) -> None:
        if self.refuses:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        super().unlink(path)


def test_a_segment_that_can_be_removed_at_last_ends_the_problem(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    lab = QueueLab(tmp_path, QueueOptions(flush=0))
    lab.files = disk = Undeletable()
    lab.start()
    lab.put("one")
    lab.drain()
    for _ in range(3):
        lab.step(10)
    assert "Operation not permitted" in lab.writer.problem
    disk.refuses = False
    for _ in range(3):
        lab.step(10)
    assert (lab.writer.problem, list(tmp_path.iterdir())) == ("", [])
    assert "is writable again" in caplog.messages[-1]


class ReportedWhenClosed(DiskFile):
    """A file of a network file system, which reports only then what it could not write."""

    def close(self) -> None:
        super().close()
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


class NetworkDisk(SegmentDisk):
    def open(self, path: Path, fresh: bool = False) -> DiskFile:
        with closing(super().open(path, fresh)) as file:
            return ReportedWhenClosed(os.dup(file._descriptor))


def test_an_error_of_a_close_ends_neither_the_writing_nor_the_stop(lab: QueueLab) -> None:
    lab.files, lab.segment_size = NetworkDisk(), 1
    lab.start()
    for number in range(3):
        lab.put(f"{number}")
        lab.step(0.1)
    assert (lab.resolved, lab.writer.problem) == (texts(0, 3), "")
    lab.queue.close(1.0)
    lab.files = SegmentDisk()
    lab.kill()
    assert lab.drain() == texts(0, 3)
