import os
import time
from pathlib import Path
from typing import Literal

import pytest
from deltalake import DeltaTable

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.maintenance.optimize import TARGET, compact
from log_shipper.spark_sink.maintenance.vacuum import (
    checkpoints,
    clock_ahead,
    delete,
    kept_for,
    unneeded,
)
from log_shipper.spark_sink.options.maintenance import VacuumConfig
from log_shipper.spark_sink.storage.layout import remembered, retention_properties
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.maintenance.tables import age, append_files, data_files, make_lines, messages

DAY = 86400.0
WEEK = 7 * DAY


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Four small files that were joined eight days ago, and a file that no version ever named."""
    table = make_lines(tmp_path / "lines", {"2026-11-10": 4})
    compact(table, None, TARGET)
    Path(table.path, "date=2026-11-10", "killed.parquet").write_bytes(b"half")
    age(table, 8)
    return table


def candidates(table: Table, lite: bool, retain: float) -> list[str]:
    return sorted(file.path for file in unneeded(table.snapshot(), lite, retain))


def vacuum(table: Table, lite: bool, retain: float) -> int:
    """Return how many files were deleted."""
    files = unneeded(table.snapshot(), lite, retain)
    delete(table.location, files)
    return len(files)


def test_lite_deletes_what_the_log_took_out_and_full_what_no_version_names(table: Table) -> None:
    before, rows, version = data_files(table), messages(table), table.version()
    unknown = {"date=2026-11-10/killed.parquet"}
    removed = before - unknown - {*table.snapshot().files().column("path").to_pylist()}
    assert (len(before), set(candidates(table, True, WEEK))) == (6, removed)
    assert len(candidates(table, False, WEEK)) == 5
    assert sum(file.size for file in unneeded(table.snapshot(), True, WEEK)) == sum(
        Path(table.path, name).stat().st_size for name in removed
    )
    assert data_files(table) == before
    assert vacuum(table, True, WEEK) == 4
    assert any(name.endswith("killed.parquet") for name in data_files(table))
    assert (vacuum(table, True, WEEK), vacuum(table, False, WEEK)) == (0, 1)
    assert (len(data_files(table)), messages(table), table.version()) == (1, rows, version)


def test_what_is_younger_stays(table: Table) -> None:
    append_files(table, "2026-11-10", 2)
    Path(table.path, "date=2026-11-10", "batch-under-way.parquet").write_bytes(b"not committed yet")
    compact(table, None, TARGET)
    assert vacuum(table, False, 2 * 3600.0) == 5
    assert len([name for name in data_files(table) if "batch-under-way" in name]) == 1
    assert len(data_files(table)) == 1 + 1 + 2 + 1  # joined now, not committed, appended, joined before


def test_checkpoints_of_the_log_are_thinned_out_and_every_version_can_still_be_read(tmp_path: Path) -> None:
    table, now = make_lines(tmp_path / "lines", {"2026-11-10": 1}), 1_795_824_000.0  # a midnight
    hours: dict[str, float] = {}  # ago, by path
    for ago in (60.5, 50.25, 49.75, 25.5, 24.5, 20.75, 20.25, 2.75, 2.25, 0.75, 0.25, 0.01):
        append_files(table, "2026-11-10", 1)
        snapshot = table.snapshot()
        assert snapshot.delta is not None
        snapshot.delta.create_checkpoint()
        path = f"_delta_log/{snapshot.version:020}.checkpoint.parquet"
        os.utime(Path(table.path, path), (now - ago * 3600, now - ago * 3600))
        hours[path] = ago
    rows = [DeltaTable(table.path, version=number).count() for number in range(table.version() + 1)]
    thinned = checkpoints(table.location, now)
    kept = hours.keys() - {file.path for file in thinned}
    assert sorted(hours[path] for path in kept) == [0.01, 0.25, 0.75, 2.25, 20.25, 24.5, 49.75]
    delete(table.location, thinned)
    assert [DeltaTable(table.path, version=number).count() for number in range(table.version() + 1)] == rows


def test_deletion_vectors_stay(table: Table) -> None:
    """No one but Delta's Java knows which of them are in use."""
    vector = Path(table.path, "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin")
    vector.write_bytes(b"old")
    os.utime(vector, (0, 0))
    assert vacuum(table, False, WEEK) == 5
    assert vector.exists()


@pytest.mark.parametrize("mode", ["lite", "full"])
def test_lite_finds_removed_files_behind_a_checkpoint_as_long_as_the_log_remembers_them(
    table: Table, mode: Literal["lite", "full"]
) -> None:
    options = VacuumConfig(mode=mode)
    opened = DeltaTable(table.path)
    opened.alter.set_table_properties(retention_properties(options.remembered))
    opened.create_checkpoint()
    for version in range(opened.version() + 1):
        Path(table.path, "_delta_log", f"{version:020}.json").unlink()
    assert len(candidates(table, True, WEEK)) == {"lite": 4, "full": 0}[mode]
    assert len(candidates(table, False, WEEK)) == 5


def test_files_are_kept_since_the_first_batch_that_may_still_commit_them() -> None:
    now = time.time()
    assert kept_for(WEEK, now, 0.0) == WEEK
    assert kept_for(WEEK, now - DAY, 0.0) == WEEK
    assert kept_for(WEEK, now - 9 * DAY, 0.0) == pytest.approx(9 * DAY, abs=60)
    assert kept_for(WEEK, now, 2 * DAY) == 9 * DAY


def test_the_clock_of_this_host_is_compared_with_that_of_the_file_system(tmp_path: Path) -> None:
    place = Location(str(tmp_path))
    assert clock_ahead(place) == 0.0
    assert clock_ahead(place, lambda: time.time() + 2 * DAY) == pytest.approx(2 * DAY, abs=60)
    assert clock_ahead(place, lambda: time.time() - 2 * DAY) == 0.0  # files look younger than they are
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SinkError, match=r"cannot compare the clocks: cannot write to .*missing"):
        clock_ahead(Location(str(tmp_path / "missing")))


def test_less_than_an_hour_is_refused(table: Table) -> None:
    with pytest.raises(Refused, match=r"maintenance.vacuum.retain is 60 s"):
        vacuum(table, False, 60.0)


def test_what_a_table_itself_remembers_is_read_from_its_properties() -> None:
    assert remembered({}) == remembered(retention_properties(0)) == WEEK
    assert remembered(retention_properties(8 * DAY)) == 8 * DAY
    assert remembered({"delta.deletedFileRetentionDuration": "INTERVAL 2 weeks 36 Hours"}) == 14 * DAY + 1.5 * DAY


def test_a_shorter_time_than_the_tables_own_is_what_was_asked_for(table: Table) -> None:
    DeltaTable(table.path).alter.set_table_properties(retention_properties(30 * DAY))
    assert vacuum(table, True, WEEK) == 4


def test_files_that_another_process_has_deleted_meanwhile_are_no_error(table: Table) -> None:
    files = unneeded(table.snapshot(), False, WEEK)
    assert vacuum(table, False, WEEK) == 5
    delete(table.location, files)
