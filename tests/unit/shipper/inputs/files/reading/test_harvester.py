from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.inputs.files.identity.fingerprint import digest
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.reader.log_file import READ_SIZE
from tests.builders import multiline
from tests.fakes import ManualClock

OpenHarvester = Callable[..., Harvester]
INDENTED = multiline(r"^\s")


def append(harvester: Harvester, content: bytes) -> None:
    with Path(harvester.state.path).open("ab") as file:
        file.write(content)


def test_what_is_read_is_tracked_and_noted_when_it_is_resolved(
    open_harvester: OpenHarvester, noted: list[FileState], clock: ManualClock
) -> None:
    harvester = open_harvester(b"one\ntwo\n")
    batch = harvester.read()
    assert batch is not None
    assert batch.messages.texts == ["one", "two"]
    assert (batch.source.file_id, batch.time) == (harvester.state.id, clock.time())
    assert (harvester.offset, harvester.state.position, noted) == (8, 0, [])
    batch.resolve()
    assert (noted[-1].position, noted[-1].updated, harvester.settled) == (8, clock.time(), True)


def test_the_state_remembers_the_bytes_before_its_own_position(
    open_harvester: OpenHarvester, noted: list[FileState]
) -> None:
    harvester = open_harvester(b"one\n")
    first = harvester.read()
    append(harvester, b"two\n")
    second = harvester.read()
    assert first is not None
    assert second is not None
    first.resolve()
    after_first = noted[-1]
    second.resolve()
    assert after_first.tail_hash == digest(b"one\n")
    assert noted[-1].tail_hash == digest(b"one\ntwo\n")
    assert noted[-1].fingerprint == (8, digest(b"one\ntwo\n"))


def test_a_message_that_is_ended_by_time_leaves_its_cut_until_it_is_acknowledged(
    open_harvester: OpenHarvester, noted: list[FileState], clock: ManualClock
) -> None:
    harvester = open_harvester(b"one\n +\n", INDENTED)
    nothing_yet = harvester.read()
    assert nothing_yet is not None
    nothing_yet.resolve()
    assert harvester.message_deadline == clock.monotonic() + 5
    assert not harvester.over
    ended = harvester.end_message()
    assert ended is not None
    assert ended.messages.texts == ["one\n +"]
    assert harvester.state.cuts == (7,)
    ended.resolve()
    assert (noted[-1].position, noted[-1].cuts) == (7, ())


def test_a_read_that_returns_all_that_there_is_needs_no_second_one_to_show_it(open_harvester: OpenHarvester) -> None:
    harvester = open_harvester(b"one\n")
    assert harvester.read() is not None
    assert harvester.at_end
    append(harvester, b"x" * READ_SIZE + b"\ntwo\n")
    assert harvester.read() is not None
    assert not harvester.at_end
    assert harvester.read() is not None
    assert harvester.at_end


def test_after_the_end_was_reached_a_file_with_another_head_is_another(open_harvester: OpenHarvester) -> None:
    lines = b"the same line, again and again\n" * 50
    harvester = open_harvester(lines)
    assert harvester.read() is not None
    Path(harvester.state.path).write_bytes(lines.replace(b"the same", b"Another ", 1) + b"more\n")
    with pytest.raises(Truncated):
        harvester.read()


def test_what_was_read_is_known_beyond_what_became_messages(open_harvester: OpenHarvester) -> None:
    harvester = open_harvester(b"one\ntw")
    harvester.read()
    assert (harvester.offset, harvester.read_to) == (4, 6)


def test_its_repr_shows_its_state(open_harvester: OpenHarvester) -> None:
    harvester = open_harvester(b"one\n")
    harvester.read()
    assert repr(harvester) == f"<Harvester {harvester.state.path} id of app.log position=0 offset=4>"
