from log_shipper.spark_sink.kafka.lost import LostRange


def test_a_lost_range_is_described_by_topic_partition_and_offsets() -> None:
    assert str(LostRange("logs", 0, 10, 1999)) == "topic logs, partition 0: offsets 10 to 1999"
    assert LostRange("logs", 0, 10, 1999).count == 1990
