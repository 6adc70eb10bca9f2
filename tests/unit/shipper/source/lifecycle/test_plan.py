from collections.abc import Callable
from dataclasses import replace

from log_shipper.shipper.source.discovery.scanner import ScannedFile
from log_shipper.shipper.source.discovery.spec import Candidate, FileKey, InputSpec
from log_shipper.shipper.source.lifecycle.files import Closed, Files, State, Waiting
from log_shipper.shipper.source.lifecycle.plan import Plan, plan
from log_shipper.shipper.source.reading.harvester import Harvester
from tests.builders import input_config

OpenHarvester = Callable[..., Harvester]
SOURCE = InputSpec(input_config())
A = ScannedFile("/logs/a", (1, 1), 10, 5.0)
B = ScannedFile("/logs/b", (1, 2), 20, 6.0)


def planned(
    *scanned: ScannedFile, states: dict[FileKey, State] | None = None, blocked: tuple[FileKey, ...] = ()
) -> Plan:
    files = Files()
    for key, state in (states or {}).items():
        files.change(key, state)
    return plan({wanted(file).key: wanted(file) for file in scanned}, files, blocked)


def wanted(file: ScannedFile) -> Candidate:
    return Candidate.of(SOURCE, file)


def opened(decided: Plan) -> list[ScannedFile]:
    return [candidate.file for candidate in decided.open]


def test_files_that_are_not_open_are_opened_in_the_order_of_their_age() -> None:
    assert opened(planned(B, A)) == [A, B]


def test_a_file_that_was_closed_at_its_end_stays_closed_until_it_changes() -> None:
    assert opened(planned(A, states={wanted(A).key: Closed(A)})) == []
    assert opened(planned(A, states={wanted(A).key: Closed(replace(A, size=9))})) == [A]
    assert opened(planned(A, states={wanted(A).key: Closed(replace(A, modified=4.0))})) == [A]


def test_what_was_seen_of_a_file_before_it_was_closed_is_not_new_data() -> None:
    closed: dict[FileKey, State] = {wanted(A).key: Closed(replace(A, size=100, modified=50.0), A)}
    assert opened(planned(A, states=closed)) == []
    assert opened(planned(replace(A, size=101), states=closed)) == [replace(A, size=101)]


def test_a_file_that_waits_for_its_turn_is_not_planned_again() -> None:
    assert opened(planned(A, B, states={wanted(A).key: Waiting(wanted(A), None)})) == [B]


def test_a_blocked_file_waits() -> None:
    assert opened(planned(A, B, blocked=(wanted(A).key,))) == [B]


def test_a_file_that_is_read_is_not_opened_and_its_new_path_is_noticed(open_harvester: OpenHarvester) -> None:
    harvester = open_harvester(b"x")
    running: dict[FileKey, State] = {harvester.key: harvester}
    here = ScannedFile(harvester.state.path, harvester.key[1:], 1, 1.0)
    moved = ScannedFile("/logs/app.log.1", harvester.key[1:], 1, 1.0)
    assert planned(here, states=running) == Plan([], [], [])
    assert planned(moved, A, states=running) == Plan([wanted(A)], [(harvester, moved)], [])
    assert planned(A, states=running).missing == [harvester]
