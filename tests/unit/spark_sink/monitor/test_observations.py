import math

from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.landing.bad_records import BadRecords
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.monitor.observations import Observations, StageSeconds
from log_shipper.spark_sink.rows.batches import PartitionRecords
from log_shipper.spark_sink.views.progress import Figures

ENDS: Offsets = {("logs", 0): 10, ("logs", 1): 5}
LATEST: Offsets = {("logs", 0): 12, ("logs", 1): 5, ("logs", 2): 7}


class ObservationsLab:
    def __init__(self) -> None:
        self.now = 1000.0
        self.observations = Observations(lambda: self.now)

    def land(self, latest: Offsets = LATEST, **counts: object) -> None:
        self.now += 10.0
        self.observations.landed(BatchResult(**{"ends": ENDS, **counts}), latest)  # type: ignore[arg-type]  # fields of it


def test_batches_are_added_up() -> None:
    lab = ObservationsLab()
    lab.land(rows=5, bad=1, repeats=2, lost=3, files=7)
    lab.land(rows=6, files=8)
    seen = lab.observations.state
    assert (seen.rows, seen.bad, seen.repeats, seen.lost, seen.batches, seen.files) == (11, 1, 2, 3, 2, 8)
    assert (seen.started, seen.last_batch, seen.last_bad, seen.last_lost) == (1000.0, 1020.0, 1010.0, 1010.0)
    assert (seen.batch_rows, seen.streaming) == (6, True)


def test_a_batch_that_had_landed_before_is_not_counted() -> None:
    lab = ObservationsLab()
    lab.land(repeated=True)
    assert lab.observations.state.batches == 0


def test_the_lag_is_what_kafka_has_and_the_tables_do_not() -> None:
    lab = ObservationsLab()
    assert lab.observations.state.lag is None
    lab.land()
    assert lab.observations.state.lags == {("logs", 0): 2, ("logs", 1): 0, ("logs", 2): 7}
    assert lab.observations.state.lag == 9


def test_the_lag_in_time_counts_from_the_newest_record_that_has_landed() -> None:
    lab = ObservationsLab()
    lab.land(records={("logs", 0): PartitionRecords(3, 1001.0, 1006.5)})
    seen = lab.observations.state
    assert [seen.lag_seconds(("logs", number), lab.now) for number in range(3)] == [3.5, 0.0, None]
    assert seen.longest_lag_seconds(lab.now + 20) == 23.5, "a batch that takes long"


def test_the_lag_in_time_of_a_quiet_partition_counts_from_when_nothing_was_behind() -> None:
    lab = ObservationsLab()
    lab.land(latest=ENDS, records={("logs", 0): PartitionRecords(3, 900.0, 900.0)})
    lab.land()
    assert lab.observations.state.lag_seconds(("logs", 0), lab.now) == 10.0, "not the age of the last record"
    lab.observations.record_idle()
    assert lab.observations.state.longest_lag_seconds(lab.now + 4) == 4.0


def test_a_producers_clock_that_is_ahead_makes_no_negative_lag() -> None:
    lab = ObservationsLab()
    lab.land(records={("logs", 0): PartitionRecords(3, 5000.0, 5000.0)})
    seen = lab.observations.state
    assert (seen.lag_seconds(("logs", 0), lab.now), seen.longest, seen.shortest) == (0.0, 0.0, 0.0)


def test_records_are_late_by_the_oldest_and_the_newest_of_a_batch_and_counted_by_topic() -> None:
    lab = ObservationsLab()
    assert math.isnan(lab.observations.lag_seconds())
    lab.land(
        records={("logs", 0): PartitionRecords(3, 1001.0, 1006.5), ("logs", 1): PartitionRecords(2, 1004.0, 1008.0)}
    )
    lab.land(records={("audit", 0): PartitionRecords(1)})
    seen = lab.observations.state
    assert (seen.longest, seen.shortest, seen.topics) == (9.0, 2.0, {"logs": 5, "audit": 1})


def test_a_deleted_topic_has_no_lag() -> None:
    lab = ObservationsLab()
    lab.land()
    lab.land(latest={("logs", 0): 10}, ends={("logs", 0): 10})
    assert lab.observations.state.landed == {("logs", 0): 10}
    assert lab.observations.state.lag == 0


def test_causes_have_the_time_of_their_last_record() -> None:
    lab = ObservationsLab()
    lab.land(causes={"not JSON": BadRecords(1, "logs", 0, 3), "no value": BadRecords(1, "logs", 0, 4)})
    lab.land(causes={"not JSON": BadRecords(2, "logs", 1, 8)})
    seen = lab.observations.state
    assert seen.causes["not JSON"] == BadRecords(3, "logs", 1, 8)
    assert seen.cause_times == {"not JSON": 1020.0, "no value": 1010.0}


def test_stages_have_the_last_batch_and_the_mean_in_the_order_of_a_batch() -> None:
    lab = ObservationsLab()
    lab.land(stages={"tasks": 1.0, "marks": 0.5})
    lab.observations.reported(4.0, {"planning": 0.2})
    lab.land(stages={"tasks": 3.0})
    stages = lab.observations.state.stages
    assert list(stages) == ["planning", "tasks", "marks"]
    assert stages["tasks"] == StageSeconds(3.0, 4.0, 2)
    assert stages["tasks"].mean == 2.0
    assert lab.observations.state.batch_seconds == 4.0


def test_a_seen_state_does_not_change_any_more() -> None:
    lab = ObservationsLab()
    before = lab.observations.state
    lab.land(rows=1)
    lab.observations.set_missing(["topic a"])
    lab.observations.views({"errors": Figures(failed=True)})
    assert (before.rows, before.missing, before.views) == (0, (), {})
    assert lab.observations.state.missing == ("topic a",)
