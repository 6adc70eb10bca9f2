from dataclasses import replace

import pytest

from config.sink.kafka import KafkaSource
from config.sink.model import SinkConfig
from spark_sink.kafka import source


def with_kafka(config: SinkConfig, **kafka: object) -> SinkConfig:
    return replace(config, kafka=KafkaSource(hosts=("a:1", "b:2"), **kafka))  # type: ignore[arg-type]  # real fields


def test_every_batch_is_bounded_and_aborted_records_are_left_out(config: SinkConfig) -> None:
    assert source.options(config) == {
        "kafka.bootstrap.servers": "127.0.0.1:9092",
        "subscribe": "logs",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "1000000",
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "kafka.isolation.level": "read_committed",
        "kafka.metadata.max.age.ms": "30000",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("kafka", "option", "value"),
    [
        ({"topics": ("x", "y")}, "subscribe", "x,y"),
        # Spark looks for the pattern anywhere in the name.
        ({"topics_pattern": "logs-.*|x"}, "subscribePattern", r"\A(?:logs-.*|x)\z"),
        ({"partitions": {"x": (2, 0), "a": (1,)}}, "assign", '{"a": [1], "x": [0, 2]}'),
    ],
)
def test_topics_are_named_by_a_list_a_pattern_or_partitions(
    config: SinkConfig, kafka: dict[str, object], option: str, value: str
) -> None:
    made = source.options(with_kafka(config, **kafka))
    assert {key: made[key] for key in ("subscribe", "subscribePattern", "assign") if key in made} == {option: value}


def test_what_kafka_has_lost_is_skipped_only_when_that_is_configured(config: SinkConfig) -> None:
    assert source.options(replace(config, lost_offsets="continue"))["failOnDataLoss"] == "false"


def test_small_batches_wait_unless_the_run_is_to_end(config: SinkConfig) -> None:
    slow = replace(config, min_offsets_per_trigger=500, max_trigger_delay=90.5)
    assert source.options(slow)["minOffsetsPerTrigger"] == "500"
    assert source.options(slow)["maxTriggerDelay"] == "90500ms"
    assert not {"minOffsetsPerTrigger", "maxTriggerDelay"} & set(source.options(slow, waits=False))
    assert not {"minOffsetsPerTrigger", "maxTriggerDelay"} & set(source.options(config))


def test_the_users_raw_options_win_and_reach_the_client(config: SinkConfig) -> None:
    raw = {"kafka.security.protocol": "SASL_SSL", "failondataloss": False, "kafka.isolation.level": "read_uncommitted"}
    changed = with_kafka(config, topics=("x",), options=raw)
    made = source.options(changed, starting_offsets="latest")
    assert (made["failondataloss"], made["startingOffsets"]) == ("false", "latest")
    assert "failOnDataLoss" not in made
    assert source.client_options(changed) == {
        "bootstrap.servers": "a:1,b:2",
        "isolation.level": "read_uncommitted",
        "metadata.max.age.ms": "30000",
        "security.protocol": "SASL_SSL",
    }


def test_a_raw_choice_of_topics_takes_the_place_of_the_other(config: SinkConfig) -> None:
    made = source.options(with_kafka(config, topics=("x",), options={"subscribePattern": "a.*"}))
    assert made["subscribePattern"] == "a.*"
    assert "subscribe" not in made
