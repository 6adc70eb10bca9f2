"""What the sink demands of each place of a table: of a disk, of S3, of Google's store, and of Azure's."""

import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake.transaction import RemoveAction
from pyarrow import dataset, fs, parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.maintenance import optimize, vacuum
from log_shipper.spark_sink.maintenance.vacuum import clock_ahead
from log_shipper.spark_sink.storage.commits import FAILURES
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.rewrites import stored_files
from log_shipper.spark_sink.storage.tables import Table as StoredTable
from log_shipper.spark_sink.storage.tables import TableSnapshot, TxnId
from tests.azurite import Azurite
from tests.object_store import Fault, ObjectStore
from tests.unit.spark_sink.storage.commit_lab import Table, lines

WRITERS = 2
BATCHES = 20


others = pytest.mark.slow("another client of the same library")


@pytest.fixture(params=["disk", "s3", pytest.param("gs", marks=others), pytest.param("az", marks=others)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "disk":
        return Location(f"{tmp_path}/lines")
    if request.param == "gs":
        store = request.getfixturevalue("object_store")
        return Location(f"{store.create_bucket('gs')}/lines", store.google_options)
    return bucket_of(request.getfixturevalue("object_store" if request.param == "s3" else "azurite"))


@pytest.fixture(scope="module")
def azurite() -> Iterator[Azurite]:
    with Azurite() as azurite:
        yield azurite


@pytest.fixture
def bucket(object_store: ObjectStore) -> Table:
    return Table(bucket_of(object_store))


def bucket_of(store: ObjectStore | Azurite) -> Location:
    return Location(f"{store.create_bucket()}/lines", store.options)


def files_below(location: Location) -> list[str]:
    files = location.files().get_file_info(fs.FileSelector("", recursive=True))
    return [info.path for info in files if info.type == fs.FileType.File]


def test_a_data_file_is_complete_when_its_writer_is_closed(location: Location) -> None:
    table = Table(location)
    (file,) = table.write(lines(1, 2))
    files = location.files()
    assert files.get_file_info(file.path).size == file.size
    rows = dataset.dataset([file.path], schema=table.files.stored, filesystem=files).to_table()
    assert rows.column("offset").to_pylist() == [1, 2]


def test_files_that_are_not_committed_can_be_deleted(location: Location) -> None:
    table = Table(location)
    before = files_below(location)
    for file in table.write(lines(1)):
        location.files().delete_file(file.path)
    assert files_below(location) == before


def test_an_error_leaves_no_data_file(location: Location) -> None:
    table = Table(location)
    before = files_below(location)
    with pytest.raises(pa.ArrowInvalid):
        table.write(lines(1), lines(2).rename_columns(["a", "date", "c", "d", "e", "f"]))
    assert files_below(location) == before


def test_directories_are_found_by_their_files(location: Location) -> None:
    Table(location)
    above = Location(location.path.rpartition("/")[0], location.options).files()
    assert [info.base_name for info in above.get_file_info(fs.FileSelector(""))] == ["lines"]
    assert above.get_file_info("lines/_delta_log").type == fs.FileType.Directory
    assert above.get_file_info("lines/missing").type == fs.FileType.NotFound
    assert above.get_file_info(fs.FileSelector("missing", allow_not_found=True)) == []


def test_the_clock_of_a_place_is_compared(location: Location) -> None:
    Table(location)
    assert clock_ahead(location) == 0
    assert clock_ahead(location, lambda: 4e9) > 0


def test_rows_are_read_as_they_were_committed(location: Location) -> None:
    table = Table(location)
    for batch in range(3):
        table.land(batch, batch, 10 + batch)
    snapshot = StoredTable(location).snapshot()
    read = snapshot.select('SELECT "offset" FROM stored ORDER BY "offset"')
    assert read.column("offset").to_pylist() == [0, 1, 2, 10, 11, 12]
    assert offsets_by_arrow(location, snapshot) == [0, 1, 2, 10, 11, 12]


def offsets_by_arrow(location: Location, snapshot: TableSnapshot) -> list[int]:
    files, paths = location.files(snapshot.delta), snapshot.files().column("path").to_pylist()
    rows = dataset.dataset(paths, filesystem=files, format="parquet").to_table(columns=["offset"])
    return sorted(rows.column("offset").to_pylist())


def test_a_checkpoint_of_the_log_shortens_it(location: Location) -> None:
    table = Table(location, {"delta.checkpointInterval": "3"})
    for batch in range(7):
        table.land(batch, batch)
    assert f"_delta_log/{6:020}.checkpoint.parquet" in files_below(location)
    assert table.offsets() == list(range(7))


def test_small_files_are_compacted_and_removed_ones_deleted(location: Location) -> None:
    table, stored = Table(location), StoredTable(location)
    for batch in range(3):
        table.land(batch, batch)
    compacted = optimize.compact(stored, lines(0).column("date")[0].as_py(), optimize.TARGET)
    assert (compacted.files_before, compacted.files_after, table.offsets()) == (3, 1, [0, 1, 2])
    (file,) = stored_files(stored.snapshot())
    opened = location.open()
    assert opened is not None
    long_ago = RemoveAction(file.path, True, 0, file.size, dict(file.partition))
    opened.create_write_transaction([long_ago], "append", opened.schema(), ["date"])
    unneeded = vacuum.unneeded(stored.snapshot(), True, 3600.0)
    assert unneeded == [vacuum.UnneededFile(file.path, file.size)]
    vacuum.delete(location, unneeded)
    assert file.path not in files_below(location)
    assert vacuum.unneeded(stored.snapshot(), True, 3600.0) == []
    vacuum.delete(location, unneeded)


def land_batches(location: Location, query_id: str) -> list[int]:
    """Commit some batches, and return their versions. Runs in a process of its own."""
    table = Table(location)
    return [
        table.log.append(table.write(lines(batch, host=query_id)), TxnId(query_id, batch)) for batch in range(BATCHES)
    ]


def test_of_two_processes_no_commit_overwrites_another(location: Location) -> None:
    table = Table(location)
    with ProcessPoolExecutor(WRITERS, get_context("spawn")) as processes:
        writers = [processes.submit(land_batches, location, f"q{number}") for number in range(WRITERS)]
        versions = [version for writer in writers for version in writer.result()]
    assert sorted(versions) == list(range(1, WRITERS * BATCHES + 1))
    assert table.offsets() == sorted(list(range(BATCHES)) * WRITERS)


def test_s3a_is_the_name_of_the_same_place(bucket: Table) -> None:
    bucket.land(0, 1)
    table = Table(Location(bucket.location.path.replace("s3:", "s3a:"), bucket.location.options))
    assert table.offsets() == [1]
    assert table.land(1, 2) == 2


REQUESTS = {
    "of a commit": r"PUT .*_delta_log/[0-9]*\.json$",
    "of the log": "GET .*_delta_log",
    "that begins a file": "POST .*uploads=",
    "with a part of a file": "PUT .*partNumber",
    "that ends a file": "POST .*uploadId",
}


@pytest.mark.parametrize("fault", ["unavailable", "dropped", "answer lost"])
@pytest.mark.parametrize("requests", REQUESTS)
def test_a_request_that_fails_is_made_again(
    object_store: ObjectStore, bucket: Table, fault: Fault, requests: str
) -> None:
    bucket.land(0, 1)
    object_store.fail(fault, REQUESTS[requests])
    assert bucket.land(1, 2) == 2
    assert bucket.land(2, 3) == 3
    assert bucket.offsets() == [1, 2, 3]


@pytest.mark.slow("waits for a time-out")
def test_what_has_no_answer_is_asked_again_and_a_commit_a_few_times(object_store: ObjectStore) -> None:
    """A commit may have been done, and may be done yet: each time it is for the same version, so once at most."""
    place = bucket_of(object_store)
    table = Table(Location(place.path, {**place.options, "timeout": "1s"}))
    for batch, requests in enumerate(list(REQUESTS.values())[1:]):
        object_store.fail("hangs", requests)
        table.land(batch, batch)
    object_store.fail("hangs", REQUESTS["of a commit"])
    assert table.land(4, 4) == 5
    object_store.fail("hangs", REQUESTS["of a commit"], times=FAILURES)
    with pytest.raises(SinkError, match="timed out"):
        table.land(5, 5)
    assert table.land(5, 5) == 6
    assert table.offsets() == [0, 1, 2, 3, 4, 5]


def test_known_sizes_are_not_asked_for(object_store: ObjectStore, bucket: Table) -> None:
    for batch in range(3):
        bucket.land(batch, batch)
    snapshot = StoredTable(bucket.location).snapshot()
    object_store.requests()
    assert offsets_by_arrow(bucket.location, snapshot) == [0, 1, 2]
    assert [request for request in object_store.requests() if request.startswith("HEAD")] == []


def test_a_commit_takes_as_many_requests_however_long_the_log_is(object_store: ObjectStore, bucket: Table) -> None:
    counts = []
    for batch in range(12):
        object_store.requests()
        bucket.land(batch, batch)
        counts.append(len(object_store.requests()))
    assert len(set(counts[2:])) == 1, counts


def test_a_data_file_that_is_missing_is_recognised(location: Location) -> None:
    table = Table(location)
    (file,) = table.write(lines(1))
    table.log.append([file], TxnId("q", 0))
    snapshot = StoredTable(location).snapshot()
    location.files().delete_file(file.path)
    with pytest.raises(FileNotFoundError):
        parquet.ParquetFile(location.files(snapshot.delta).open_input_file(file.path))


def test_a_process_has_one_client_for_a_table(bucket: Table) -> None:
    place = bucket.location
    assert Location(place.path, dict(place.options)).files() is place.files()
    assert Location(place.path, {**place.options, "timeout": "9s"}).files() is not place.files()


def test_small_files_are_read_at_the_same_time(bucket: Table) -> None:
    for batch in range(20):
        bucket.land(batch, *range(5000))
    query = "EXPLAIN SELECT count(*) FROM stored WHERE message LIKE '%9'"
    plan = str(StoredTable(bucket.location).snapshot().select(query).to_pylist())
    groups = re.search(r"file_groups={(\d+) groups", plan)
    assert groups is not None, plan
    assert int(groups[1]) > 10
