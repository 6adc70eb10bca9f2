"""The metrics' door: what Prometheus and a supervisor get, over a real socket."""

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from config.sink.model import SinkConfig
from config.sink.parts import HttpConfig
from config.yaml.load import load
from spark_sink.errors import SinkError
from spark_sink.monitor.http import MonitorServer, silence_limit
from spark_sink.monitor.metrics import SinkMetrics


@dataclass
class Clock:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Door:
    clock: Clock
    metrics: SinkMetrics
    server: MonitorServer

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urlopen(f"http://127.0.0.1:{self.server.port}{path}", timeout=10) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()


@pytest.fixture
def door() -> Iterator[Door]:
    clock = Clock()
    metrics = SinkMetrics(clock)
    with MonitorServer(metrics, "127.0.0.1", 0, trigger_interval=1.0) as server:
        yield Door(clock, metrics, server)


def test_metrics_are_what_prometheus_reads(door: Door) -> None:
    door.metrics.rows_landed.inc(7)
    status, body = door.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert status == 200
    assert [(sample.name, sample.value) for sample in families["spark_sink_rows_landed"].samples] == [
        ("spark_sink_rows_landed_total", 7.0)
    ]


def test_a_query_is_healthy_until_it_was_silent_for_longer_than_the_limit(door: Door) -> None:
    door.clock.seconds = 300.0
    assert door.get("/health") == (200, b'{"status": "ok", "silent_seconds": 300.0, "limit_seconds": 300.0}\n')
    door.clock.seconds = 301.0
    status, body = door.get("/health")
    assert (status, json.loads(body)["status"]) == (503, "stalled")
    door.metrics.alive()
    assert door.get("/health")[0] == 200


def test_a_slow_trigger_may_be_silent_for_ten_intervals() -> None:
    assert [silence_limit(interval) for interval in (0.0, 30.0, 60.0)] == [300.0, 300.0, 600.0]


def test_another_path_lists_the_existing_ones(door: Door) -> None:
    assert door.get("/") == (404, b"/metrics and /health are here\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_is_taken_is_reported_with_the_way_out(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SinkError, match=f"cannot serve metrics on {host}:{port}: Address already in use; set http"):
            MonitorServer(SinkMetrics(), host, port, trigger_interval=1.0)


def test_a_host_that_is_not_this_machine_is_reported() -> None:
    with pytest.raises(SinkError, match=r"192\.0\.2\.1:0: Cannot assign requested address"):
        MonitorServer(SinkMetrics(), "192.0.2.1", 0, trigger_interval=1.0)


def test_the_port_is_free_again_afterwards() -> None:
    with MonitorServer(SinkMetrics(), "127.0.0.1", 0, trigger_interval=1.0) as server:
        port = server.port
    with MonitorServer(SinkMetrics(), "127.0.0.1", port, trigger_interval=1.0) as again:
        assert again.port == port


def test_the_configuration_on_the_page_of_metrics_is_the_default_switched_on(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "metrics.md").read_text()
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    required = "kafka: {hosts: ['b:1'], topics: [t]}\ntable.path: /t\ncheckpoint.path: /c\n"
    (tmp_path / "sink.yml").write_text(required + block)
    assert load([tmp_path / "sink.yml"], SinkConfig, []).http == HttpConfig(enabled=True)
