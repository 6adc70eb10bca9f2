from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.maintenance import status_report
from log_shipper.spark_sink.maintenance.status import read_status
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.maintenance.tables import append_marks, at, file_mark, make_lines, make_marks, partition_mark


def ends() -> Offsets:
    return {("logs", 0): 50, ("logs", 1): 7}


def away() -> Offsets:
    raise SinkError("cannot read from Kafka at none:9092: Kafka does not answer")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    make_lines(tmp_path / "lines", {"2026-11-20": 2, "2026-11-21": 1})
    marks = make_marks(tmp_path / "lines_marks")
    append_marks(marks.path, [file_mark("a", 1, 10), file_mark("b", 1, 10), partition_mark(0, 1, 20, days_ago=1)])
    append_marks(marks.path, [file_mark("a", 2, 30), partition_mark(0, 2, 40)])
    reasons = ["not JSON" if number < 3 else f"odd {number}" for number in range(20)]
    write_deltalake(tmp_path / "lines_dead_letter", pa.table({"reason": reasons}))
    commits = tmp_path / "checkpoint" / "commits"
    commits.mkdir(parents=True)
    for batch in (9, 10):
        (commits / str(batch)).write_text("v1\n{}")
    return tmp_path


def test_the_status_has_offsets_tables_bad_records_and_state(directory: Path) -> None:
    document = status_report.document(read_status(sink_config(directory), ends))
    landed = at(0).isoformat().replace("+00:00", "Z")
    assert document["partitions"] == [
        {"topic": "logs", "partition": 0, "landed": 40, "end": 50, "lag": 10, "last_batch": landed},
        {"topic": "logs", "partition": 1, "landed": None, "end": 7, "lag": None, "last_batch": None},
    ]
    lines, dead_letter, marks = document["tables"]
    assert (lines["rows"], lines["files"], lines["small_files"], lines["version"]) == (6, 3, 3, 1)
    assert lines["dates"] == {"count": 2, "first": "2026-11-20", "last": "2026-11-21"}
    assert (dead_letter["table"], dead_letter["rows"], marks["rows"]) == ("dead letter", 20, 5)
    assert document["dead_letter"][:2] == [{"reason": "not JSON", "rows": 3}, {"reason": "odd 10", "rows": 1}]
    assert len(document["dead_letter"]) == 10
    assert document["state"]["files"] == 2
    assert document["streams"][0]["batch"] == 10
    assert document["errors"] == []


def test_when_kafka_is_away_the_rest_is_shown(directory: Path) -> None:
    document = status_report.document(read_status(sink_config(directory), away))
    assert document["errors"] == ["cannot read from Kafka at none:9092: Kafka does not answer"]
    (partition,) = document["partitions"]
    assert (partition["landed"], partition["end"], partition["lag"]) == (40, None, None)
    assert document["tables"][0]["rows"] == 6


def test_before_the_first_run_nothing_is_there_and_nothing_is_made(tmp_path: Path) -> None:
    document = status_report.document(read_status(sink_config(tmp_path), ends))
    assert [table["there"] for table in document["tables"]] == [False, False, False]
    assert [partition["end"] for partition in document["partitions"]] == [50, 7]
    assert document["errors"] == []
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_cannot_be_read_does_not_hide_the_others(directory: Path) -> None:
    log = directory / "lines_dead_letter" / "_delta_log"
    (log / f"{0:020}.json").write_text("{")
    document = status_report.document(read_status(sink_config(directory), ends))
    assert document["errors"]
    assert [table["there"] for table in document["tables"]] == [True, False, True]
