from dataclasses import dataclass

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.monitor.table_sizes import TableSizes
from log_shipper.spark_sink.storage.table_size import TableSize
from tests.fakes import ManualClock


@dataclass
class Log:
    """A log whose files are counted in `takes` seconds."""

    clock: ManualClock
    rows: int = 10
    takes: float = 0.0
    counts: int = 0
    size: TableSize | None = None
    is_broken: bool = False

    def count_size(self) -> TableSize:
        self.counts += 1
        self.clock.advance(self.takes)
        if self.is_broken:
            raise SinkError("cannot read the files")
        self.size = TableSize(self.rows, 1, 100)
        return self.size


def test_a_table_is_counted_when_its_size_is_unknown() -> None:
    log = Log(ManualClock())
    sizes = TableSizes(log.clock.monotonic)
    assert sizes.update({"/t": log}) == sizes.update({"/t": log}) == {"/t": TableSize(10, 1, 100)}
    assert log.counts == 1


def test_own_commits_are_taken_from_the_log() -> None:
    log = Log(ManualClock())
    sizes = TableSizes(log.clock.monotonic)
    sizes.update({"/t": log})
    log.size = TableSize(12, 2, 130)
    assert sizes.update({"/t": log}) == {"/t": TableSize(12, 2, 130)}


def test_it_is_counted_once_a_minute_and_shown_as_it_was_meanwhile() -> None:
    log = Log(ManualClock())
    sizes = TableSizes(log.clock.monotonic)
    sizes.update({"/t": log})
    log.size, log.rows = None, 20
    assert sizes.update({"/t": log}) == {"/t": TableSize(10, 1, 100)}
    log.clock.advance(60.0)
    assert sizes.update({"/t": log}) == {"/t": TableSize(20, 1, 100)}


def test_a_large_table_takes_a_hundredth_of_the_time_at_most() -> None:
    log = Log(ManualClock(), takes=2.0)
    sizes = TableSizes(log.clock.monotonic)
    sizes.update({"/t": log})
    log.size = None
    log.clock.advance(199.0)
    sizes.update({"/t": log})
    assert log.counts == 1
    log.clock.advance(1.0)
    sizes.update({"/t": log})
    assert log.counts == 2


def test_a_table_that_cannot_be_counted_is_left_out() -> None:
    log = Log(ManualClock(), is_broken=True)
    assert TableSizes(log.clock.monotonic).update({"/t": log}) == {}


def test_each_table_that_is_counted_is_progress_also_where_that_fails() -> None:
    clock, progress = ManualClock(), list[float]()
    sizes = TableSizes(clock.monotonic, lambda: progress.append(clock.monotonic()))
    started = clock.monotonic()
    sizes.update({"/a": Log(clock, takes=2.0), "/b": Log(clock, takes=1.0, is_broken=True)})
    assert [moment - started for moment in progress] == [2.0, 3.0]
    sizes.update({"/a": Log(clock, size=TableSize(1, 1, 1))})
    assert len(progress) == 2, "nothing was counted"
