"""What a table looks like after some days of a sink that maintains it itself. The bench plays a month of it."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from bench.sink_month import Day, Month, maintain
from log_shipper.config.text.spans import DAY, HOUR
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig, OptimizeConfig, RetentionConfig
from tests.unit.spark_sink.conftest import sink_config

SMALL = 8  # in place of a thousand


def days(directory: Path, count: int) -> list[Day]:
    options = MaintenanceConfig(optimize=OptimizeConfig(open_min_files=SMALL), retention=RetentionConfig(lines=DAY))
    config = replace(sink_config(directory), maintenance=options, fsync=False)
    month = Month(config, date(2026, 11, 1), every=HOUR / 2, rounds=6, last_round=maintain)
    return [month.day() for _ in range(count)]


def test_a_table_has_as_many_files_at_the_end_of_a_month_as_at_its_beginning(tmp_path: Path) -> None:
    passed = days(tmp_path, 2)
    assert [len(day.commits) for day in passed] == [48] * 2
    assert max(day.max_files for day in passed) <= 2 * (SMALL + 8)
