"""What the Spark sink can be told."""

from pathlib import Path

import pytest

from config.sink import SinkConfig

SMALL = """\
kafka.hosts: [a:1, b:2]
kafka.topic: logs
table.path: /data/logs/
checkpoint.path: /data/checkpoint
"""


@pytest.fixture
def sink(lab):
    return lambda text, *overrides: lab.load(text, SinkConfig, overrides)


def test_four_lines_are_enough(sink):
    config = sink(SMALL)
    assert (config.kafka.hosts, config.kafka.bootstrap_servers, config.kafka.topics) == (
        ("a:1", "b:2"),
        "a:1,b:2",
        ("logs",),
    )
    assert (config.table.path, config.checkpoint.path) == ("/data/logs/", "/data/checkpoint")
    assert (config.start, config.trigger.interval, config.max_offsets_per_trigger) == ("earliest", 1.0, 1_000_000)
    assert (config.spark, config.kafka.options, config.logging.level) == ({}, {}, "info")


def test_bad_records_go_beside_the_table_unless_said_otherwise(sink):
    assert sink(SMALL).dead_letter_path == "/data/logs_dead_letter"
    assert sink(SMALL, "dead_letter.path=/bad").dead_letter_path == "/bad"


def test_brokers_and_topics_may_be_written_the_way_of_spark(sink):
    config = sink(
        SMALL.replace("hosts: [a:1, b:2]", "bootstrap_servers: a:1,b:2").replace("topic: logs", "topics: [x, y]")
    )
    assert (config.kafka.hosts, config.kafka.topics) == (("a:1", "b:2"), ("x", "y"))


def test_raw_settings_keep_their_names(sink):
    config = sink(SMALL + "kafka.options:\n  kafka.max.poll.records: 5\n  failOnDataLoss: false\n")
    assert config.kafka.options == {"kafka.max.poll.records": 5, "failOnDataLoss": False}


@pytest.mark.parametrize(
    "text",
    [
        "spark.sql.shuffle.partitions: 2\nspark.speculation: false\nspark.speculation.interval: 1s\n",
        "spark:\n  sql.shuffle.partitions: 2\n  speculation: false\n  speculation.interval: 1s\n",
        "spark:\n  spark.sql.shuffle.partitions: 2\n  spark.speculation: false\n  spark.speculation.interval: 1s\n",
    ],
)
def test_settings_of_spark_may_be_written_with_or_without_their_prefix(sink, text):
    assert sink(SMALL + text).spark_conf == {
        "spark.sql.shuffle.partitions": "2",
        "spark.speculation": "false",
        "spark.speculation.interval": "1s",
    }


def test_raw_settings_are_not_shown(sink):
    config = sink(SMALL + "kafka.options.x: s3cret\nspark.hadoop.secret: s3cret\n")
    assert "s3cret" not in repr(config)


def test_what_is_missing_is_named_where_it_belongs(lab):
    assert lab.problems("kafka.options.x: 1\n\ntable:\n", SinkConfig) == [
        "shipper.yml:1: kafka.hosts: missing; name one broker at least, as in 'hosts: [\"localhost:9092\"]'",
        "shipper.yml:1: kafka.topics: missing; name one topic at least",
        "shipper.yml:1: checkpoint.path: missing",
        "shipper.yml:3: table.path: missing",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("start: middle", "shipper.yml:5: start: 'middle' must be one of: earliest, latest"),
        ("max_offsets_per_trigger: 0", "shipper.yml:5: max_offsets_per_trigger: must be at least 1"),
        ("trigger.intervall: 1s", "shipper.yml:5: trigger.intervall: unknown option; did you mean 'interval'?"),
    ],
)
def test_a_mistake_is_named(lab, line, problem):
    assert lab.problems(f"{SMALL}{line}\n", SinkConfig) == [problem]


def test_two_ways_to_name_the_brokers_are_one_too_many(lab):
    (problem,) = lab.problems(SMALL + "kafka.bootstrap_servers: x\n", SinkConfig)
    assert problem.startswith("shipper.yml:5: kafka.bootstrap_servers: means the same as kafka.hosts (")
    assert Path(problem.partition("(")[2].partition(":1)")[0]).name == "shipper.yml"
