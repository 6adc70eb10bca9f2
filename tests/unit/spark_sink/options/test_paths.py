"""No two of the sink's directories are one, or lie in each other."""

from typing import Protocol

import pytest

from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.paths import normalized
from tests.config_lab import ConfigLab
from tests.tables import rows


class LoadSink(Protocol):
    def __call__(self, table: str, more: str = "", topics: str = ...) -> SinkConfig: ...


class Problems(Protocol):
    def __call__(self, table: str, more: str = "", kafka: str = ..., checkpoint: str = ...) -> list[str]: ...


@pytest.fixture
def loaded(lab: ConfigLab) -> LoadSink:
    def load(table: str, more: str = "", topics: str = "[logs, audit]") -> SinkConfig:
        text = f"kafka: {{hosts: [a:1], topics: {topics}}}\ntable.path: '{table}'\ncheckpoint.path: /cp/x\n{more}"
        return lab.load(text, SinkConfig)

    return load


@pytest.fixture
def problems(lab: ConfigLab) -> Problems:
    def problems(
        table: str, more: str = "", kafka: str = "topics: [logs, audit]", checkpoint: str = "/cp/x"
    ) -> list[str]:
        text = f"kafka: {{hosts: [a:1], {kafka}}}\ntable.path: '{table}'\ncheckpoint.path: {checkpoint}\n{more}"
        return lab.problems(text, SinkConfig)

    return problems


@pytest.mark.parametrize(
    ("table", "base"),
    [
        ("/data/logs", "/data/logs"),
        ("/data/logs/%{[topic]}", "/data/logs"),
        ("/data/logs-%{[topic]}", "/data/logs"),
        ("s3a://lake/x/%{[fields.service]:other}", "s3a://lake/x"),
    ],
)
def test_the_other_tables_lie_beside_the_table(loaded: LoadSink, table: str, base: str) -> None:
    template = "{[" in table
    source = f", source: {table.replace('%{[topic]}', 'logs').replace('%{[fields.service]:other}', 'y')}"
    config = loaded(table, f"views: [{{name: v, sql: x{source if template else ''}}}]")
    assert (config.dead_letter_path, config.state_path) == (f"{base}_dead_letter", f"{base}_marks")
    assert (config.view_path(config.views[0]), config.table_base) == (f"{base}_v", base)
    assert config.has_template is template


@pytest.mark.parametrize(
    "table", ["/", "s3a://lake", "s3a://lake/", "/%{[topic]}", "%{[topic]}", "s3a://b/%{[a]:b}", "."]
)
def test_the_table_needs_a_directory_that_others_can_be_named_after(problems: Problems, table: str) -> None:
    (reported,) = problems(table)
    before = " before the first %{...}" if "%{" in table else ""
    assert reported.startswith(f"shipper.yml:2: table.path: needs its own directory{before}, as in /data/logs: ")


@pytest.mark.parametrize(
    ("more", "problem"),
    rows(r"""
        dead_letter.path: /data/logs -> dead_letter.path: '/data/logs' is the table too (table.path)
        dead_letter.path: file:///data//logs/ -> dead_letter.path: 'file:///data//logs/' is the table too (table.path)
        dead_letter.path: /data/logs/bad
            -> dead_letter.path: '/data/logs/bad' is in the directory of the table (table.path)
        dead_letter.path: /data\nstate.path: /s
            -> dead_letter.path: '/data' contains the table (table.path: '/data/logs')
        state.path: /data/logs_dead_letter/
            -> state.path: '/data/logs_dead_letter/' is the dead-letter table too (dead_letter.path)
        state.path: /cp/x -> checkpoint.path: '/cp/x' is the table of marks too (state.path)
        views: [{name: marks, sql: x}] -> views[0].path: '/data/logs_marks' is the table of marks too (state.path)
        views: [{name: v, sql: x, path: /cp/x}] -> views[0].path: '/cp/x' is the checkpoint too (checkpoint.path)
        views: [{name: v, sql: x, path: /cp/x_views}]
            -> views[0].path: '/cp/x_views' is the views' checkpoints too (checkpoint.path)
        views: [{name: v, sql: x, path: /v}, {name: w, sql: x, path: /v/w}]
            -> views[1].path: '/v/w' is in the directory of the view 'v' (views[0].path)
        state.path: /data/%{[topic]}
            -> state.path: '/data/%{[topic]}': only table.path may contain %{...}; this path is shared by all tables
        dead_letter.path: '' -> dead_letter.path: is empty
        state.path: '/data/a%20b'
            -> state.path: '/data/a%20b' contains '%20', which libraries interpret differently: choose another name
        state.path: '/data/a\b'
            -> state.path: '/data/a\\b' contains '\\', which libraries interpret differently: choose another name
    """),
)
def test_what_collides_is_reported(problems: Problems, more: str, problem: str) -> None:
    (reported,) = problems("/data/logs", more)
    assert reported.partition(": ")[2] == problem


def test_a_directory_that_begins_with_an_underscore_may_lie_in_the_table(loaded: LoadSink) -> None:
    for table in ("/data/logs", "/data/%{[topic]}"):
        config = loaded(table, "state.path: /data/logs/_marks\ndead_letter.path: /bad")
        assert config.state_path == "/data/logs/_marks"


@pytest.mark.parametrize(
    ("table", "kafka", "checkpoint"),
    [
        ("/data/%{[topic]}", "topics: [audit]", "/data/audit"),
        ("/data/%{[topic]}", "topics_pattern: .*", "/data/checkpoint"),
        ("/data/%{[fields.service]:other}", "topics: [audit]", "/data/checkpoint"),
        ("/data/%{[topic]}/lines", "topics: [audit]", "/data/audit/lines/checkpoint"),
        ("file:/data/x-%{[topic]}", "topics: [audit]", "/data/x-audit"),
    ],
)
def test_a_possible_table_of_a_template_is_reported(
    problems: Problems, table: str, kafka: str, checkpoint: str
) -> None:
    (reported,) = problems(table, kafka=kafka, checkpoint=checkpoint)
    assert f"checkpoint.path: '{checkpoint}' may be one of the tables of table.path (" in reported


@pytest.mark.parametrize(
    ("table", "checkpoint"), [("/data/%{[topic]}", "/data/checkpoint"), ("/data/x-%{[topic]}", "/data/y")]
)
def test_a_directory_among_the_tables_may_be_no_topic(lab: ConfigLab, table: str, checkpoint: str) -> None:
    text = f"kafka: {{hosts: [a:1], topic: logs}}\ntable.path: '{table}'\ncheckpoint.path: {checkpoint}\n"
    assert lab.load(text, SinkConfig).checkpoint.path == checkpoint


@pytest.mark.parametrize("checkpoint", ["/data/all", "/data"])
def test_tables_may_not_lie_in_another_directory(problems: Problems, checkpoint: str) -> None:
    reported = problems("/data/all/%{[topic]}", checkpoint=checkpoint)
    words = f"checkpoint.path: '{checkpoint}' would contain the tables; choose a directory beside them"
    assert f"shipper.yml:3: {words}" in reported


@pytest.mark.parametrize(
    ("path", "same"),
    [
        ("/a//b/", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("S3A://Bucket//x/", "s3a://Bucket/x"),
        ("./a", "a"),
        ("hdfs:///x", "hdfs:///x"),
        ("abfss://c@acc.dfs.core/x/../y", "abfss://c@acc.dfs.core/y"),
    ],
)
def test_a_directory_has_one_spelling(path: str, same: str) -> None:
    assert normalized(path) == same
