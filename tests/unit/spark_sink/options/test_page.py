"""The pages and files that are written from the sink's models, or shipped with them."""

import re
from pathlib import Path

import pytest
import yaml

from log_shipper import config
from log_shipper.config.export import export
from log_shipper.config.json_schema import schema
from log_shipper.config.reference import table
from log_shipper.config.text.secrets import MASK, masked
from log_shipper.config.text.spans import parse_span, readable_span
from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.page import page
from tests import json_schemas
from tests.config_lab import ConfigLab

DOCS = Path(config.__file__).parents[1] / "docs"
SCHEMA = schema(SinkConfig, "sink.yml")
WHOLE = "kafka: {hosts: [a:1], topics: [logs]}\ntable.path: /data/logs\ncheckpoint.path: /data/checkpoint\n"


def refusals(text: str) -> list[str]:
    return json_schemas.refusals(SCHEMA, yaml.safe_load(text))


def test_the_page_in_the_docs_is_the_one_that_the_code_writes() -> None:
    written = (DOCS / "reference" / "sink-options.md").read_text()
    assert written == page(), (
        "write it again: python -m log_shipper.spark_sink.options.page > docs/reference/sink-options.md"
    )


def test_the_example_on_the_page_loads(lab: ConfigLab) -> None:
    example = re.search(r"```yaml\n(.*?)```", page(), re.DOTALL)
    assert example is not None
    assert lab.load(example[1], SinkConfig).dead_letter_path == "/lake/logs_dead_letter"


def test_days_are_reported_as_days() -> None:
    rows = table(SinkConfig)
    assert "| `dedupe.forget_after` | duration | `14d` | seconds | 0.3 |" in rows
    assert "| `start_timestamp` | time |  |  | 0.3 |" in rows


@pytest.mark.parametrize(
    ("text", "seconds"), [("14d", 14 * 86400), ("1.5d", 1.5 * 86400), ("36h", 129600), ("90", 90), (" 1m30s ", 90)]
)
def test_a_long_duration_may_be_given_in_days(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds


@pytest.mark.parametrize("text", ["d", "1w", "1d12h", "-1d", "", "٣d"])
def test_an_invalid_duration_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write 14d"):
        parse_span(text)


@pytest.mark.parametrize(("seconds", "text"), [(14 * 86400, "14d"), (5400, "1h30m"), (129600, "36h"), (0, "")])
def test_a_span_is_reported_as_people_write_it(seconds: int, text: str) -> None:
    assert readable_span(seconds) == (text or "0ms")


@pytest.mark.parametrize(
    "more",
    [
        "",
        "start: offsets\nstart_offsets: {logs: {0: 1}}",
        "start: offsets\nstart_offsets.logs.0: 1",
        "columns: [{name: a, path: b, type: array<string>}]",
        "views: {name: a, sql: x, trigger.interval: 5s}",
        "maintenance.retention: {lines: 90d}",
        "spark.sql.shuffle.partitions: 2",
        "kafka.ssl: {enabled: true}",
        "logging.metrics.enabled: true",
        "http: ~",
    ],
)
def test_the_schema_accepts_what_the_loader_accepts(more: str, lab: ConfigLab) -> None:
    if "views" not in more:
        lab.load(WHOLE + more, SinkConfig)
    assert refusals(WHOLE + more) == []


@pytest.mark.parametrize(
    "more", ["strat: latest", "stop: soon", "columns: [{nam: a}]", "maintenance.vacuum.mode: fast", "http.port: many"]
)
def test_what_is_a_mistake_by_itself_the_schema_marks(more: str, lab: ConfigLab) -> None:
    assert lab.problems(WHOLE + more, SinkConfig)
    assert refusals(WHOLE + more)


def test_the_configuration_that_we_ship_loads_and_is_short() -> None:
    file = Path(config.__file__).with_name("sink.yml")
    loaded = load(file, SinkConfig, env={})
    assert loaded.kafka.topics == ("logs",)
    assert len(file.read_text().splitlines()) <= 10


EXPORTED = [
    "kafka.librdkafka.ssl.key.password: s3cret\nstart: offsets\nstart_offsets: {logs: {0: 17}}\n",
    "spark.speculation: false\nspark.speculation.interval: 1s\nspark: {hadoop.fs.s3a.secret.key: s3cret}\n",
    "kafka.partitions: {web: [0], web.eu: [1, 2]}\nkafka.username: me\nkafka.password: s3cret\n",
    "start: timestamp\nstart_timestamp: 2026-11-21 09:30\nviews: [{name: v, sql: 'SELECT \"%{x}\"'}]\n",
]


@pytest.mark.parametrize("more", EXPORTED)
def test_what_export_prints_loads_to_the_same_and_hides_secrets(lab: ConfigLab, more: str) -> None:
    once = lab.load(more + (WHOLE if "partitions" not in more else WHOLE.replace(", topics: [logs]", "")), SinkConfig)
    printed = export([lab.file], SinkConfig, (), {})
    assert "s3cret" not in printed
    again = lab.load(printed.replace(MASK, "s3cret"), SinkConfig)
    assert again == once


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("fs.s3a.secret.key", True),
        ("fs.s3a.access.key", True),
        ("fs.s3a.session.token", True),
        ("fs.s3a.encryption.key", True),
        ("fs.azure.account.key.logs.dfs.core.windows.net", True),
        ("fs.azure.account.oauth2.client.secret", True),
        ("fs.s3a.endpoint", False),
        ("fs.s3a.path.style.access", False),
        ("fs.azure.account.auth.type", False),
    ],
)
def test_the_keys_of_object_stores_are_hidden(name: str, is_secret: bool) -> None:
    assert (masked({"spark": {"hadoop." + name: "x"}})["spark"]["hadoop." + name] == MASK) is is_secret
