from dataclasses import replace
from pathlib import Path

from config.sink import KafkaSource, SinkConfig
from spark_sink import source


def test_every_batch_is_bounded_and_aborted_records_are_left_out(config: SinkConfig) -> None:
    assert source.options(config) == {
        "kafka.bootstrap.servers": "127.0.0.1:9092",
        "subscribe": "logs",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "1000000",
        "kafka.isolation.level": "read_committed",
    }


def test_the_users_raw_options_win_and_reach_the_client(config: SinkConfig, tmp_path: Path) -> None:
    raw = {"kafka.security.protocol": "SASL_SSL", "failOnDataLoss": False, "kafka.isolation.level": "read_uncommitted"}
    kafka = KafkaSource(hosts=("a:1", "b:2"), topics=("x", "y"), options=raw)
    changed = replace(config, kafka=kafka, start="latest")
    assert source.options(changed)["failOnDataLoss"] == "false"
    assert source.options(changed)["subscribe"] == "x,y"
    assert source.options(changed)["startingOffsets"] == "latest"
    assert source.client_options(changed) == {
        "bootstrap.servers": "a:1,b:2",
        "isolation.level": "read_uncommitted",
        "security.protocol": "SASL_SSL",
    }
