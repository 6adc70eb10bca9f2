import json
import stat
from contextlib import closing
from pathlib import Path

import pytest

from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.event import DELETED, Rejection
from log_shipper.shipper.pipeline.dead_letter import FILE, ROTATED, DeadLetterFile
from tests.builders import batch
from tests.fakes import ManualClock


def test_a_rejected_event_is_kept_with_its_place_and_the_reason(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    made = batch(["fine", "b\xe4d"], start=7, time=1.5)
    letter.write(made, [Rejection(1, "too large", "logs")])
    assert json.loads(letter.path.read_text()) == {
        "time": "2025-11-13T02:13:20.000Z",
        "reason": "too large",
        "topic": "logs",
        "file_id": "f1",
        "path": "/var/log/app.log",
        "offset": 12,
        "length": 5,
        "message": "b\xe4d",
        "read": "1970-01-01T00:00:01.500Z",
        "constants": made.constants.members,
    }


def test_what_was_found_beside_the_message_is_kept_too(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    made = batch(["text", "half", "plain"])
    made.messages.texts[1] += " \ud83d"
    made.messages.docs = [{"http": {"code": 200}, "tags": DELETED}, {"n": 2**70}, {}]
    letter.write(made, [Rejection(index, "x", "logs") for index in range(3)])
    written = [json.loads(line) for line in letter.path.read_text().splitlines()]
    assert [(each["message"], each.get("event")) for each in written] == [
        ("text", {"http": {"code": 200}}),
        ("half ?", {"n": str(2**70)}),
        ("plain", None),
    ]


def test_letters_are_added(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    letter.write(batch(["a"]), [Rejection(0, "x", "logs")])
    letter.write(batch(["b", "c"]), [Rejection(0, "x", "logs"), Rejection(1, "y", "logs")])
    assert [json.loads(line)["message"] for line in letter.path.read_text().splitlines()] == ["a", "b", "c"]


def test_only_the_owner_may_read_them(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    letter.write(batch(["a"]), [Rejection(0, "x", "logs")])
    assert stat.S_IMODE(letter.path.stat().st_mode) == 0o600


def test_a_disk_that_refuses_raises(tmp_path: Path, clock: ManualClock) -> None:
    with pytest.raises(OSError, match="No such file or directory"):
        DeadLetterFile(tmp_path / "gone" / "dead.ndjson", clock).write(batch(["a"]), [Rejection(0, "x", "logs")])


def test_letters_are_written_to_a_new_file_after_the_file_was_moved_away(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    letter.write(batch(["a"]), [Rejection(0, "x", "logs")])
    letter.path.rename(tmp_path / "old")
    letter.write(batch(["b"]), [Rejection(0, "x", "logs")])
    assert json.loads(letter.path.read_text())["message"] == "b"


def test_a_letter_in_a_file_that_was_removed_meanwhile_does_not_count(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "dead.ndjson"
    letter = DeadLetterFile(path, clock, lambda fd: path.unlink())
    with pytest.raises(OSError, match="renamed, removed or truncated while it was written"):
        letter.write(batch(["a"]), [Rejection(0, "x", "logs")])


def test_a_file_that_another_process_writes_to_is_not_written_to(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    with closing(AppendFile(letter.path)), pytest.raises(OSError, match="in use by process"):
        letter.write(batch(["a"]), [Rejection(0, "x", "logs")])
    assert letter.path.read_bytes() == b""


def test_a_path_that_is_not_utf_8_can_be_written(tmp_path: Path, clock: ManualClock) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    made = batch(["a"])
    object.__setattr__(made.source, "path", "/var/log/\udcff.log")
    letter.write(made, [Rejection(0, "x", "logs")])
    assert json.loads(letter.path.read_text())["path"] == "/var/log/\ufffd.log"


@pytest.mark.parametrize(("left", "kept"), [('{"time":"2025', []), ('{"message":"whole"}', ["whole"])])
def test_what_a_power_failure_left_of_a_line_does_not_damage_the_next(
    tmp_path: Path, clock: ManualClock, left: str, kept: list[str]
) -> None:
    letter = DeadLetterFile(tmp_path / "dead.ndjson", clock)
    letter.path.write_text(left)
    letter.write(batch(["a"]), [Rejection(0, "x", "logs")])
    assert [json.loads(line)["message"] for line in letter.path.read_text().splitlines()] == [*kept, "a"]


def test_a_file_that_has_become_large_is_renamed_and_none_is_ever_removed(tmp_path: Path, clock: ManualClock) -> None:
    file = DeadLetterFile(tmp_path / FILE, clock, rotate_at=600)
    for text in "abcd":
        file.write(batch([text]), [Rejection(0, "x", "logs")])
        clock.advance(1)
    assert [path.name for path in sorted(tmp_path.glob(ROTATED))] == [
        "dead_letter-20251113T021321.000000.ndjson",
        "dead_letter-20251113T021323.000000.ndjson",
    ]
    texts = [
        json.loads(line)["message"] for path in sorted(tmp_path.glob(ROTATED)) for line in path.read_text().splitlines()
    ]
    assert texts == ["a", "b", "c", "d"]


def test_letters_that_are_on_disk_count_although_their_file_cannot_be_renamed(
    tmp_path: Path, clock: ManualClock
) -> None:
    file = DeadLetterFile(tmp_path / FILE, clock, rotate_at=1)
    (tmp_path / "dead_letter-20251113T021320.000000.ndjson").mkdir()
    file.write(batch(["a"]), [Rejection(0, "x", "logs")])
    assert json.loads((tmp_path / FILE).read_text())["message"] == "a"
