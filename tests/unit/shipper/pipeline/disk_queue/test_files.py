"""The queue's door to the disk, on a real file system."""

from contextlib import closing
from pathlib import Path

import pytest

from log_shipper.runtime.disk_errors import LinkedFile
from log_shipper.shipper.pipeline.disk_queue.files import SegmentDisk
from log_shipper.shipper.pipeline.disk_queue.frames import PLAIN, Frame, Payload
from log_shipper.shipper.pipeline.disk_queue.segments import load
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore
from tests.descriptors import open_below


def test_segments_are_written_found_and_removed(tmp_path: Path) -> None:
    files = SegmentDisk()
    store = SegmentStore(files, tmp_path, 7, segment_size=100)
    for number in range(5):
        store.write([Payload(number, 1, 10, PLAIN, b"%d" % number * 50)])
    assert {name: len(name) for name in files.sizes(tmp_path)} == dict.fromkeys(
        (f"000{number}.seg" for number in (1, 2, 3, 4, 5)), 8
    )
    assert store.bytes == sum(files.sizes(tmp_path).values())
    assert store.remove_before(3)
    contents: list[bytes] = []
    load(files, tmp_path, 7, None, lambda frame, content: contents.append(content))
    assert contents == [b"3" * 50, b"4" * 50]
    assert store.remove_before(5, last=True)
    assert files.sizes(tmp_path) == {}
    assert store.bytes == 0


def test_a_file_that_was_removed_is_let_go_once_reading_stops(tmp_path: Path) -> None:
    files = SegmentDisk()
    with closing(files.open(tmp_path / "1.seg", fresh=True)) as file:
        file.write(b"content")
    assert files.read_at(tmp_path / "1.seg", 3, 100) == b"tent"
    files.unlink(tmp_path / "1.seg")
    files.unlink(tmp_path / "1.seg")
    assert files.read_at(tmp_path / "1.seg", 0, 3) == b"con"
    files.stop_reading()
    assert open_below(tmp_path) == []


def test_segments_are_for_the_agents_user_only_and_no_link_is_followed(tmp_path: Path) -> None:
    files = SegmentDisk()
    files.open(tmp_path / "1.seg", fresh=True).close()
    assert (tmp_path / "1.seg").stat().st_mode & 0o777 == 0o600
    (tmp_path / "2.seg").symlink_to(tmp_path / "1.seg")
    with pytest.raises(LinkedFile):
        files.open(tmp_path / "2.seg")


def test_segments_whose_queue_lost_its_id_are_read_by_their_own_seed(tmp_path: Path) -> None:
    files, sequences = SegmentDisk(), list[int]()
    SegmentStore(files, tmp_path, 7, segment_size=100).write([Payload(0, 1, 10, PLAIN, b"x")])

    def look(frame: Frame, content: bytes) -> None:
        sequences.append(frame.sequence)

    load(files, tmp_path, 8, None, look)
    assert sequences == [0]


def test_a_symlink_that_leads_nowhere_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "1.seg").write_bytes(b"content")
    assert SegmentDisk().sizes(tmp_path) == {"1.seg": 7}
