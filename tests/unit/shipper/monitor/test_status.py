"""The document that the page and `shipper top` draw: its shape is a contract with both, and with the sink's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from log_shipper.runtime.logs.recent import RecentMessage
from log_shipper.runtime.monitor.document import Document
from log_shipper.runtime.monitor.health import Health
from log_shipper.shipper.monitor.sampler import Sampler
from log_shipper.shipper.monitor.snapshot import InputFigures, KubernetesFigures, Snapshot
from log_shipper.shipper.monitor.status import AgentIdentity, status
from log_shipper.shipper.pipeline.letter_counts import LetterCount
from tests.snapshots import KEPT, WELL, later

IDENTITY = AgentIdentity("web-1", "host-1", "id", "0.3.0", WELL.time - 60)
UNITS = {"events", "bytes", "seconds", "files", "batches", "pods", "events/s"}
KINDS = {"text", "number", "bytes", "seconds", "time"}


def sampled(*snapshots: Snapshot) -> Sampler:
    waiting = iter(snapshots)
    sampler = Sampler(lambda: next(waiting))
    for _ in snapshots:
        sampler.step()
    return sampler


@pytest.fixture
def document() -> Document:
    read = replace(WELL.metrics, events_read=3000)
    letters = [LetterCount("too large", 3, WELL.time, "/var/log/app.log", 17)]
    waiting = replace(WELL.output, waiting={"t": "it does not exist"})
    sampler = sampled(WELL, later(WELL, 2.0, metrics=read, letters=letters, output=waiting))
    errors = [RecentMessage(WELL.time, "warning", "careful", 2)]
    return status(IDENTITY, sampler, Health("ok", "Kafka accepts records.", 1, 9.0), errors, "name: web-1\n")


def table(document: Document, name: str) -> Any:
    return next(entry for entry in document["tables"] if entry["id"] == name)


def test_it_names_the_agent_and_its_state(document: Document) -> None:
    expected = {"program": "shipper", "version": "0.3.0", "name": "web-1", "host": "host-1", "started": WELL.time - 60}
    assert {name: document[name] for name in expected} == expected
    assert document["now"] == WELL.time + 2
    assert document["health"] == {
        "state": "ok",
        "text": "Kafka accepts records.",
        "warnings": 1,
        "since": 9.0,
    }
    assert document["configuration"] == "name: web-1\n"


def test_its_figures_have_a_unit_and_counters_a_rate(document: Document) -> None:
    figures = {figure["id"]: figure for figure in document["figures"]}
    assert figures["events_read"] == {
        "id": "events_read",
        "label": "Events read",
        "value": 3000,
        "unit": "events",
        "rate": 1000.0,
    }
    assert figures["lag_bytes"] == {"id": "lag_bytes", "label": "Bytes behind", "value": 5000, "unit": "bytes"}
    assert figures["oldest_unacknowledged_seconds"]["value"] == 1.5
    assert {figure["unit"] for figure in document["figures"]} <= UNITS


def test_its_charts_have_equally_many_points(document: Document) -> None:
    charts = {chart["id"]: chart for chart in document["charts"]}
    assert [line["values"] for line in charts["events"]["series"]] == [[1000.0], [0.0]]
    assert [line["id"] for line in charts["events"]["series"]] == ["read", "acked"]
    assert charts["lag"]["series"] == [{"id": "lag", "label": "behind", "values": [5000]}]
    assert {(chart["step_seconds"], chart["until"]) for chart in document["charts"]} == {(2.0, WELL.time + 2)}
    assert {chart["unit"] for chart in document["charts"]} <= UNITS


def test_its_tables_come_in_order_and_their_rows_have_all_columns(document: Document) -> None:
    tables = document["tables"]
    assert [entry["id"] for entry in tables] == ["files", "errors", "dead_letters", "inputs", "topics"]
    assert all(len(row) == len(entry["columns"]) for entry in tables for row in entry["rows"])
    assert {column["kind"] for entry in tables for column in entry["columns"]} <= KINDS
    assert all(entry["rows"] for entry in tables), "each has a row here"
    assert table(document, "files")["columns"][2] == {
        "id": "age",
        "label": "Oldest",
        "kind": "seconds",
    }


def test_its_rows_are_what_happened(document: Document) -> None:
    assert table(document, "files")["rows"] == [["/var/log/app.log", 5000, 1.5, "app"]]
    assert table(document, "errors")["rows"] == [[WELL.time, "warning", "careful", 2]]
    assert table(document, "dead_letters")["rows"] == [["too large", 3, WELL.time, "/var/log/app.log", 17]]
    assert table(document, "inputs")["rows"] == [["app", "filestream", 1000, 0.0, 5000, 3]]
    assert table(document, "topics")["rows"] == [["t", "it does not exist"]]


class Walked(tuple[InputFigures, ...]):
    """Inputs that count how often somebody walks through them."""

    walks = 0

    def __iter__(self) -> Iterator[InputFigures]:
        Walked.walks += 1
        return super().__iter__()


def test_each_input_has_its_rate_and_many_of_them_are_not_searched_for_each() -> None:
    def inputs(read: int) -> Walked:
        return Walked(InputFigures(f"i{number}", "filestream", read * number, 0, 0, 0, None) for number in range(20))

    sampler = sampled(replace(WELL, inputs=inputs(1)[:19]), later(WELL, 2.0, inputs=inputs(3)))
    Walked.walks = 0
    rows = table(status(IDENTITY, sampler, Health("ok", ""), [], ""), "inputs")["rows"]
    assert [row[3] for row in rows] == [*map(float, range(19)), 28.5], "the last one is new"
    assert Walked.walks < 5


def test_the_pods_are_a_figure_where_they_are_watched() -> None:
    def ids(snapshot: Snapshot) -> list[str]:
        return [figure["id"] for figure in status(IDENTITY, sampled(snapshot), Health("ok", ""), [], "")["figures"]]

    assert "kubernetes_pods" not in ids(WELL)
    assert "kubernetes_pods" in ids(replace(WELL, kubernetes=KubernetesFigures(30, 1, 2, {})))


def test_the_queue_on_disk_is_two_figures_where_there_is_one() -> None:
    def values(snapshot: Snapshot) -> list[int]:
        figures = status(IDENTITY, sampled(snapshot), Health("ok", ""), [], "")["figures"]
        return [figure["value"] for figure in figures if figure["id"].startswith("queue_disk")]

    assert values(WELL) == []
    assert values(replace(WELL, disk_queue=KEPT)) == [7 * 1024**2, 900]


def test_while_it_starts_there_are_no_figures_but_all_tables() -> None:
    document = status(IDENTITY, None, Health("starting", "It starts."), (), "")
    assert (document["figures"], document["now"]) == ([], IDENTITY.started)
    assert [entry["rows"] for entry in document["tables"]] == [[]] * 5
