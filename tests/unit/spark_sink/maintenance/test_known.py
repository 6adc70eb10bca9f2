"""How tables are called in messages."""

from pathlib import Path

import pytest

from log_shipper.spark_sink.maintenance.known import KnownTable, table_name
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.conftest import sink_config

NOWHERE = Table(Location("/lake/logs"))


@pytest.mark.parametrize(
    ("known", "title"),
    [
        (KnownTable("lines", NOWHERE), "lines"),
        (KnownTable("lines", NOWHERE, name="audit"), "lines audit"),
        (KnownTable("dead letter", NOWHERE), "dead letter"),
        (KnownTable("view", NOWHERE, name="errors"), "view errors"),
    ],
)
def test_a_table_is_called_by_what_it_is_for(known: KnownTable, title: str) -> None:
    assert known.title == title


@pytest.mark.parametrize(
    ("template", "path", "name"),
    [
        ("/lake/logs", "/lake/logs", ""),
        ("/lake/logs/%{[topic]}", "/lake/logs/audit", "audit"),
        ("/lake/logs/%{[topic]}", "/elsewhere/audit", "/elsewhere/audit"),
    ],
)
def test_tables_of_a_template_are_distinguished_from_each_other(
    tmp_path: Path, template: str, path: str, name: str
) -> None:
    assert table_name(sink_config(tmp_path, table=TableConfig(path=template)), path) == name
