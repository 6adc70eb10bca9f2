"""A pass over data files: what it does not read, and how it ends."""

from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

from pyarrow import parquet

from log_shipper.spark_sink.search.newest import newest_first, scan_of
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.reading import FilePiece, ask
from log_shipper.spark_sink.search.scan import Scan
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedFile, open_table
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.search.search_lab import JUDGE, NOON, Table, lines

ENDLESS = "SELECT sum(hash(range)) FROM range(1_000_000_000_000_000)"


def files_of(table: Table) -> list[SearchedFile]:
    return list(open_table(Location(str(table.path))).files(Query()))


def test_row_groups_of_other_times_are_not_read(table: Table) -> None:
    table.land(lines(1, 2, 3, 4))
    (stored,) = table.path.rglob("*.parquet")
    parquet.write_table(parquet.read_table(stored, partitioning=None), stored, row_group_size=1)
    large = [replace(file, size=2**30) for file in files_of(table)]
    query = Query(since=NOON + timedelta(seconds=2), until=NOON + timedelta(seconds=3))
    scan: Scan[int | None] = Scan(lambda piece, over: piece.group, JUDGE, query)
    assert [group for _, group, _ in scan.answers(large)] == [2, 1]


def test_a_pass_that_is_cancelled_interrupts_what_the_judge_is_doing(table: Table) -> None:
    table.land(lines(1))
    judge, started = ConditionFilter(), Event()

    def work(piece: FilePiece, over: Event) -> object:
        started.set()
        return ask(piece, ("ts",), over, lambda rows: judge.answer(rows, ENDLESS, {}))

    scan, answers = Scan(work, judge, Query()), list[object]()
    thread = Thread(target=lambda: answers.extend(scan.answers(files_of(table))))
    thread.start()
    assert started.wait(30)
    for _ in range(300):  # the thread may not have asked yet
        scan.cancel()
        thread.join(0.1)
    assert not thread.is_alive()
    assert answers == []


def test_a_search_that_is_cancelled_yields_no_more(table: Table) -> None:
    table.land(lines(1), lines(2), lines(3))
    scan = scan_of(Query(), JUDGE.selection(Query(), open_table(Location(str(table.path))).schema, 0), JUDGE)
    scan.threads = 1
    hits = newest_first(scan, files_of(table))
    assert next(hits).row["message"] == "line 3"
    scan.cancel()
    assert list(hits) == []
    assert len(scan.files_read) < 3
