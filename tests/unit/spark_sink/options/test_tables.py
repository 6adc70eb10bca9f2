"""Tables, their columns, views, and what maintenance does."""

from collections.abc import Callable

import pytest

from log_shipper.spark_sink.options.model import SinkConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

SMALL = """\
kafka: {hosts: [a:1], topics: [logs]}
table.path: /data/logs
checkpoint.path: /data/checkpoint
"""

LoadSink = Callable[[str], SinkConfig]


@pytest.fixture
def sink(lab: ConfigLab) -> LoadSink:
    return lambda text: lab.load(SMALL + text, SinkConfig)


def test_a_table_is_partitioned_by_date_by_default(sink: LoadSink) -> None:
    table = sink("").table
    assert (table.partition_by, table.properties, table.max_tables) == ("date", {}, 100)


def test_properties_keep_their_names(sink: LoadSink) -> None:
    text = "table.properties:\n  delta.appendOnly: false\n  delta.logRetentionDuration: 7 days\n"
    assert sink(text).table.properties == {"delta.appendOnly": False, "delta.logRetentionDuration": "7 days"}


def test_a_column_is_a_text_by_default(sink: LoadSink) -> None:
    (status, user) = sink(
        "columns:\n  - {name: status, path: http.response.status_code, type: int, required: true}\n"
        "  - {name: user, path: labels.app/user-name, comment: Who}\n"
    ).columns
    assert (status.name, status.path, status.type, status.required) == (
        "status",
        "http.response.status_code",
        "int",
        True,
    )
    assert (user.type, user.required, user.comment, user.path) == ("string", False, "Who", "labels.app/user-name")


def test_a_view_has_its_own_pace(sink: LoadSink) -> None:
    (view,) = sink("views: {0: {name: v, sql: 'SELECT 1 FROM lines', watermark: 10m, partition_by: date}}").views
    assert (view.trigger.interval, view.watermark, view.watermark_column) == (10.0, 600.0, "ts")
    assert (view.mode, view.start, view.partition_by, view.source) == ("append", "earliest", ("date",), None)


def test_maintenance_compacts_closed_dates_and_deletes_no_rows_by_default(sink: LoadSink) -> None:
    kept = sink("").maintenance
    assert (kept.optimize.enabled, kept.optimize.min_files, kept.optimize.closed_after) == (True, 2, 86400.0)
    assert (kept.vacuum.mode, kept.vacuum.retain, kept.retention.lines) == ("full", 7 * 86400.0, None)
    assert sink("maintenance.retention: {lines: 90d, views: 36h}").maintenance.retention.lines == 90 * 86400.0


def test_a_short_time_travel_is_not_a_mistake_but_is_noted(sink: LoadSink) -> None:
    (note,) = sink("maintenance.vacuum.retain: 2d").notes
    assert note.endswith("2d is less than Delta's 7d: queries and micro-batches that run longer fail")
    assert sink("maintenance.vacuum: {retain: 2d, mode: off}").notes == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    rows("""
        table.partition_by: host -> table.partition_by: 'host' must be one of: date, none
        table: {partition_by: none, cluster_by: [host]}
            -> table.cluster_by: not supported; liquid clustering needs table features (clustering, domainMetadata),
            which the sink does not use, to support every reader; use 'partition_by: date', and copy rows to another
            table to cluster them
        table.max_tables: 0 -> table.max_tables: must be at least 1
        table.properties: {delta.checkpointInterval: 0}
            -> table.properties.delta.checkpointInterval: 0 must be a number of commits, at least 1
        table.properties: {delta.checkpointInterval: 10 commits}
            -> table.properties.delta.checkpointInterval: '10 commits' must be a number of commits, at least 1
        table.path2: x -> table.path2: unknown option; did you mean 'path'?
        columns: [{name: Host, path: a}] -> columns[0].name: 'Host' is a column of every table; choose another name
        columns: [{name: a, path: a}, {name: A, path: b}] -> columns[1].name: 'A' is the name of columns[0] too
        columns: [{name: _a, path: a}]
            -> columns[0].name: '_a' is not a valid name: use letters, digits and underscores, beginning with a letter
        columns: [{name: a, path: $.a}] -> columns[0].path: '$.a' is not a field of a record: write names joined by
            dots, as in http.response.status_code
        columns: [{name: a, path: a, type: integer}] -> columns[0].type: 'integer' must be one of: string, boolean, int,
            bigint, double, timestamp, date, array<string>
        columns: [{name: a}] -> columns[0].path: missing
        columns: [a] -> columns[0]: must be a section of options (key: value), as in '- {name: status, path:
            http.response.status_code, type: int}'
        views: [{name: a}] -> views[0].sql: missing
        views: [{name: a, sql: ' '}] -> views[0].sql: is empty
        views: [{name: a-b, sql: x}]
            -> views[0].name: 'a-b' is not a valid name: use letters, digits and underscores, beginning with a letter
        views: [{name: lines, sql: x}]
            -> views[0].name: 'lines' is the name of the stream in a view's sql; choose another name
        views: [{name: a, sql: x}, {name: A, sql: x}] -> views[1].name: 'A' is the name of views[0] too
        views: [{name: a, sql: x, mode: update}] -> views[0].mode: 'update' must be one of: append, complete
        views: [{name: a, sql: x, source: /y}] -> views[0].source: '/y' is not a table of table.path ('/data/logs')
        views: [{name: a, sql: x, partition_by: [h, H]}] -> views[0].partition_by[1]: 'H' is given twice
        maintenance.vacuum: off
            -> maintenance.vacuum: must be a section of options (key: value), as in 'vacuum: {mode: off}'
        maintenance.vacuum.retain: 10m
            -> maintenance.vacuum.retain: must be at least 1h, to keep the files of a micro-batch in progress
        maintenance.retention.lines: 23h
            -> maintenance.retention.lines: must be at least 1d: maintenance deletes whole dates
        maintenance.optimize.min_files: 1 -> maintenance.optimize.min_files: must be at least 2
        maintenance.optimise.enabled: false -> maintenance.optimise: unknown option; did you mean 'optimize'?
    """),
)
def test_a_mistake_is_named(lab: ConfigLab, text: str, problem: str) -> None:
    (reported,) = lab.problems(SMALL + text, SinkConfig)
    assert reported.partition(": ")[2] == problem


def test_a_view_of_one_of_several_tables_names_it(lab: ConfigLab) -> None:
    text = (
        SMALL.replace("/data/logs", "'/data/%{[topic]}'").replace("/data/checkpoint", "/cp")
        + "views: [{name: a, sql: x"
    )
    assert lab.problems(text + "}]", SinkConfig) == [
        "shipper.yml:4: views[0].source: missing; table.path is a template for several tables: give the path of one"
    ]
    assert lab.load(text + ", source: /data//logs/}]", SinkConfig).views[0].source == "/data//logs/"
    (reported,) = lab.problems(text + ", source: /data/other}]", SinkConfig)
    assert reported.endswith("views[0].source: '/data/other' is not a table of table.path ('/data/%{[topic]}')")
