"""Files that are rotated, copied, compressed, truncated and deleted, as stories."""

import gzip
import os

import pytest

from log_shipper.registry.load import read
from log_shipper.shipper.options.model import FileIdentityConfig
from tests.builders import multiline
from tests.lab import CHECK_INTERVAL, Lab


def test_a_copy_that_was_made_before_truncation_is_not_shipped_again(lab: Lab) -> None:
    lab.ship("a.log", "one", "two")
    lab.copytruncate("a.log", "a.log.1")
    lab.append("a.log", "three\n")
    lab.scan()
    assert lab.messages == ["one", "two", "three"]
    assert lab.running.metrics.bytes_lost == 0


def test_a_copy_that_is_seen_before_its_original_is_truncated_waits(lab: Lab) -> None:
    lab.ship("a.log", "one", "two")
    (lab.logs / "a.log.1").touch()
    lab.take_steps(5)
    (lab.logs / "a.log.1").write_bytes(b"one\n")
    for _ in range(5):
        lab.step(seconds=0.1, wait=0.002)
    (lab.logs / "a.log.1").write_bytes(b"one\ntwo\n")
    for _ in range(5):
        lab.step(seconds=0.1, wait=0.002)
    lab.truncate("a.log")
    lab.append("a.log", "three\n")
    lab.scan()
    assert lab.messages == ["one", "two", "three"]


def test_what_was_not_read_before_truncation_is_read_from_the_copy(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.copytruncate("a.log", "a.log.1")
    lab.append("a.log", "three\n")
    lab.scan()
    assert lab.messages == ["one", "two", "three"]
    (first,) = {event.file_id for event in lab.arrived if event.message in ("one", "two")}
    assert [event.offset for event in lab.arrived if event.file_id == first] == [0, 4]


def test_a_file_with_the_header_of_another_is_read_as_soon_as_it_has_a_line_of_its_own(lab: Lab) -> None:
    lab.ship("a.log", "header", "one")
    lab.append("a.log.2", "header\n")
    lab.take_steps(5)
    lab.append("a.log.2", "two\n")
    lab.wait_until(lambda: len(lab.arrived) == 4)
    assert lab.messages[2:] == ["header", "two"]


def compress(lab: Lab, name: str) -> None:
    with gzip.open(lab.logs / f"{name}.gz", "wb") as packed:
        packed.write((lab.logs / name).read_bytes())
    lab.remove(name)


def test_what_was_shipped_as_plain_text_is_not_shipped_again_from_its_gz(lab: Lab) -> None:
    lab.input["compression"] = "auto"
    lab.append("a.log", "one\ntwo\n" * 100)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 200)
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", "three\n")
    lab.scan(3)
    compress(lab, "a.log.1")
    lab.scan()
    assert len(lab.arrived) == 201
    assert len(read(lab.data / "registry")) == 2
    lab.stop()
    lab.start()
    lab.scan()
    assert len(lab.arrived) == 201


def test_a_gz_with_more_than_was_shipped_is_resumed(lab: Lab) -> None:
    lab.input["compression"] = "auto"
    lab.append("a.log", "one\n" * 100)
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 100)
    lab.stop()
    lab.append("a.log", "two\nlast")
    compress(lab, "a.log")
    lab.start()
    lab.scan()
    assert lab.messages[100:] == ["two", "last"]
    assert len(lab.file_ids) == 1


def test_a_gz_that_was_never_seen_is_read_through(lab: Lab) -> None:
    lab.input["compression"] = "auto"
    lab.append("a.log.1", "one\ntwo\n")
    compress(lab, "a.log.1")
    lab.start()
    lab.scan()
    assert lab.messages == ["one", "two"]
    assert not lab.crawler.running


@pytest.mark.parametrize("name", ["a.log.1.gz.tmp", "b.log.1.gz.tmp"])
@pytest.mark.parametrize("first", [0, 1, 2, 3, 20])
def test_a_gz_that_was_empty_under_a_temporary_name_is_not_shipped_as_text(lab: Lab, name: str, first: int) -> None:
    """Beside a file of which it may be a copy, it waits; otherwise it is read already when it gets its first bytes."""
    lab.input["compression"] = "auto"
    lab.ship("a.log", "one")
    lines = [f"row {number}" for number in range(300)]
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0x0A0A0A0A)  # as ends of lines
    with (lab.logs / name).open("wb", buffering=0) as file:
        lab.wait_until(lambda: lab.inode(name) in lab.opened_by_agent(), seconds=0.0005)
        file.write(packed[:first])
        lab.take_steps()
        file.write(packed[first:])
    lab.take_steps()
    lab.rotate(name, to=name.removesuffix(".tmp"))
    lab.scan(3)
    assert lab.messages == ["one", *lines]


def test_nor_are_its_lines_shipped_again_if_it_is_a_copy(lab: Lab) -> None:
    lab.input["compression"] = "auto"
    lab.ship("a.log.1", "one", "two")
    with (lab.logs / "a.log.1.gz.tmp").open("wb") as file:
        lab.wait_until(lambda: lab.inode("a.log.1.gz.tmp") in lab.opened_by_agent(), seconds=0.0005)
        file.write(gzip.compress(b"one\ntwo\n"))
    lab.take_steps()
    lab.rotate("a.log.1.gz.tmp", to="a.log.1.gz")
    lab.remove("a.log.1")
    lab.scan(3)
    assert lab.messages == ["one", "two"]


def test_a_text_that_was_empty_at_first_is_shipped_as_text(lab: Lab) -> None:
    lab.input["compression"] = "auto"
    lab.append("a.log", "")
    lab.start()
    lab.wait_until(lambda: lab.inode("a.log") in lab.opened_by_agent())
    lab.append("a.log", "\x1f")
    lab.take_steps()
    lab.append("a.log", " one\n")
    lab.wait_until(lambda: lab.messages == ["\x1f one"])


def test_once_reads_gzip_files_too(lab: Lab) -> None:
    lab.input["compression"] = "auto"
    lab.append("a.log.1", "one\ntwo")
    compress(lab, "a.log.1")
    lab.append("a.log", "three")
    lab.run_once()
    lab.run_once()
    assert sorted(lab.messages) == ["one", "three", "two"]


@pytest.mark.parametrize("closed_first", ["new", "old"])
def test_by_path_a_file_that_left_the_paths_is_not_taken_for_the_new_one_at_its_path(
    lab: Lab, closed_first: str
) -> None:
    """Its program writes to it for some time."""
    lab.input["file_identity"] = FileIdentityConfig("path")
    lab.ship("a.log", "old 1", "old 2", "old 3")
    lab.rotate("a.log", to="a-old")
    lab.append("a.log", "new 1\n")
    written, closed = ("a-old", "a.log") if closed_first == "new" else ("a.log", "a-old")
    lab.wait_until(lambda: lab.inode("a.log") in lab.opened_by_agent())
    while lab.inode(closed) in lab.opened_by_agent():
        lab.append(written, f"{written} +\n")
        lab.step(seconds=CHECK_INTERVAL, wait=0.002)
        lab.take_steps()
    if closed_first == "old":
        lab.rotate("a.log", to="b-old")
        lab.append("a.log", "newest 1\n")
    for _ in range(10):
        lab.step(seconds=CHECK_INTERVAL, wait=0.002)
    assert not lab.opened_by_agent() & {lab.inode("a.log"), lab.inode("a-old")}
    lines = [f"line {number}" for number in range(15)]
    lab.append("a.log", "".join(f"{line}\n" for line in lines))
    lab.scan(3)
    assert lab.messages[-15:] == lines
    assert ("newest 1" in lab.messages) is (closed_first == "old")
    assert len(lab.file_ids) == (3 if closed_first == "old" else 2)


def test_a_message_that_lies_across_a_rotation_comes_out_whole(lab: Lab) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "one\ntwo\n +\n")
    lab.start()
    # Hardly any time passes while the test waits for the watcher's thread: else the message would end by its timeout.
    lab.wait_until(lambda: lab.messages == ["one"], seconds=0.0004)
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", " ++\nthree\nfour\n")
    lab.wait_until(lambda: len(lab.arrived) == 3, seconds=0.0004)
    lab.scan()
    assert lab.messages == ["one", "two\n +\n ++", "three", "four"]
    assert [event.offset for event in lab.arrived] == [0, 4, 4, 10]
    assert [event.length for event in lab.arrived] == [4, 11, 6, 5]


def rotate_within_a_message(lab: Lab, continuation: str) -> None:
    """Rotate a.log after the first two lines of a pending message; the new file has its continuation."""
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "one\n +\n")
    lab.start()
    lab.take_steps()
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", continuation)


def test_a_message_across_a_rotation_waits_for_its_end_in_the_new_file(lab: Lab) -> None:
    rotate_within_a_message(lab, "")
    lab.take_steps()
    lab.append("a.log", " ++\n")
    lab.take_steps()
    lab.append("a.log", " +++\ntwo\n")
    lab.wait_until(lambda: len(lab.arrived) == 1)
    lab.scan()
    assert lab.messages == ["one\n +\n ++\n +++", "two"]


def test_a_message_across_a_rotation_is_the_same_after_a_kill(lab: Lab) -> None:
    rotate_within_a_message(lab, " ++\ntwo\n")
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.destination.arrive()
    lab.kill()
    lab.start()
    lab.scan()
    assert lab.messages == ["one\n +\n ++", "one\n +\n ++", "two"]


def test_of_a_message_across_a_rotation_that_ends_by_time_later_lines_belong_to_the_new_file(lab: Lab) -> None:
    rotate_within_a_message(lab, " ++\n")
    # Hardly any time passes before the watcher's thread has reported the rotation: the timeout begins after it.
    lab.wait_until(lambda: any(harvester.is_continued for harvester in lab.crawler.running.values()), seconds=0.0004)
    lab.wait_until(lambda: lab.messages == ["one\n +\n ++"], seconds=1)
    lab.append("a.log", " late\ntwo\n")
    lab.scan()
    assert lab.messages == ["one\n +\n ++", " late", "two"]


def test_a_message_across_a_rotation_while_the_agent_was_down_comes_out_whole(lab: Lab) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "zero\none\n +\n")
    lab.start()
    lab.wait_until(lambda: lab.messages == ["zero"])
    lab.stop()
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", " ++\ntwo\n")
    lab.start()
    lab.scan()
    assert lab.messages == ["zero", "one\n +\n ++", "two"]


def test_a_deleted_file_is_read_to_its_end(lab: Lab) -> None:
    lab.append("a.log", "x" * 99 + "\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.append("a.log", "last\n")
    lab.remove("a.log")
    lab.scan(3)
    lab.destination.holding = False
    lab.scan()
    assert lab.messages[-1] == "last"
    assert not lab.crawler.running


def test_a_file_that_is_moved_away_and_back_is_resumed(lab: Lab) -> None:
    lab.ship("a.log", "one")
    away = lab.logs.parent / "away"
    os.rename(lab.logs / "a.log", away)
    lab.scan()
    os.rename(away, lab.logs / "a.log")
    lab.append("a.log", "two\n")
    lab.scan()
    assert lab.messages == ["one", "two"]


@pytest.mark.parametrize("down", [True, False])
def test_two_rotations_that_the_agent_did_not_see_lose_nothing(lab: Lab, down: bool) -> None:
    lab.ship("a.log", "one")
    if down:
        lab.stop()
    lab.append("a.log", "two\n")
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", "three\n")
    lab.rotate("a.log.1", to="a.log.2")
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", "four\n")
    if down:
        lab.start()
    lab.expect_lines("a.log.2", "one", "two")
    lab.expect_lines("a.log.1", "three")
    lab.expect_lines("a.log", "four")
    assert len(lab.arrived) == 4
    assert len(lab.file_ids) == 3


def test_a_file_that_is_renamed_over_another_resumes_where_it_was(lab: Lab) -> None:
    lab.append("a.log", "of the one that goes\n")
    lab.append("b.log", "of the other\n")
    lab.start()
    lab.expect_lines("a.log", "of the one that goes")
    lab.expect_lines("b.log", "of the other")
    lab.rotate("b.log", to="a.log")
    lab.append("a.log", "after the rename\n")
    lab.expect_lines("a.log", "of the other", "after the rename")
    lab.scan()
    assert len(lab.arrived) == 3
    assert len(lab.file_ids) == 2


LONG_HEADER = "h" * 2000 + "\n"  # longer than the first bytes that the registry keeps


def test_a_truncated_file_that_grew_past_the_position_behind_an_equal_header_is_new(lab: Lab) -> None:
    lab.append("a.log", LONG_HEADER + "one\n")
    lab.start()
    lab.expect_lines("a.log", LONG_HEADER[:-1], "one")
    lab.stop()
    lab.truncate("a.log")
    lab.append("a.log", LONG_HEADER + "two\nthree\n")
    lab.start()
    lab.expect_lines("a.log", LONG_HEADER[:-1], "one", LONG_HEADER[:-1], "two", "three")
    assert len(lab.file_ids) == 2


def test_two_files_with_equal_headers_are_two_files(lab: Lab) -> None:
    lab.append("a.log", LONG_HEADER + "one\n")
    lab.append("b.log", LONG_HEADER + "two\n")
    lab.start()
    lab.expect_lines("a.log", LONG_HEADER[:-1], "one")
    lab.expect_lines("b.log", LONG_HEADER[:-1], "two")
    assert len(lab.file_ids) == 2


def test_what_is_truncated_unread_is_counted_and_logged_with_path_file_id_and_range(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.append("a.log", "read\nunfinished")
    lab.start()
    lab.expect_lines("a.log", "read")
    lab.truncate("a.log")
    lab.append("a.log", "new\n")
    lab.expect_lines("a.log", "read", "new")
    file_id = lab.arrived[0].file_id
    (warning,) = [line for line in caplog.messages if "lost" in line]
    assert f"{lab.logs}/a.log" in warning
    assert file_id in warning
    assert "offset 5" in warning
    assert lab.running.metrics.bytes_lost == len("unfinished")


def test_a_copy_that_is_deleted_unread_before_a_stop_is_counted(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    lab.append("a.log", "a line of the file\n" * 100_000)
    lab.start()
    lab.destination.holding = True
    lab.take_steps(3)
    (harvester,) = lab.crawler.running.values()
    lab.copytruncate("a.log", "a.log.1")
    lab.wait_until(lambda: not harvester.is_open and lab.crawler.files.suspects, seconds=1)
    lab.remove("a.log.1")
    lab.take_steps()
    lab.destination.holding = False
    lab.stop()
    assert lab.bytes_lost == 1_900_000 - harvester.offset > 0
    assert f"{lab.bytes_lost} bytes from offset {harvester.offset}, which only this copy" in caplog.text


def test_a_pending_message_that_is_sent_at_a_truncation_is_not_counted(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.ship("a.log", "zero", "one")
    lab.append("a.log", "two\n more of two\nunfinished")
    lab.take_steps()
    lab.truncate("a.log")
    lab.scan(2)
    assert lab.messages == ["zero", "one", "two\n more of two"]
    assert lab.running.metrics.bytes_lost == len("unfinished")
    assert "up to 10 bytes from offset 26 may be lost" in caplog.text


def test_what_a_copy_lacks_of_the_file_that_is_then_truncated_is_counted(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", "one")
    lab.destination.holding = True
    while lab.running.pipeline.has_room:
        lab.append("a.log", "two\n" * 10_000)
        lab.step(seconds=0.1)
    lab.append("a.log", "copied\n")
    lab.copy("a.log", "a.log.1")
    lab.append("a.log", "after the copy\n")
    for _ in range(2):
        lab.step(seconds=1)
    lab.truncate("a.log")
    lab.destination.holding = False
    lab.scan()
    assert lab.messages[-1] == "copied"
    assert lab.running.metrics.bytes_lost == len("after the copy\n")
    assert "except the last 15, which are not in the copy and may be lost" in caplog.text
