"""What a batch reports beside its counts: stages, causes of bad records, and what its tables grow by."""

import json

from log_shipper.spark_sink.landing.bad_records import BadRecords
from log_shipper.spark_sink.storage.table_size import TableSize, count
from tests.unit.spark_sink.landing.landing_lab import LandingLab


def test_a_batch_reports_its_stages_and_the_causes_of_bad_records(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.send(b"no JSON", json.dumps({"@timestamp": "yesterday", "password": "x"}).encode(), b"no JSON")
    batch = lab.land()
    assert batch.stages.keys() == {"tasks", "repeats", "commit", "marks"}
    assert all(seconds > 0 for seconds in batch.stages.values())
    assert batch.causes == {
        "not JSON": BadRecords(2, "logs", 0, 4),
        "@timestamp is not an ISO 8601 time": BadRecords(1, "logs", 0, 3),
    }


def test_a_batch_has_the_number_of_its_records_and_their_times(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.send(b"no JSON")
    (place, read), *others = lab.land().records.items()
    assert (place, read.count, others) == (("logs", 0), 3, [])
    assert read.oldest is not None
    assert read.newest is not None
    assert read.oldest <= read.newest


def test_tombstones_are_in_the_dead_letter_and_are_not_bad(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.send(None, b"no JSON", None)
    batch = lab.land()
    assert (batch.rows, batch.bad, batch.tombstones, list(batch.causes)) == (1, 1, 2, ["not JSON"])
    assert lab.reasons() == {"no value": 2, "not JSON": 1}


def test_each_part_of_a_start_and_each_stage_of_a_batch_is_progress(lab: LandingLab) -> None:
    lab.start()
    assert len(lab.progressed) >= 3, "the marks and the table of lines are read, and it is created"
    lab.send_lines(0, 10)
    lab.progressed.clear()
    stages = lab.land().stages
    assert len(lab.progressed) >= 2 * len(stages)


def test_the_size_of_a_table_is_counted_once_and_own_commits_are_added(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    logs = lab.writer.tables.written()
    assert logs.keys() == {lab.config.table.path, lab.config.dead_letter_path}
    lines = logs[lab.config.table.path]
    assert (lines.size, lines.count_size().rows) == (None, 2)
    lab.send_lines(20, 30, 40)
    lab.land()
    assert lines.size is not None
    assert lines.size.rows == 5
    fresh = lines.location.open()
    assert fresh is not None
    assert lines.size == count(fresh)


def test_a_change_by_another_process_makes_the_size_unknown(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    lines = lab.writer.tables.written()[lab.config.table.path]
    lines.count_size()
    other = lines.location.open()
    assert other is not None
    other.delete("offset = 0")
    lab.send_lines(20)
    lab.land()
    assert lines.size is None
    assert lines.count_size().rows == 2


def test_an_empty_table_has_no_size(lab: LandingLab) -> None:
    lab.start()
    assert lab.writer.tables.log(lab.config.dead_letter_path).count_size() == TableSize(0, 0, 0)
