"""Where the sink begins and ends."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Protocol

import pytest

from log_shipper.spark_sink.options.model import SinkConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

SMALL = """\
kafka: {hosts: [a:1], topics: [logs, web.eu]}
table.path: /data/logs
checkpoint.path: /data/checkpoint
"""
SHAPE = "must be a topic with offsets by partition, as in 'logs: {0: 17, 1: 23}'"


class LoadSink(Protocol):
    def __call__(self, text: str, *overrides: str) -> SinkConfig: ...


@pytest.fixture
def sink(lab: ConfigLab) -> LoadSink:
    return lambda text, *overrides: lab.load(SMALL + text, SinkConfig, overrides)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T09:30:00Z", datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
        ("2026-11-21 09:30", datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("'2026-11-21T10:30:00.5+01:00'", datetime(2026, 11, 21, 10, 30, 0, 500000, timezone(timedelta(hours=1)))),
    ],
)
def test_a_time_without_a_zone_is_utc(sink: LoadSink, text: str, expected: datetime) -> None:
    start = sink(f"start: timestamp\nstart_timestamp: {text}").start_timestamp
    assert start is not None
    assert expected.tzinfo is not UTC or start.tzinfo is UTC
    assert sink(f"start: timestamp\nstart_timestamp: {text}\n").start_timestamp == expected
    assert sink(f"stop: timestamp\nstop_timestamp: {text}\n").stop_timestamp == expected


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ("start: offsets\nstart_offsets: {logs: {0: 17, 1: -2}, web.eu: {0: -1}}", ()),
        ("start: offsets\nstart_offsets:\n  logs.0: 17\n  logs.1: -2\n  web: {eu: {0: -1}}", ()),
        (
            "start: offsets\nstart_offsets: {logs: {0: 5, 1: -2}}",
            ("start_offsets.logs.0=17", "start_offsets.web.eu.0=-1"),
        ),
        ("", ("start=offsets", "start_offsets={logs: {0: 17, 1: -2}, web.eu: {0: -1}}")),
    ],
)
def test_offsets_are_given_by_topic_and_partition(sink: LoadSink, text: str, overrides: tuple[str, ...]) -> None:
    assert sink(text, *overrides).start_offsets == {"logs": {0: 17, 1: -2}, "web.eu": {0: -1}}


def test_a_stop_is_the_first_offset_that_is_not_landed(sink: LoadSink) -> None:
    assert sink("stop: offsets\nstop_offsets: {logs: {0: 0}}").stop_offsets == {"logs": {0: 0}}


def test_the_group_to_resume_from_is_the_sinks_own_or_another(sink: LoadSink) -> None:
    assert sink("start: committed").start_group is None
    assert sink("start: committed\nstart_group: other\nkafka.group_id: ''").start_group == "other"


@pytest.mark.parametrize(
    ("text", "problem"),
    rows(r"""
        start: timestamp -> 4: start: 'timestamp' needs start_timestamp, as in 'start_timestamp: 2026-11-21T09:30:00Z'
        start: offsets -> 4: start: 'offsets' needs start_offsets, as in 'start_offsets: {logs: {0: 17, 1: 23}}'
        stop: timestamp -> 4: stop: 'timestamp' needs stop_timestamp, as in 'stop_timestamp: 2026-11-21T09:30:00Z'
        stop: offsets -> 4: stop: 'offsets' needs stop_offsets, as in 'stop_offsets: {logs: {0: 17, 1: 23}}'
        start_timestamp: 2026-11-21
            -> 4: start_timestamp: requires 'start: timestamp', but 'start: earliest' is set
        start: latest\nstart_offsets: {logs: {0: 1}}
            -> 5: start_offsets: requires 'start: offsets', but 'start: latest' is set
        start_group: x -> 4: start_group: requires 'start: committed', but 'start: earliest' is set
        stop_offsets: {logs: {0: 1}} -> 4: stop_offsets: requires 'stop: offsets', but 'stop: never' is set
        start: committed\nkafka.group_id: ''
            -> 4: start: 'committed' needs start_group, the consumer group to resume from, because kafka.group_id
            is empty
    """),
)
def test_each_choice_has_its_companion_and_no_other(lab: ConfigLab, text: str, problem: str) -> None:
    assert lab.problems(SMALL + text, SinkConfig) == [f"shipper.yml:{problem}"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{log: {0: 1}}", "start_offsets.log: is not read; topics logs, web.eu are"),
        ("{logs: {0: -3}}", "start_offsets.logs.0: must be an offset, -2 (earliest) or -1 (latest)"),
        ("{logs: {0: 9223372036854775808}}", "start_offsets.logs.0: must be an offset, -2 (earliest) or -1 (latest)"),
        ("{logs: {0: x}}", "start_offsets.logs.0: 'x' must be an integer"),
        ("{logs: {zero: 1}}", f"start_offsets.logs.zero: {SHAPE}"),
        ("{web.eu: 5}", f"start_offsets.web.eu: {SHAPE}"),
        ("{logs: [1, 2]}", f"start_offsets.logs: {SHAPE}"),
        ("{logs: {0: [1]}}", "start_offsets.logs.0: must be an integer, not a list"),
        ("5", "start_offsets: must be a section of options (key: value)"),
    ],
)
def test_a_mistake_in_offsets_is_named(lab: ConfigLab, text: str, problem: str) -> None:
    text = f"{SMALL}start: offsets\nstart_offsets: {text}"
    assert lab.problems(text, SinkConfig) == [f"shipper.yml:5: {problem}"]


@pytest.mark.parametrize("text", ["yesterday", "1763712000000", "09:30"])
def test_an_invalid_time_is_reported(lab: ConfigLab, text: str) -> None:
    (reported,) = lab.problems(f"{SMALL}start: timestamp\nstart_timestamp: {text}", SinkConfig)
    assert reported.startswith(f"shipper.yml:5: start_timestamp: '{text}' is not a time; write 2026-11-21T09:30:00Z")


def test_offsets_of_a_partition_that_is_not_read_are_reported(lab: ConfigLab) -> None:
    text = SMALL.replace("topics: [logs, web.eu]", "partitions: {logs: [0]}")
    text += "start: offsets\nstart_offsets: {logs: {0: 1, 4: 1}}"
    assert lab.problems(text, SinkConfig) == ["shipper.yml:5: start_offsets.logs.4: is not one of kafka.partitions"]


def test_offsets_of_any_topic_may_be_given_with_a_pattern(lab: ConfigLab) -> None:
    text = SMALL.replace("topics: [logs, web.eu]", "topics_pattern: .*") + "stop: offsets\nstop_offsets: {any: {0: 1}}"
    assert lab.load(text, SinkConfig).stop_offsets == {"any": {0: 1}}


def test_an_end_at_the_beginning_lands_nothing_and_is_no_mistake(sink: LoadSink) -> None:
    text = "start: offsets\nstart_offsets: {logs: {0: 9}}\nstop: offsets\nstop_offsets: {logs: {0: 9}}"
    assert sink(text).stop_offsets == {"logs": {0: 9}}


def test_an_end_before_the_beginning_is_reported(lab: ConfigLab) -> None:
    offsets = "start: offsets\nstart_offsets: {logs: {0: 9}}\nstop: offsets\nstop_offsets: {logs: {0: 8}}"
    assert lab.problems(SMALL + offsets, SinkConfig) == [
        "shipper.yml:7: stop_offsets.logs.0: is before its start_offsets"
    ]
    times = "start: timestamp\nstart_timestamp: 2026-01-02\nstop: timestamp\nstop_timestamp: 2026-01-01"
    assert lab.problems(SMALL + times, SinkConfig) == [
        "shipper.yml:7: stop_timestamp: must be later than start_timestamp"
    ]
