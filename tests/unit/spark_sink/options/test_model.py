"""The configuration of the Spark sink."""

from pathlib import Path
from typing import Protocol

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.spark_sink.options.model import SinkConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

SMALL = """\
kafka.hosts: [a:1, b:2]
kafka.topic: logs
table.path: /data/logs/
checkpoint.path: /data/checkpoint
"""


class LoadSink(Protocol):
    def __call__(self, text: str, *overrides: str) -> SinkConfig: ...


@pytest.fixture
def sink(lab: ConfigLab) -> LoadSink:
    return lambda text, *overrides: lab.load(text, SinkConfig, overrides)


def test_four_lines_are_enough(sink: LoadSink) -> None:
    config = sink(SMALL)
    assert (config.kafka.hosts, config.kafka.bootstrap_servers, config.kafka.topics) == (
        ("a:1", "b:2"),
        "a:1,b:2",
        ("logs",),
    )
    assert (config.table.path, config.checkpoint.path) == ("/data/logs/", "/data/checkpoint")
    assert (config.start, config.trigger.interval, config.max_offsets_per_trigger) == ("earliest", 1.0, 1_000_000)
    assert (config.spark, config.kafka.options, config.logging.level) == ({}, {}, "info")
    assert (config.stop, config.lost_offsets, config.min_offsets_per_trigger) == ("never", "fail", 0)
    assert (config.dedupe.enabled, config.dedupe.forget_after) == (True, 14 * 86400)
    assert (config.columns, config.views, config.http.enabled) == ((), (), False)


def test_bad_records_are_written_beside_the_table_by_default(sink: LoadSink) -> None:
    assert sink(SMALL).dead_letter_path == "/data/logs_dead_letter"
    assert sink(SMALL, "dead_letter.path=/bad").dead_letter_path == "/bad"


def test_brokers_and_topics_may_be_written_the_way_of_spark(sink: LoadSink) -> None:
    config = sink(
        SMALL.replace("hosts: [a:1, b:2]", "bootstrap_servers: a:1,b:2").replace("topic: logs", "topics: [x, y]")
    )
    assert (config.kafka.hosts, config.kafka.topics) == (("a:1", "b:2"), ("x", "y"))


def test_raw_settings_keep_their_names(sink: LoadSink) -> None:
    config = sink(SMALL + "kafka.librdkafka:\n  fetch.min.bytes: 5\n  check.crcs: true\n")
    assert config.kafka.librdkafka == {"fetch.min.bytes": 5, "check.crcs": True}


@pytest.mark.parametrize(
    "text",
    [
        "spark.sql.shuffle.partitions: 2\nspark.speculation: false\nspark.speculation.interval: 1s\n",
        "spark:\n  sql.shuffle.partitions: 2\n  speculation: false\n  speculation.interval: 1s\n",
        "spark:\n  spark.sql.shuffle.partitions: 2\n  spark.speculation: false\n  spark.speculation.interval: 1s\n",
    ],
)
def test_settings_of_spark_may_be_written_with_or_without_their_prefix(sink: LoadSink, text: str) -> None:
    assert sink(SMALL + text).spark_conf == {
        "spark.sql.shuffle.partitions": "2",
        "spark.speculation": "false",
        "spark.speculation.interval": "1s",
    }


def test_raw_settings_are_not_shown(sink: LoadSink) -> None:
    config = sink(SMALL + "kafka.librdkafka.x: s3cret\nspark.hadoop.secret: s3cret\n")
    assert "s3cret" not in repr(config)


def test_what_is_missing_is_named_where_it_belongs(lab: ConfigLab) -> None:
    assert lab.problems("kafka.librdkafka.x: 1\n\ntable:\n", SinkConfig) == [
        "shipper.yml:1: kafka.hosts: missing; name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
        "shipper.yml:1: checkpoint.path: missing",
        "shipper.yml:3: table.path: missing",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    rows("""
        start: middle -> start: 'middle' must be one of: earliest, latest, timestamp, offsets, committed, table
        stop: available_now -> stop: 'available_now' must be one of: never, available-now, offsets, timestamp
        lost_offsets: skip -> lost_offsets: 'skip' must be one of: fail, continue
        max_offsets_per_trigger: 0 -> max_offsets_per_trigger: must be at least 1
        trigger.intervall: 1s -> trigger.intervall: unknown option; did you mean 'interval'?
        trigger: 1s -> trigger: must be a section of options (key: value), as in 'trigger: {interval: 5s}'
        topics: [x] -> topics: unknown option; did you mean 'kafka.topics'?
        min_offsets_per_trigger: 2000000 -> min_offsets_per_trigger: is more than max_offsets_per_trigger (1000000)
        max_trigger_delay: 1m -> max_trigger_delay: requires min_offsets_per_trigger
        dedupe: false -> dedupe: must be a section of options (key: value), as in 'dedupe: {enabled: false}'
        dedupe.forget_after: 10m
            -> dedupe.forget_after: must be at least 1h: a shipper resends lines after an interruption
        dedupe.forget_after: 2 weeks -> dedupe.forget_after: '2 weeks' is not a duration; write 14d, 36h, 90m or 30s
        http.port: 70000 -> http.port: must be at most 65535
        http: true -> http: must be a section of options (key: value), as in 'http: {enabled: true}'
    """),
)
def test_a_mistake_is_named(lab: ConfigLab, line: str, problem: str) -> None:
    assert lab.problems(f"{SMALL}{line}\n", SinkConfig) == [f"shipper.yml:5: {problem}"]


def test_a_batch_may_wait_for_more(sink: LoadSink) -> None:
    config = sink(SMALL + "min_offsets_per_trigger: 1000\nmax_trigger_delay: 1m\n")
    assert (config.min_offsets_per_trigger, config.max_trigger_delay) == (1000, 60.0)


def test_the_logged_metrics_are_the_shippers(sink: LoadSink) -> None:
    config = sink(SMALL + "logging: {metrics.enabled: false, json: true}\n")
    assert config.logging.format == "json"
    (note,) = config.notes
    assert note.startswith("ignored: logging.metrics (")


def test_variables_are_filled_in_as_in_the_shippers(lab: ConfigLab) -> None:
    text = SMALL.replace("/data/logs/", "${LAKE}/logs") + "kafka.password: ${SECRET}\nkafka.username: me\n"
    config = lab.load(text, SinkConfig, env={"LAKE": "s3a://lake", "SECRET": "s3cret"})
    assert (config.table.path, config.kafka.password) == ("s3a://lake/logs", Secret("s3cret"))
    assert "s3cret" not in repr(config)
    assert lab.problems(text, SinkConfig, env={"LAKE": "/x"}) == [
        "shipper.yml:5: kafka.password: variable SECRET is not set; set a default with ${SECRET:value}"
    ]


def test_two_ways_to_name_the_brokers_are_one_too_many(lab: ConfigLab) -> None:
    (problem,) = lab.problems(SMALL + "kafka.bootstrap_servers: x\n", SinkConfig)
    assert problem.startswith("shipper.yml:5: kafka.bootstrap_servers: duplicates kafka.hosts (")
    assert Path(problem.partition("(")[2].partition(":1)")[0]).name == "shipper.yml"
