"""`type: kafka`: what is read of its options, and which mistakes are reported."""

from datetime import UTC, datetime

import pytest

from log_shipper.shipper.inputs.kafka.client import settings
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.config_lab import ConfigLab, narrowed

INPUT = """\
shipper.inputs:
  - type: kafka
    hosts: ["a:9092"]
    group_id: g
    topics: [logs, "^app-.*"]
    {}
output.console.pretty: false
"""
TO_KAFKA = """\
shipper.inputs:
  - {{type: kafka, hosts: ["a:9092", "b:9092"], group_id: g, topics: [{topics}]{more}}}
output.kafka: {{hosts: ["b:9092"], topic: out{output}}}
"""


def read(lab: ConfigLab, option: str = "enabled: true") -> KafkaInputConfig:
    return narrowed(KafkaInputConfig, lab.load(INPUT.format(option)).inputs[0])


def test_defaults_are_filebeats_but_for_the_host(lab: ConfigLab) -> None:
    config = read(lab)
    assert (config.initial_offset, config.isolation_level, config.rebalance.strategy) == (
        "earliest",
        "read_uncommitted",
        "range",
    )
    assert (config.wait_close, config.max_wait_time, config.rebalance.timeout) == (2.0, 0.25, 60.0)
    assert config.publisher_pipeline.disable_host
    assert config.id.startswith("kafka-")


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("oldest", "earliest"),
        ("earliest", "earliest"),
        ("newest", "latest"),
        ("latest", "latest"),
        ("2026-01-31T08:00:00Z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("'2026-01-31T08:00:00'", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_where_a_new_group_begins(lab: ConfigLab, written: str, read_as: object) -> None:
    assert read(lab, f"initial_offset: {written}").initial_offset == read_as


def test_records_are_joined_by_the_parsers_that_join_lines(lab: ConfigLab) -> None:
    parsers = read(lab, "parsers: [container: {format: cri}, multiline: {pattern: '^ ', timeout: 2s}]").parsers
    assert parsers == (ContainerConfig(format="cri"), MultilineConfig(pattern="^ ", timeout=2.0))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (
            "initial_offset: tomorrow",
            "'tomorrow' must be oldest (or earliest), newest (or latest), or a time such as 2026-01-31T08:00:00Z",
        ),
        ("expand_event_list_from_field: records", "not supported; each record is one event, identified by its offset"),
        ("librdkafka: {enable.auto.commit: true}", "cannot be set, because it could lose or repeat records"),
        ("librdkafka: {auto.offset.reset: latest}", "set initial_offset and out_of_range instead"),
        ("username: u", "missing; username needs it"),
        ("fetch.min: 0", "must be at least 1"),
        ("rebalance.strategy: sticky", "must be one of"),
    ],
)
def test_mistakes_are_reported(lab: ConfigLab, option: str, problem: str) -> None:
    assert any(problem in text for text in lab.problems(INPUT.format(option))), lab.problems(INPUT.format(option))


def test_names_of_topics_and_patterns_are_checked(lab: ConfigLab) -> None:
    problems = lab.problems(INPUT.replace('[logs, "^app-.*"]', '["a b", "^(", "x", "x"]').format("enabled: true"))
    assert [problem.partition(": ")[2].partition(": ")[2].split(" ")[0] for problem in problems] == [
        "'a",
        "'^('",
        "'x'",
    ]


@pytest.mark.parametrize(
    ("topics", "output"),
    [
        ("out", ""),
        ("'^o.*'", ""),
        ("spare", ", topics: [{topic: '%{[a]}', default: spare}]"),
        ("mapped", ", topics: [{topic: '%{[a]}', mappings: {x: mapped}}]"),
    ],
)
def test_the_own_output_is_not_read(lab: ConfigLab, topics: str, output: str) -> None:
    problems = lab.problems(TO_KAFKA.format(topics=topics, more="", output=output))
    assert any("is the shipper's own output" in problem for problem in problems)


def test_another_topic_and_one_of_that_name_at_other_brokers_may_be_read(lab: ConfigLab) -> None:
    lab.load(TO_KAFKA.format(topics="logs", more="", output=""))
    lab.load(TO_KAFKA.format(topics="out", more="", output="").replace('"b:9092"]', '"c:9092"]', 1))


def test_exactly_once_needs_committed_reads_in_one_cluster(lab: ConfigLab) -> None:
    text = TO_KAFKA.format(topics="logs", more="", output=", delivery: exactly_once")
    assert any("exactly_once needs read_committed" in problem for problem in lab.problems(text))
    text = TO_KAFKA.format(topics="logs", more=", isolation_level: read_committed", output=", delivery: exactly_once")
    lab.load(text)
    elsewhere = text.replace('["a:9092", "b:9092"]', '["c:9092"]')
    assert any("must be on the same cluster" in problem for problem in lab.problems(elsewhere))


def test_options_become_settings_of_the_client(lab: ConfigLab) -> None:
    config = read(
        lab,
        "group_instance_id: one\n    fetch.max: 2MiB\n    rebalance: {strategy: cooperative-sticky, timeout: 6s}",
    )
    made = settings(config)
    assert {
        "group.id": "g",
        "group.instance.id": "one",
        "fetch.max.bytes": 2 * 1024**2,
        "partition.assignment.strategy": "cooperative-sticky",
        "max.poll.interval.ms": 6000,
        "session.timeout.ms": 6000,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 250,
    }.items() <= made.items()
