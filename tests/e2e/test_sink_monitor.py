"""The state that a real sink serves: what its batches landed, read from /status while it runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from demo.broker import Broker
from demo.ports import free_ports
from tests.e2e.running import await_true
from tests.e2e.sinking import BAD, PATIENCE, SinkLab
from tests.tiers import GATE_SEED

pytestmark = [pytest.mark.kafka, pytest.mark.slow("a start of Spark; unit/spark_sink/monitor proves the document")]


@pytest.fixture
def lab(tmp_path: Path, kafka_broker: Broker) -> Iterator[SinkLab]:
    lab = SinkLab(tmp_path, kafka_broker, "monitored", GATE_SEED)
    lab.make_topic()
    yield lab
    lab.kill()


def status(port: int) -> dict[str, Any]:
    with urlopen(f"http://localhost:{port}/status") as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def tables_of(document: dict[str, Any]) -> dict[str, list[list[Any]]]:
    """Return the rows of each table that has some."""
    return {table["id"]: table["rows"] for table in document["tables"] if table["rows"]}


def test_the_status_has_what_landed(lab: SinkLab) -> None:
    (port,) = free_ports(1)
    lab.send_lines(500)
    lab.send_bad(*BAD)
    lab.start("-E", "http.enabled=true", "-E", f"http.port={port}")
    lab.await_all()
    # The rows are in the tables a moment before the batch is reported.
    await_true(lambda: "tables" in tables_of(status(port)), "the batch is reported", PATIENCE)
    document = status(port)
    figures = {figure["id"]: figure["value"] for figure in document["figures"]}
    assert (figures["rows_landed"], figures["rows_bad"], figures["lag_offsets"]) == (500, 2, 0)
    tables = tables_of(document)
    assert [(row[0], row[1]) for row in tables["tables"]] == [(str(lab.lines), 500), (str(lab.dead_letter), 3)]
    assert {row[0]: row[1] for row in tables["dead_letters"]} == {"not JSON": 1, "no @timestamp": 1}, (
        "a tombstone is none"
    )
    assert sum(row[2] for row in tables["partitions"]) == 503
    assert {"tasks", "commit", "marks"} <= {row[0] for row in tables["stages"]}
    assert document["health"]["state"] == "degraded", "records were bad a moment ago"
    assert str(lab.lines) in document["configuration"]
    assert lab.terminate() == 0
