import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bench.sink import rows
from bench.sink_delay import Commits, Stamps, highest
from bench.sink_process import Landing, TimedBatch, batches_of, heap_of, warm
from bench.sink_records import FILES, LENGTH, RUN, SIZE, record

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def batch(rows: int, seconds: float, cpu: float) -> TimedBatch:
    return TimedBatch(rows, seconds, logged=0.0, cpu_seconds=cpu)


def added(partition: int, last: int, other: int | None = None) -> str:
    least = {"partition": partition if other is None else other, "kafka_offset": 0}
    stats = {"minValues": least, "maxValues": {"partition": partition, "kafka_offset": last}}
    return json.dumps({"add": {"path": "a.parquet", "stats": json.dumps(stats)}})


def test_the_records_of_a_file_are_its_lines_one_behind_the_other() -> None:
    made = [record(number, NOW) for number in range(FILES * RUN + RUN)]
    first = [json.loads(value)["log"]["offset"] for file_id, value in made if file_id == made[0][0]]
    assert first == [line * LENGTH for line in range(2 * RUN)]
    assert {len(value) for _, value in made} == {SIZE}


def test_the_first_batches_and_a_small_last_one_do_not_count() -> None:
    cold, later = [batch(100, 9, 10), batch(100, 5, 20)], [batch(100, 1, 21), batch(100, 1, 22), batch(100, 2, 23)]
    expected: tuple[float, object] = (300 / 4, pytest.approx(3 / 300 * 1e6))
    assert warm([*cold, *later, batch(7, 3, 30)]) == expected


def test_one_batch_is_too_few_for_figures() -> None:
    with pytest.raises(RuntimeError, match="too few"):
        warm([batch(100, 9, 10)])


def test_batches_are_found_among_the_other_lines_of_a_job() -> None:
    log = 'Picked up JAVA_TOOL_OPTIONS\n{"message":"landing"}\n{"message":"batch","rows_in":5,"seconds":0.5}\n'
    assert batches_of(log, 1.0, 2.0) == [TimedBatch(5, 0.5, 1.0, 2.0)]
    assert batches_of('{"message":"batch","rows_in":0,"seconds":0.5}\n', 1.0, 2.0) == []


def test_the_use_of_the_heap_is_known_before_and_after_collections() -> None:
    log = (
        "[1.2s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 300M->20M(512M) 3.1ms\n"
        "[1.3s][info][gc] GC(1) Concurrent Mark Cycle\n"
        "[2.2s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 280M->90M(512M) 3.1ms\n"
    )
    assert heap_of(log) == (300, 90)
    assert heap_of("") == (0, 0)


def test_contenders_are_compared_with_the_first_one_of_the_same_round() -> None:
    def landings(*rates: float, cpu: float) -> list[Landing]:
        return [Landing(rate, cpu, 900, 300, 90) for rate in rates]

    made = rows({"bare": landings(200e3, 100e3, cpu=4), "sink": landings(100e3, 80e3, cpu=9)})
    assert made[0][:5] == ("bare", "150 (100-200)", "1.00 (1.00-1.00)", "4.0 (4.0-4.0)", "+4.0")
    assert made[1][:5] == ("sink", "90 (80-100)", "0.65 (0.50-0.80)", "9.0 (9.0-9.0)", "+5.0")


def test_a_commit_has_the_highest_visible_offset_of_each_partition(tmp_path: Path) -> None:
    other = json.dumps({"commitInfo": {"operation": "WRITE"}})
    assert highest("\n".join([other, added(0, 7), added(1, 3), added(0, 5)]), tmp_path) == {0: 7, 1: 3}


def test_a_file_of_several_partitions_is_read(tmp_path: Path) -> None:
    rows = pa.table({"partition": [1, 2, 1, 2], "kafka_offset": [40, 6, 41, 7]})
    parquet.write_table(rows, tmp_path / str(json.loads(added(2, 7))["add"]["path"]))
    assert highest("\n".join([added(2, 7, other=1), added(1, 30)]), tmp_path) == {1: 41, 2: 7}


def test_each_commit_is_read_once(tmp_path: Path) -> None:
    log, commits = tmp_path / "_delta_log", Commits(tmp_path)
    log.mkdir()
    (log / f"{0:020d}.json").write_text("a")
    assert list(commits.new()) == ["a"]
    (log / f"{1:020d}.json").write_text("b")
    assert list(commits.new()) == ["b"]
    assert list(commits.new()) == []


def test_a_delay_is_from_the_production_to_the_commit_whichever_is_seen_first() -> None:
    stamps = Stamps()
    stamps.produced(0, 0, moment=10.0)
    stamps.produced(0, 1, moment=11.0)
    stamps.produced(1, 0, moment=11.0)
    stamps.visible({0: 0}, moment=12.0)
    assert (stamps.delays, stamps.waiting) == ([2.0], 2)
    stamps.visible({0: 2}, moment=13.0)
    stamps.produced(0, 2, moment=12.5)  # Kafka's answer came after the commit was seen
    assert (stamps.delays, stamps.waiting) == ([2.0, 2.0, 0.5], 1)
