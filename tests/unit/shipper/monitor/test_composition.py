"""What is served, by real sockets: the monitor around a real agent that a test drives step by step."""

import json
import logging
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.monitor.composition import Monitor, MonitorSettings
from log_shipper.shipper.options.http import SOCKET_FILE, HttpConfig
from log_shipper.shipper.output.base import Records
from tests.lab import Lab

SECONDS = 30.0  # for what takes milliseconds
MakeMonitor = Callable[..., Monitor]


@pytest.fixture
def monitor_of(lab: Lab, tmp_path: Path) -> Iterator[MakeMonitor]:
    with ExitStack() as stack:

        def make(*, once: bool = False, **options: Any) -> Monitor:
            http = HttpConfig(**options)
            settings = MonitorSettings(
                http, "web-1", tmp_path, lab.clock, no_records, lambda: "name: web-1\n", once=once
            )
            return Monitor(settings, stack)

        yield make


@pytest.fixture
def monitor(monitor_of: MakeMonitor) -> Monitor:
    monitor = monitor_of()
    monitor.opened()
    return monitor


def no_records() -> Records:
    return lambda batch: ()


@contextmanager
def asked(address: Path | int, path: str, accept: str = "*/*") -> Iterator[socket.socket]:
    """Give the connection to a socket's path or a local port, which was asked."""
    with socket.socket(socket.AF_INET if isinstance(address, int) else socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(("127.0.0.1", address) if isinstance(address, int) else str(address))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n".encode())
        yield client


def ask(data: Path, path: str, accept: str = "*/*") -> tuple[int, bytes]:
    with asked(data / SOCKET_FILE, path, accept) as client:
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


def document(data: Path, path: str) -> Any:
    return json.loads(ask(data, path)[1])


def observed(monitor: Monitor, lab: Lab) -> None:
    """Let it observe the agent, and take a snapshot now."""
    monitor.observe(lab.running)
    assert monitor._sources.sampler is not None
    monitor._sources.sampler.step()


def test_while_the_agent_starts_it_is_alive_and_not_ready(monitor: Monitor, tmp_path: Path) -> None:
    assert ask(tmp_path, "/healthz")[0] == 200
    assert ask(tmp_path, "/readyz")[0] == 503
    assert document(tmp_path, "/readyz")["missing"] == ["output"]
    assert document(tmp_path, "/status")["health"]["state"] == "starting"
    assert ask(tmp_path, "/stats")[0] == ask(tmp_path, "/inputs")[0] == 503
    assert document(tmp_path, "/")["name"] == "web-1"
    assert b"shipper_info" in ask(tmp_path, "/metrics")[1]


def test_a_state_begins_with_its_snapshot_not_at_a_request(monitor: Monitor, lab: Lab, tmp_path: Path) -> None:
    lab.ship("a.log", "one")
    observed(monitor, lab)
    sampler = monitor._sources.sampler
    assert sampler is not None
    began = sampler.latest
    lab.clock.advance(10.0)
    sampler.step()
    health = document(tmp_path, "/status")["health"]
    assert began is not None
    assert (health["state"], health["since"]) == ("ok", began.time)


def test_all_paths_answer_of_one_snapshot(monitor: Monitor, lab: Lab, tmp_path: Path) -> None:
    lab.ship("a.log", "one", "two")
    observed(monitor, lab)
    assert ask(tmp_path, "/readyz")[0] == 200
    assert document(tmp_path, "/stats")["filebeat"]["events"]["added"] == 2
    assert document(tmp_path, "/inputs")[0]["events_processed_total"] == 2
    figures = {figure["id"]: figure["value"] for figure in document(tmp_path, "/status")["figures"]}
    assert figures["events_read"] == 2
    assert b"shipper_events_read_total 2.0\n" in ask(tmp_path, "/metrics")[1]
    assert document(tmp_path, "/")["name"] == "lab"
    assert document(tmp_path, "/status")["configuration"] == "name: web-1\n"


def test_a_browser_gets_words_and_a_probe_json(monitor: Monitor, tmp_path: Path) -> None:
    assert ask(tmp_path, "/", accept="text/html,*/*;q=0.8")[1].startswith(b"<!doctype html>")
    assert document(tmp_path, "/")["beat"] == "filebeat"
    assert b'\n  "beat"' in ask(tmp_path, "/?pretty")[1]


def test_a_loop_that_hangs_is_not_alive(monitor: Monitor, lab: Lab, tmp_path: Path) -> None:
    lab.ship("a.log", "one")
    observed(monitor, lab)
    assert ask(tmp_path, "/healthz")[0] == 200
    lab.clock.advance(31)
    status, body = ask(tmp_path, "/healthz")
    assert (status, json.loads(body)["alive"]) == (503, False)
    lab.step()
    assert ask(tmp_path, "/healthz")[0] == 200


def test_an_agent_that_stops_is_not_ready(monitor: Monitor, lab: Lab, tmp_path: Path) -> None:
    lab.ship("a.log", "one")
    observed(monitor, lab)
    monitor.stopping()
    assert document(tmp_path, "/readyz")["missing"] == ["running"]


def test_warnings_of_the_log_are_in_the_status(monitor: Monitor, tmp_path: Path) -> None:
    logging.getLogger("log_shipper.shipper.any").warning("careful")
    tables = {table["id"]: table["rows"] for table in document(tmp_path, "/status")["tables"]}
    assert [row[1:] for row in tables["errors"]] == [["warning", "careful", 1]]


def test_the_socket_is_left_out_if_it_is_not_wanted(monitor_of: MakeMonitor, tmp_path: Path) -> None:
    monitor_of(socket=False).opened()
    assert not (tmp_path / SOCKET_FILE).exists()


def test_without_the_socket_the_agent_runs_all_the_same(
    monitor_of: MakeMonitor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / SOCKET_FILE).write_text("a file")
    monitor_of().opened()
    assert "'shipper top' and 'shipper tap' cannot connect" in caplog.text


def test_a_path_data_that_is_too_long_for_a_socket_is_reported_with_the_ways_out(
    lab: Lab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = tmp_path / ("d" * 90)
    long.mkdir()
    (tmp_path / "d").symlink_to(long)
    with ExitStack() as stack:
        for data in (tmp_path / "d", long):
            Monitor(MonitorSettings(HttpConfig(), "web-1", data, lab.clock, no_records), stack).opened()
        assert (long / SOCKET_FILE).is_socket()  # by the symlink
    (warning,) = caplog.messages
    assert "bytes, maximum 107" in warning
    assert "; set a path.data of at most 94 bytes (such as a symlink to this one), or http.enabled: true" in warning


def test_a_host_may_be_a_socket(monitor_of: MakeMonitor, tmp_path: Path) -> None:
    monitor_of(enabled=True, host=f"unix://{tmp_path / 'h.sock'}")
    assert stat.S_ISSOCK((tmp_path / "h.sock").stat().st_mode)


def test_events_are_shown_at_the_socket_in_path_data_only(monitor_of: MakeMonitor, lab: Lab, tmp_path: Path) -> None:
    lab.ship("a.log", "one")
    monitors = [monitor_of(enabled=True, host=f"unix://{tmp_path / 'h.sock'}"), monitor_of(enabled=True, port=0)]
    monitors[0].opened()
    for monitor in monitors:
        observed(monitor, lab)
    port = monitors[1]._server._servers[0].ports[0]
    for address, status in ((tmp_path / "h.sock", 403), (port, 403), (tmp_path / SOCKET_FILE, 200)):
        with asked(address, "/tap") as client:
            assert client.recv(12) == b"HTTP/1.1 %d" % status
    assert document(tmp_path, "/tap/sources")["files"] == {"count": 1, "some": [f"{lab.logs}/a.log"]}


def test_a_port_that_is_taken_keeps_the_agent_from_starting_and_not_a_run_with_once(
    monitor_of: MakeMonitor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartError) as raised:
            monitor_of(enabled=True, port=port)
        monitor_of(enabled=True, port=port, once=True).opened()
    assert str(raised.value) == (
        f"http.port: localhost:{port} is in use by another process, perhaps another shipper: "
        "stop it, or set another http.port"
    )
    assert caplog.messages == [f"{raised.value}; this --once run continues without it"]
    assert ask(tmp_path, "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("192.0.2.1", "http.host: cannot listen on 192.0.2.1:0: Cannot assign requested address; set http.host"),
        ("unix:///no/such/directory/s", "http.host: cannot serve at unix:///no/such/directory/s: No such file"),
    ],
)
def test_a_host_that_is_not_this_one_is_named(monitor_of: MakeMonitor, host: str, words: str) -> None:
    with pytest.raises(StartError, match=words):
        monitor_of(enabled=True, host=host, port=0)
