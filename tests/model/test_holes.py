"""Files that begin with a hole, as copytruncate leaves them under a writer that does not append."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import CHECK_INTERVAL
from tests.model.user_lab import UserLab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[UserLab]:
    lab = UserLab(tmp_path)
    yield lab
    lab.close()


def test_the_hole_under_a_writer_that_does_not_append_is_no_text(lab: UserLab) -> None:
    with (lab.logs / "a.log").open("wb", buffering=0) as writer:
        lab.keep(lab.logs / "a.log")
        writer.write(b"one\n")
        lab.start()
        lab.until_messages("one")
        lab.truncate("a.log")
        lab.pass_time(CHECK_INTERVAL)
        writer.write(b"two\nthree\n")
        lab.wait_until(lambda: len(lab.messages) == 3, seconds=CHECK_INTERVAL)
    assert lab.messages == ["one", "two", "three"]


def test_the_first_line_after_a_hole_larger_than_a_message_comes_whole(lab: UserLab) -> None:
    lab.options = {"message_max_bytes": 100}
    with (lab.logs / "a.log").open("wb", buffering=0) as writer:
        lab.keep(lab.logs / "a.log")
        writer.seek(1_000_000)
        writer.write(b"one\ntwo\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 2, seconds=0.0005)
    assert [(event.message, event.offset, event.length) for event in lab.arrived] == [
        ("one", 0, 1_000_004),
        ("two", 1_000_004, 4),
    ]


@pytest.mark.parametrize(("pattern", "negate"), [(r"^\s", False), (r"^\[", True)])
def test_a_message_does_not_continue_behind_a_hole(lab: UserLab, pattern: str, negate: bool) -> None:
    multiline = {"type": "pattern", "pattern": pattern, "negate": negate, "match": "after"}
    lab.options = {"message_max_bytes": 1000, "parsers": [{"multiline": multiline}]}
    with (lab.logs / "a.log").open("wb", buffering=0) as writer:
        lab.keep(lab.logs / "a.log")
        writer.write(b"[0] " + b"y" * 3000 + b"\n[1] one\n")
        lab.start()
        lab.pass_time(1.0)
        lab.copytruncate("a.log", "a.log.1")
        lab.pass_time(0.1)
        writer.write(b"  more\n[2] two\n[3] three\n")
        lab.pass_time(3 * CHECK_INTERVAL, steps=60)
    assert [message.strip() for message in lab.messages[1:]] == ["[1] one", "more", "[2] two", "[3] three"]
