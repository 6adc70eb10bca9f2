"""The metrics' door: what Prometheus and a supervisor get, over a real socket."""

import json
import logging
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from demo.ports import free_ports
from log_shipper.config.yaml.load import load
from log_shipper.runtime.monitor.server import Request as AskedFor
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.landing.bad_records import BadRecords
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.monitor.document import Program
from log_shipper.spark_sink.monitor.http import Monitored, MonitorServer, silence_limit
from log_shipper.spark_sink.monitor.metrics import SinkMetrics
from log_shipper.spark_sink.monitor.observations import Observations
from log_shipper.spark_sink.monitor.processes import Usage
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import HttpConfig
from log_shipper.spark_sink.rows.batches import PartitionRecords
from log_shipper.spark_sink.storage.table_size import TableSize
from log_shipper.spark_sink.views.progress import Figures

PROGRAM = Program("0.3.0", "sink-1", "kafka:\n  password: xxxxx\n")


@dataclass
class Clock:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Door:
    clock: Clock
    metrics: SinkMetrics
    observations: Observations
    server: MonitorServer

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        request = Request(f"http://127.0.0.1:{self.server.port}{path}", headers=headers)
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()


@pytest.fixture
def door() -> Iterator[Door]:
    clock = Clock()
    monitored = Monitored(SinkMetrics(clock), Observations(clock), silence_limit(1.0), PROGRAM, clock)
    with MonitorServer(monitored, "127.0.0.1", 0) as server:
        yield Door(clock, monitored.metrics, monitored.observations, server)


def new_server(host: str, port: int) -> MonitorServer:
    return MonitorServer(Monitored(SinkMetrics(), Observations(), 300.0, PROGRAM), host, port)


def test_metrics_are_what_prometheus_reads(door: Door) -> None:
    door.metrics.rows_landed.inc(7)
    status, body = door.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert status == 200
    assert [(sample.name, sample.value) for sample in families["spark_sink_rows_landed"].samples] == [
        ("spark_sink_rows_landed_total", 7.0)
    ]


def test_a_sink_is_healthy_until_it_made_no_progress_for_longer_than_the_limit(door: Door) -> None:
    door.clock.seconds = 300.0
    health = b'{"status": "ok", "silent_seconds": 300.0, "stalled_seconds": 300.0, "limit_seconds": 300.0}\n'
    assert door.get("/health") == (200, health)
    door.clock.seconds = 301.0
    status, body = door.get("/health")
    assert (status, json.loads(body)["status"]) == (503, "stalled")
    door.metrics.alive()
    assert door.get("/health")[0] == 200


def test_a_batch_may_take_longer_than_the_limit_while_parts_of_it_end(door: Door) -> None:
    door.clock.seconds = 301.0
    door.metrics.progressed()
    status, body = door.get("/health")
    assert (status, json.loads(body)["silent_seconds"], json.loads(body)["stalled_seconds"]) == (200, 301.0, 0.0)


def test_a_slow_trigger_may_be_silent_for_ten_intervals() -> None:
    assert [silence_limit(interval) for interval in (0.0, 30.0, 60.0)] == [300.0, 300.0, 600.0]


def test_another_path_lists_the_existing_ones(door: Door) -> None:
    status, body = door.get("/none")
    assert status == 404
    assert b"/, /chart.js, /elements.js, /health, /metrics, /page.css" in body


def test_a_browser_gets_the_page_and_a_program_the_release(door: Door) -> None:
    assert door.get("/", Accept="text/html,*/*;q=0.8")[1].startswith(b"<!doctype html>")
    assert json.loads(door.get("/")[1]) == {
        "program": "spark-sink",
        "version": "0.3.0",
        "name": "sink-1",
        "host": "sink-1",
    }


def test_pages_of_other_sites_get_nothing(door: Door) -> None:
    assert [door.get(path, Host="attacker.example")[0] for path in ("/", "/status", "/metrics")] == [403] * 3
    assert door.get("/status", Host=socket.gethostname())[0] == 200


def test_what_the_page_loads_is_served(door: Door) -> None:
    assert [door.get(path)[0] for path in ("/page.css", "/page.js", "/chart.js", "/page.svg")] == [200] * 4


BATCH = BatchResult(
    7,
    rows=100,
    bad=2,
    repeats=3,
    files=9,
    ends={("logs", 0): 10, ("logs", 1): 5},
    causes={"not JSON": BadRecords(2, "logs", 1, 4)},
    stages={"tasks": 1.5, "commit": 0.25},
    records={("logs", 0): PartitionRecords(70, 44.0, 45.5), ("logs", 1): PartitionRecords(35, 40.0, 49.0)},
)


def test_the_status_has_what_was_seen(door: Door) -> None:
    door.clock.seconds = 50.0
    door.observations.landed(BATCH, {("logs", 0): 30, ("logs", 1): 5})
    door.observations.reported(2.0, {"planning": 0.25})
    door.observations.tables({"/lines": TableSize(1000, 4, 4096)})
    door.observations.views({"errors": Figures(batches=3, rows_in=40, failed=True, failures=1)})
    document = json.loads(door.get("/status")[1])
    assert {figure["id"]: figure["value"] for figure in document["figures"]} == {
        "rows_landed": 100,
        "lag_offsets": 20,
        "rows_bad": 2,
        "rows_repeated": 3,
        "offsets_lost": 0,
        "batch_seconds": 2.0,
        "batches": 1,
        "files_remembered": 9,
    }
    assert {table["id"]: table["rows"] for table in document["tables"]} == {
        "partitions": [["logs", 0, 10, 30, 20, 4.5], ["logs", 1, 5, 5, 0, 0.0]],
        "tables": [["/lines", 1000, 4, 4096]],
        "dead_letters": [["not JSON", 2, 50.0, "logs", 1, 4]],
        "stages": [
            ["planning", "Spark asks where the batch ends, plans it and writes its checkpoint", 0.25, 0.25],
            ["tasks", "Tasks read Kafka, convert records and write files", 1.5, 1.5],
            ["commit", "Files are committed to their tables", 0.25, 0.25],
        ],
        "views": [["errors", "failed", 40, 0, 0, 0.0, 1]],
        "errors": [],
    }
    assert document["figures"][1]["seconds"] == 4.5
    assert document["configuration"] == "kafka:\n  password: xxxxx\n"
    assert document["health"]["state"] == "degraded"


def test_a_state_begins_when_it_was_sampled_not_at_a_request() -> None:
    clock = Clock()
    monitored = Monitored(SinkMetrics(clock), Observations(clock), 300.0, PROGRAM, clock)
    monitored.sample()
    clock.seconds = 9.0
    body = monitored.status(AskedFor("/status", {}, "")).body
    assert isinstance(body, bytes)
    assert json.loads(body)["health"]["since"] == 0.0


def test_the_charts_show_what_was_sampled() -> None:
    clock = Clock(50.0)
    used = iter((Usage(1.0, 1000), Usage(4.0, 2000)))
    observations = Observations(clock)
    monitored = Monitored(SinkMetrics(clock), observations, 300.0, PROGRAM, clock, usage=lambda: next(used))
    monitored.observations.landed(BATCH, {("logs", 0): 30, ("logs", 1): 5})
    monitored.observations.reported(2.0, {})
    monitored.sample()
    clock.seconds = 52.0
    many = {(topic, 0): PartitionRecords(rows) for topic, rows in (("a", 9), ("title", 8), ("c", 7), ("d", 6))}
    monitored.observations.landed(replace(BATCH, records=many), {("logs", 0): 30, ("logs", 1): 5})
    monitored.sample()
    body = monitored.status(AskedFor("/status", {}, "")).body
    assert isinstance(body, bytes)
    drawn = {
        chart["id"]: {series["label"]: series["values"] for series in chart["series"]}
        for chart in json.loads(body)["charts"]
    }
    assert drawn == {
        "rows": {"landed": [None, 50.0]},
        "lag": {"behind": [20, 20]},
        "topics": {"logs": [None, 0.0], "a": [None, 4.5], "title": [None, 4.0], "2 others": [None, 6.5]},
        "lag_seconds": {"behind": [4.5, 6.5]},
        "batch": {"last": [2.0, 2.0]},
        "delay": {"longest": [10.0, 10.0], "shortest": [1.0, 1.0]},
        "cpu": {"used": [None, 150.0]},
        "memory": {"resident": [1000, 2000]},
    }


def test_the_status_has_the_shape_that_the_page_draws(door: Door) -> None:
    document = json.loads(door.get("/status")[1])
    assert (document["program"], document["started"], document["now"]) == ("spark-sink", 0.0, 0.0)
    for table in document["tables"]:
        assert {column["kind"] for column in table["columns"]} <= {"text", "number", "bytes", "seconds", "time"}
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
        assert table["empty"].endswith(".")
    for chart in document["charts"]:
        assert len({len(series["values"]) for series in chart["series"]}) == (1 if chart["id"] != "topics" else 0)
        assert (chart["step_seconds"], chart["until"]) == (2.0, 0.0)


def test_warnings_of_the_log_are_in_the_status_while_it_is_served(door: Door) -> None:
    logger = logging.getLogger("log_shipper.spark_sink.test")
    logger.warning("the group")
    errors = json.loads(door.get("/status")[1])["tables"][-1]
    assert [row[1:] for row in errors["rows"]] == [["warning", "the group", 1]]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_is_taken_is_reported_with_the_way_out(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SinkError, match=f"cannot serve metrics on {host}:{port}: Address already in use; set http"):
            new_server(host, port)


def test_a_host_that_is_not_this_machine_is_reported() -> None:
    with pytest.raises(SinkError, match=r"192\.0\.2\.1:0: Cannot assign requested address"):
        new_server("192.0.2.1", 0)


def test_the_port_is_free_again_afterwards() -> None:
    (port,) = free_ports(1)  # one that the kernel gives to no connection meanwhile
    for _ in range(2):
        with new_server("127.0.0.1", port) as server:
            assert server.port == port


def test_the_configuration_on_the_page_of_metrics_is_the_default_switched_on(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "sink-metrics.md").read_text()
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    required = "kafka: {hosts: ['b:1'], topics: [t]}\ntable.path: /t\ncheckpoint.path: /c\n"
    (tmp_path / "sink.yml").write_text(required + block)
    assert load([tmp_path / "sink.yml"], SinkConfig, []).http == HttpConfig(enabled=True)
