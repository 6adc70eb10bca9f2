from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from log_shipper.registry.state import REMOVED, TRUNCATED
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec
from log_shipper.shipper.inputs.files.lifecycle.files import Closed, Files, State, Waiting
from log_shipper.shipper.inputs.files.lifecycle.transitions import (
    AFTER_INTERVAL,
    Effect,
    Failed,
    FileEvent,
    FileObservation,
    Next,
    Opened,
    Settled,
    To,
    find_moved,
    next_state,
    to_open,
)
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.sighting import PathState
from log_shipper.shipper.options.model import CloseConfig, ReaderCloseConfig, StateChangeConfig
from log_shipper.shipper.reader.gzip_file import CompressionError
from tests.builders import input_config

OpenHarvester = Callable[..., Harvester]
SOURCE = InputSpec(input_config())
A = ScannedFile("/logs/a", (1, 1), 10, 5.0)
B = ScannedFile("/logs/b", (1, 2), 20, 6.0)


def files_of(states: dict[FileKey, State] | None) -> Files:
    files = Files()
    for key, state in (states or {}).items():
        files.change(key, state)
    return files


def opened(*scanned: ScannedFile, states: dict[FileKey, State] | None = None) -> list[ScannedFile]:
    named = to_open({wanted(file).key: wanted(file) for file in scanned}, files_of(states))
    return [candidate.file for candidate in named]


def wanted(file: ScannedFile) -> Candidate:
    return Candidate.from_scan(SOURCE, file)


def test_files_that_are_not_open_are_opened_in_the_order_of_their_age() -> None:
    assert opened(B, A) == [A, B]


def test_a_file_that_was_closed_at_its_end_stays_closed_until_it_changes() -> None:
    assert opened(A, states={wanted(A).key: Closed(A)}) == []
    assert opened(A, states={wanted(A).key: Closed(replace(A, size=9))}) == [A]
    assert opened(A, states={wanted(A).key: Closed(replace(A, modified=4.0))}) == [A]


def test_what_was_seen_of_a_file_before_it_was_closed_is_not_new_data() -> None:
    closed: dict[FileKey, State] = {wanted(A).key: Closed(replace(A, size=100, modified=50.0), A)}
    assert opened(A, states=closed) == []
    assert opened(replace(A, size=101), states=closed) == [replace(A, size=101)]


def test_a_file_that_waits_for_its_turn_is_not_planned_again() -> None:
    assert opened(A, B, states={wanted(A).key: Waiting(wanted(A), None)}) == [B]


def test_a_file_that_is_read_is_not_opened_and_its_new_path_is_noticed(open_harvester: OpenHarvester) -> None:
    harvester = open_harvester(b"x")
    running: dict[FileKey, State] = {harvester.key: harvester}
    here = Candidate.from_scan(SOURCE, ScannedFile(harvester.state.path, harvester.key[1:], 1, 1.0))
    elsewhere = Candidate.from_scan(SOURCE, ScannedFile("/logs/app.log.1", harvester.key[1:], 1, 1.0))
    files = files_of(running)
    assert to_open({here.key: here, wanted(A).key: wanted(A)}, files) == [wanted(A)]
    assert find_moved({here.key: here}, files) == ([], [])
    assert find_moved({elsewhere.key: elsewhere}, files) == ([(harvester, elsewhere.file)], [])
    assert find_moved({}, files) == ([], [harvester])
    harvester.path_state = PathState.REMOVED
    assert find_moved({}, files) == ([], [])


# What was opened.

KNOWN = Opened(is_new=False, is_skipped=False, is_read=False, is_proven=True, needs_no_proof=True, once=False)
NEW = replace(KNOWN, is_new=True)
CHANGED = replace(KNOWN, is_proven=False, needs_no_proof=False)
RESTS = Next(To.CLOSED, (Effect.KEEP,))
SAVED_FIRST = Next(To.READING, (Effect.SAVE,))
TO_BE_PROVEN = Next(To.READING)


@pytest.mark.parametrize(
    ("seen", "becomes"),
    [
        (NEW, SAVED_FIRST),
        (KNOWN, Next(To.READING, (Effect.NOTE,))),
        (CHANGED, TO_BE_PROVEN),
        (replace(KNOWN, is_read=True), RESTS),
        (replace(CHANGED, is_read=True), TO_BE_PROVEN),
        (replace(CHANGED, is_read=True, needs_no_proof=True), RESTS),
        (replace(NEW, is_skipped=True), RESTS),
        (replace(KNOWN, is_skipped=True), RESTS),
        (replace(CHANGED, is_skipped=True), Next(To.CLOSED, (Effect.PUT_BACK,))),
        (replace(KNOWN, is_read=True, once=True), SAVED_FIRST),
        (replace(CHANGED, is_skipped=True, once=True), TO_BE_PROVEN),
        (replace(NEW, is_skipped=True, once=True), SAVED_FIRST),
    ],
)
def test_what_was_opened_is_read_unless_it_was_or_is_too_old(seen: Opened, becomes: Next) -> None:
    assert next_state(seen) == becomes


# What is read.


def rules(*, on_eof: bool = False, after_interval: float = 0.0, **change: Any) -> CloseConfig:
    return CloseConfig(
        on_state_change=StateChangeConfig(**{"inactive": 0.0} | change),
        reader=ReaderCloseConfig(on_eof=on_eof, after_interval=after_interval),
    )


# A file that was opened and read 100 s ago, is at its end, and of which nothing is in flight.
AT_END = FileObservation(
    rules(),
    idle_for=100.0,
    open_for=100.0,
    at_end=True,
    is_over=True,
    awaits_timeout=False,
    is_settled=True,
    is_finished=False,
    is_complete=False,
    is_compressed=False,
    has_left_its_path=False,
    is_removed=False,
    is_read_on=False,
)
UNREAD = {"is_over": False, "at_end": False}
IN_FLIGHT = {"is_over": False, "is_settled": False}
UNENDED = {"is_over": False, "awaits_timeout": True}  # a message that the timeout will end
MOVED = {"has_left_its_path": True}
DELETED = {"has_left_its_path": True, "is_removed": True}
REMOVED_OPTION = "close.on_state_change.removed"
RENAMED_OPTION = "close.on_state_change.renamed"
INACTIVE = "close.on_state_change.inactive"


def looked(seen: dict[str, Any], options: dict[str, Any] | None = None) -> FileObservation:
    return replace(AT_END, rules=rules(**options or {}), **seen)


@pytest.mark.parametrize(
    ("seen", "options", "why"),
    [
        ({}, {}, ""),
        ({"is_finished": True}, {}, "--once"),
        ({"is_finished": True} | UNREAD, {}, "--once"),
        ({"is_finished": True} | IN_FLIGHT, {}, ""),
        ({}, {"after_interval": 100.0}, AFTER_INTERVAL),
        ({}, {"after_interval": 100.1}, ""),
        (UNREAD, {"after_interval": 100.0}, AFTER_INTERVAL),
        (IN_FLIGHT, {"after_interval": 100.0}, ""),
        (UNENDED, {"after_interval": 100.0}, ""),
        ({"is_complete": True}, {}, "compression"),
        ({"is_complete": True} | IN_FLIGHT, {}, ""),
        (DELETED, {}, REMOVED_OPTION),
        (DELETED, {"removed": False}, ""),
        (DELETED | UNREAD, {}, ""),
        (DELETED | IN_FLIGHT, {}, ""),
        (MOVED, {}, ""),
        (MOVED, {"renamed": True}, RENAMED_OPTION),
        (MOVED | UNREAD, {"renamed": True}, ""),
        (MOVED, {"renamed": True, "removed": False}, RENAMED_OPTION),
        ({}, {"renamed": True, "removed": True}, ""),
        ({}, {"on_eof": True}, "close.reader.on_eof"),
        (UNREAD, {"on_eof": True}, ""),
        (IN_FLIGHT, {"on_eof": True}, ""),
        ({}, {"inactive": 100.0}, INACTIVE),
        ({}, {"inactive": 100.1}, ""),
        (IN_FLIGHT, {"inactive": 100.0}, ""),
        (DELETED, {"removed": False, "inactive": 100.0}, INACTIVE),
        ({"wanted": True}, {}, "harvester_limit"),
        ({"wanted": True, "is_read_on": True}, {}, ""),
        ({"is_read_on": True}, {"after_interval": 100.0}, ""),
        (DELETED | {"is_read_on": True}, {"after_interval": 100.0}, ""),
        ({"wanted": True} | UNREAD, {}, ""),
        ({"wanted": True} | IN_FLIGHT, {}, ""),
    ],
)
def test_a_file_is_closed_by_the_first_option_that_applies(
    seen: dict[str, Any], options: dict[str, Any], why: str
) -> None:
    decided = next_state(looked(seen, options))
    assert (decided.why, decided.to is To.READING) == (why, not why)


IS_INACTIVE = {"inactive": 100.0}


@pytest.mark.parametrize(
    ("seen", "becomes"),
    [
        ({}, Next(To.CLOSED, (Effect.KEEP,), INACTIVE)),
        ({"has_grown": True}, Next(To.READING, (Effect.WAKE,), INACTIVE)),
        ({"is_touched": True, "has_grown": True}, Next(To.READING, (), INACTIVE)),
    ],
)
def test_what_is_to_be_closed_and_has_grown_is_read_on(seen: dict[str, Any], becomes: Next) -> None:
    assert next_state(looked(seen, IS_INACTIVE)) == becomes


@pytest.mark.parametrize(
    ("seen", "is_closed"),
    [
        ({}, True),
        ({"moved_for": 4.0}, False),
        ({"moved_for": 6.0}, True),
        ({"moved_for": 6.0, "idle_for": 4.0}, False),
        ({"moved_for": 61.0, "idle_for": 4.0}, True),
    ],
)
def test_a_file_that_has_just_left_the_paths_is_not_closed_for_another(seen: dict[str, Any], is_closed: bool) -> None:
    decided = next_state(looked({"wanted": True} | seen))
    assert (decided.why, decided.to is To.CLOSED) == ("harvester_limit", is_closed)
    assert next_state(looked(seen, IS_INACTIVE)).to is (To.READING if "idle_for" in seen else To.CLOSED)


def test_what_is_closed_before_its_end_is_opened_again_at_once() -> None:
    assert next_state(looked(UNREAD, {"after_interval": 100.0})).to is To.NONE
    assert next_state(looked(UNREAD | {"is_finished": True})).to is To.CLOSED


def given_up(why: str) -> Next:
    return Next(To.NONE, (Effect.END, Effect.COUNT), why, REMOVED)


OVER_TIME = {"after_interval": 100.0}
READ_TO_ITS_END = Next(To.NONE, (Effect.END, Effect.COUNT_LINE), REMOVED_OPTION, REMOVED)


@pytest.mark.parametrize(
    ("seen", "options", "becomes"),
    [
        ({}, {}, READ_TO_ITS_END),
        ({"has_rest": True, "has_grown": True}, {}, Next(To.READING, (Effect.WAKE,), REMOVED_OPTION)),
        ({"has_grown": True}, OVER_TIME, given_up(AFTER_INTERVAL)),
        ({"has_rest": True}, OVER_TIME, given_up(AFTER_INTERVAL)),
        (IN_FLIGHT, OVER_TIME, given_up(AFTER_INTERVAL)),
        (UNENDED, OVER_TIME, given_up(AFTER_INTERVAL)),
        ({}, OVER_TIME, Next(To.NONE, (Effect.END, Effect.COUNT_LINE), AFTER_INTERVAL, REMOVED)),
        ({"is_compressed": True}, {}, given_up(REMOVED_OPTION)),
        ({"is_compressed": True, "is_complete": True}, {}, Next(To.NONE, (Effect.END,), "compression", REMOVED)),
    ],
)
def test_a_deleted_file_is_read_to_its_end_and_given_up_when_its_time_is_over(
    seen: dict[str, Any], options: dict[str, Any], becomes: Next
) -> None:
    assert next_state(looked(DELETED | seen, options)) == becomes


@pytest.mark.parametrize(
    ("seen", "becomes"),
    [
        (Failed(Truncated(0)), Next(To.NONE, (Effect.END, Effect.COUNT, Effect.SCAN), ended=TRUNCATED)),
        (Failed(Disproved(0)), Next(To.NONE, (Effect.IDENTIFY,))),
        (Failed(CompressionError(7, "no end")), Next(To.CLOSED, (Effect.REPORT,))),
        (Failed(OSError("gone")), Next(To.NONE, (Effect.REPORT, Effect.KEEP))),
        (FileEvent.TOUCHED, Next(To.NONE, (Effect.END,), ended=TRUNCATED)),
        (FileEvent.RENAMED_BY_PATH, Next(To.NONE, (Effect.END,), ended=REMOVED)),
        (FileEvent.WITHDRAWN, Next(To.NONE)),
        (FileEvent.STOPPED, Next(To.NONE, (Effect.KEEP,))),
        (FileEvent.STOPPED_REMOVED, given_up("")),
        (FileEvent.OVER_BUDGET, given_up("")),
        (Settled(is_proven=True, has_ended=False), Next(To.AS_DECIDED, (Effect.KEEP,))),
        (Settled(is_proven=True, has_ended=True), Next(To.AS_DECIDED, (Effect.OFFER,))),
        (Settled(is_proven=False, has_ended=False), Next(To.AS_DECIDED, (Effect.PUT_BACK,))),
        (Settled(is_proven=False, has_ended=True), Next(To.AS_DECIDED, (Effect.PUT_BACK,))),
    ],
)
def test_other_ends_of_reading(seen: Failed | Settled | FileEvent, becomes: Next) -> None:
    assert next_state(seen) == becomes
