from log_shipper.spark_sink.landing.range_task import merge_records
from log_shipper.spark_sink.rows.batches import KafkaRecords, PartitionRecords, counted


def records(*times: int) -> KafkaRecords:
    nothing = [None] * len(times)
    return KafkaRecords("logs", 3, range(len(times)), times, nothing, nothing, nothing)


def test_records_have_a_count_and_kafkas_oldest_and_newest_time() -> None:
    assert counted(records(5000, 2500, 7000)) == PartitionRecords(3, 2.5, 7.0)


def test_a_record_without_a_time_counts_and_has_none() -> None:
    assert counted(records(-1, 0)) == PartitionRecords(2)
    assert counted(records(-1, 4000)) == PartitionRecords(2, 4.0, 4.0)


def test_records_of_several_tasks_are_added() -> None:
    known = {("logs", 0): PartitionRecords(1)}
    merge_records(known, {("logs", 0): PartitionRecords(2, 3.0, 5.0), ("logs", 1): PartitionRecords(1, 9.0, 9.0)})
    merge_records(known, {("logs", 0): PartitionRecords(1, 4.0, 8.0)})
    assert known == {("logs", 0): PartitionRecords(4, 3.0, 8.0), ("logs", 1): PartitionRecords(1, 9.0, 9.0)}
