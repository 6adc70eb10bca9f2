"""What the registry takes from the positions that were committed in Kafka."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from log_shipper.registry.entry import encoded
from log_shipper.registry.state import FileState
from log_shipper.shipper.agent.committed_positions import Stopped, resume
from log_shipper.shipper.errors import StartError

ENTRY = FileState("f1", "/var/log/app.log", 1, 2, position=10, size_seen=10, proof="of 10", cuts=(15, 25))
FURTHER = replace(ENTRY, position=20, size_seen=20, proof="of 20", cuts=(25,), path="/old/path")


@dataclass
class Committed:
    """An output with these entries in its topic; None if the agent was stopped before it had them."""

    entries: Mapping[str, bytes] | None

    def start(self, stopping: Callable[[], bool]) -> Mapping[str, bytes] | None:
        return self.entries

    def forget(self, file_id: str) -> None:
        pass


def adopted(*committed: FileState, known: tuple[FileState, ...] = (), is_new: bool = False) -> list[FileState]:
    output = Committed({state.id: encoded(state) for state in committed})
    return resume(output, {state.id: state for state in known}, is_new=is_new, stopping=lambda: False)


def test_a_position_that_is_further_than_the_registrys_is_taken_with_its_proof() -> None:
    (state,) = adopted(FURTHER, known=(ENTRY,))
    assert state == replace(ENTRY, position=20, size_seen=20, proof="of 20", cuts=(25,))


def test_of_what_is_no_file_the_cursor_is_taken_and_every_place_where_a_message_was_ended() -> None:
    entry = FileState("j1", "/journal", 0, 0, position=10, kind="journald", cursor="i=10", cuts=(7, 5))
    further = replace(entry, position=20, cursor="i=20", cuts=(8, 5))
    (state,) = adopted(further, known=(entry,))
    assert (state.position, state.cursor, set(state.cuts)) == (20, "i=20", {5, 7, 8})


@pytest.mark.parametrize("position", [20, 30])
def test_a_position_that_is_not_further_changes_nothing(position: int) -> None:
    assert adopted(FURTHER, known=(replace(ENTRY, position=position),)) == []


def test_a_new_registry_takes_all_that_was_committed() -> None:
    assert adopted(FURTHER, is_new=True) == [FURTHER]


@pytest.mark.parametrize("link", ["f2", None])
def test_the_link_to_the_file_that_continues_a_message_stays_whichever_entry_was_made_before_it(
    link: str | None,
) -> None:
    (state,) = adopted(
        replace(FURTHER, continues_in=None if link else "f2"), known=(replace(ENTRY, continues_in=link),)
    )
    assert state.continues_in == "f2"


def test_the_link_goes_with_the_message_that_was_committed() -> None:
    successor = replace(ENTRY, id="f2", position=0)
    (state, read) = adopted(
        FURTHER, replace(successor, position=5), known=(replace(ENTRY, continues_in="f2"), successor)
    )
    assert (state.continues_in, read.position) == (None, 5)


def test_what_was_removed_from_the_registry_does_not_come_back() -> None:
    assert adopted(FURTHER, known=(replace(ENTRY, id="f2"),)) == []


def test_a_topic_without_positions_leaves_those_of_the_registry() -> None:
    assert adopted(known=(ENTRY,)) == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (encoded(ENTRY).replace(b'"cursor"', b'"invented"'), "missing or unknown members: cursor, invented"),
        (b'{"id":"f1","path":"/a"}', "missing or unknown members: .*"),
        (
            encoded(ENTRY).replace(b'"version":1', b'"version":2'),
            "format version 2 is not supported; this release reads version 1",
        ),
    ],
)
def test_an_entry_of_another_release_is_refused(entry: bytes, reason: str) -> None:
    output = Committed({"f1": entry})
    with pytest.raises(StartError, match=rf"cannot read a committed position \({reason}\)\. Run the release"):
        resume(output, {}, is_new=True, stopping=lambda: False)


def test_an_agent_that_is_stopped_before_kafka_answers_does_not_start() -> None:
    with pytest.raises(Stopped):
        resume(Committed(None), {}, is_new=True, stopping=lambda: True)
