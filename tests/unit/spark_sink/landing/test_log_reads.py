"""How often the start of the sink lists the log of a table. A listing of an object store takes a tenth of a second, and
another program may commit between two of them."""

import pytest

from tests.directory_reads import DirectoryReads
from tests.unit.spark_sink.landing.landing_lab import LandingLab

pytestmark = pytest.mark.spark

SNAPSHOT = 1
COMMITS = 1  # the log is opened for the commits of the run
TURN = 1  # which append to the marks was the last, before their rows are read
QUERY = 2  # Spark lists the log of a table when it plans a query over the rows, and when it runs it


def start_and_count(lab: LandingLab) -> dict[str, int]:
    """Return how often a start lists the log of each table."""
    paths = {
        "lines": lab.config.table.path,
        "dead letter": lab.config.dead_letter_path,
        "marks": lab.config.state_path,
    }
    with DirectoryReads({name: f"{path}/_delta_log" for name, path in paths.items()}) as reads:
        lab.start()
        return reads.counts()


@pytest.fixture
def landed(lab: LandingLab) -> LandingLab:
    lab.start()
    lab.send_lines(0, 10)
    lab.send(b"no JSON")
    lab.land()
    return lab


def test_a_start_reads_one_snapshot_of_each_table_and_queries_its_rows_once(landed: LandingLab) -> None:
    """The query over the marks loads them; those over lines and dead letter look for orphaned rows."""
    once = SNAPSHOT + COMMITS + QUERY
    assert start_and_count(landed) == {"lines": once, "dead letter": once, "marks": TURN + once}
