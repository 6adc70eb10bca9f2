from collections.abc import Callable

from shipper.source.crawler import plan
from shipper.source.discover import Found, Listing
from shipper.source.harvester import Harvester

OpenHarvester = Callable[..., Harvester]
A = Found("/logs/a", (1, 1), 10, 5.0)
B = Found("/logs/b", (1, 2), 20, 6.0)


def listing(*found: Found) -> Listing:
    return Listing(files={each.key: each for each in found})


def test_files_that_nobody_reads_are_opened() -> None:
    assert plan(listing(A, B), {}, {}).open == [A, B]


def test_a_file_that_was_closed_at_its_end_stays_closed_until_it_changes() -> None:
    assert plan(listing(A), {}, {A.key: (10, 5.0)}).open == []
    assert plan(listing(A), {}, {A.key: (9, 5.0)}).open == [A]
    assert plan(listing(A), {}, {A.key: (10, 4.0)}).open == [A]


def test_a_file_that_is_read_is_not_opened_and_its_new_path_is_noticed(open_harvester: OpenHarvester) -> None:
    harvester = open_harvester(b"x")
    here = Found(harvester.state.path, harvester.key, 1, 1.0)
    moved = Found("/logs/app.log.1", harvester.key, 1, 1.0)
    assert plan(listing(here), {harvester.key: harvester}, {}).renamed == []
    decided = plan(listing(moved, A), {harvester.key: harvester}, {})
    assert (decided.open, decided.renamed) == ([A], [moved])
