"""How often the start of the sink lists the log of a table. A listing of an object store takes a tenth of a second, and
another program may commit between two of them."""

import pytest

from tests.directory_reads import DirectoryReads
from tests.unit.spark_sink.landing.landing_lab import LandingLab

TORN = 1  # what a power cut has torn is looked for, on a local file system alone
SNAPSHOT = 1
COMMITS = 1  # the log is opened for the commits of the run
MARKS = 1  # the rows of the marks are read


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


def test_a_start_reads_the_log_of_each_table_once_for_all_checks(landed: LandingLab) -> None:
    lines = TORN + SNAPSHOT + COMMITS
    assert start_and_count(landed) == {"lines": lines, "dead letter": lines, "marks": TORN + MARKS + COMMITS}
