import json
from dataclasses import replace
from typing import Any

import pytest

from bench.sink_flat import COLD_MINUTES, Minute, TableFiles, findings

RATE = 20_000
MINUTE = Minute(1, 60, 0.6, 1.2, 20_000, 800, 100, 240, 1_000, 3_000, 500, 1_200_000)


def minutes(**last: Any) -> list[Minute]:
    """Return the cold minutes, six equal ones, and three that differ."""
    cold = [replace(MINUTE, number=number, p50=9.0, java_mb=100) for number in range(1, COLD_MINUTES + 1)]
    warm = [replace(MINUTE, number=COLD_MINUTES + number) for number in range(1, 10)]
    return [*cold, *warm[:6], *(replace(finding, **last) for finding in warm[6:])]


def add(path: str, date: str, rows: int, joined: bool = False) -> str:
    stats = json.dumps({"numRecords": rows})
    return json.dumps(
        {"add": {"path": path, "partitionValues": {"date": date}, "dataChange": not joined, "stats": stats}}
    )


def test_what_stays_as_it_was_is_flat() -> None:
    assert [finding.flat for finding in findings(minutes(), RATE)] == [True] * 7
    assert all(finding.flat for finding in findings(minutes(p50=0.3, java_mb=500, files=900_000), RATE))


@pytest.mark.parametrize(
    ("last", "finding"),
    [
        ({"p50": 0.8}, "batch seconds, p50: 0.60 in the first third, 0.80 in the last (limit 1.25 times)"),
        ({"maximum": 2.0}, "batch seconds, maximum: 1.20"),
        ({"java_mb": 900}, "memory of Java, MB: 800 in the first third, 900 in the last"),
        ({"python_mb": 120}, "memory of Python"),
        ({"files_added": 300}, "files written per batch: 4.0 in the first third, 5.0 in the last"),
        ({"lag": 110_000}, "lag: 110,000 records in the last third, 5.5 s at the rate"),
    ],
)
def test_what_grows_is_named(last: dict[str, float], finding: str) -> None:
    (grown,) = [str(finding) for finding in findings(minutes(**last), RATE) if not finding.flat]
    assert grown.startswith(f"NOT FLAT: {finding}")


def test_more_batches_of_as_many_files_each_are_not_growth() -> None:
    assert all(finding.flat for finding in findings(minutes(batches=120, files_added=480), RATE))


def test_memory_has_a_bound_whenever_it_is_reached() -> None:
    peak = replace(MINUTE, number=30, java_mb=1600, maintained=True)
    (peak_found,) = [str(finding) for finding in findings([*minutes(), peak], RATE) if not finding.flat]
    assert peak_found == "NOT FLAT: maximum memory of Java: 1600 MB (limit 1536 MB)"


def test_minutes_beside_maintain_are_not_compared() -> None:
    slow = [replace(MINUTE, number=number, p50=9.0, lag=900_000, maintained=True) for number in range(30, 40)]
    assert all(finding.flat for finding in findings([*minutes(), *slow], RATE))
    assert str(slow[0]).startswith("minute 30: with maintain, 0% stolen, 60 batches")
    with pytest.raises(RuntimeError, match="0 minutes are too few"):
        findings(slow, RATE)


def test_few_minutes_prove_nothing() -> None:
    with pytest.raises(RuntimeError, match="too few"):
        findings(minutes()[: COLD_MINUTES + 2], RATE)


def test_the_files_of_a_table_are_counted_by_its_commits() -> None:
    files = TableFiles()
    files.add_commit("\n".join(['{"commitInfo":{}}', add("a", "2026-11-20", 5), add("b", "2026-11-20", 7)]))
    files.add_commit(add("c", "2026-11-21", 1))
    assert (files.count, files.today, files.added, files.rows) == (3, 1, 3, 13)
    removed = [json.dumps({"remove": {"path": path}}) for path in ("a", "b")]
    files.add_commit("\n".join([add("ab", "2026-11-20", 12, joined=True), *removed]))
    assert (files.count, files.today, files.added, files.rows) == (2, 1, 3, 13)
