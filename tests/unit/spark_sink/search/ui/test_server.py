"""Who gets what the page asks for, and where it is served."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from log_shipper.config.yaml.load import load
from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.records.schema import BAD_RECORDS
from log_shipper.spark_sink.search.ui.server import FOLDER, SearchPage, serve
from log_shipper.spark_sink.search.ui.sources import Source, source_of, sources
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.search.search_lab import NOON, Table, lines
from tests.unit.spark_sink.search.ui.conftest import Reader

TOKEN = "0123456789abcdef"
DATA = ("/tables", "/rows", "/counts", "/follow", "/context", "/download")
CONFIG = "kafka: {{hosts: [a:1], topics: [logs]}}\ncheckpoint.path: {root}/c\ntable.path: {root}/logs\n"


def config(root: Path, text: str = "") -> SinkConfig:
    (root / "sink.yml").write_text(CONFIG.format(root=root) + text)
    return load([root / "sink.yml"], SinkConfig)


@pytest.mark.parametrize("path", DATA)
def test_data_needs_the_token_and_the_page_itself_does_not(path: str, table: Table) -> None:
    table.land(lines(1))
    page = SearchPage([source_of([str(table.path)])], TOKEN)
    assert Reader(page).ask("/").status == 200
    for given in ("", f"Bearer {TOKEN}x", TOKEN[:-1], "Bearer é"):
        with pytest.raises(RefusedRequest, match=r"the token is missing or wrong: use ui\.token") as refused:
            Reader(page, {"authorization": given}).ask(path)
        assert (refused.value.response.status, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert Reader(page, {"authorization": f"Bearer {TOKEN}"}).ask(path).status == 200


@pytest.mark.parametrize("path", DATA)
def test_a_page_of_another_site_cannot_have_it_work(path: str, table: Table) -> None:
    page = SearchPage([source_of([str(table.path)])])
    for site in ("cross-site", "same-site"):
        with pytest.raises(RefusedRequest, match="the request comes from a page of another site"):
            Reader(page, {"sec-fetch-site": site}).ask(path)


def tables(reader: Reader) -> list[dict[str, Any]]:
    body = reader.ask("/tables").body
    assert isinstance(body, bytes)
    described: list[dict[str, Any]] = json.loads(body)["tables"]
    return described


def test_a_table_is_described(table: Table, reader: Reader) -> None:
    table.land(lines(1, 2), lines(3))
    (described,) = tables(reader)
    assert (described["id"], described["kind"], described["rows"]) == ("lines", "lines", 3)
    assert described["oldest"] == NOON.timestamp() + 1
    assert described["newest"] == pytest.approx(NOON.timestamp() + 3, abs=0.01)
    assert described["fields"] == ["host", "path", "topic", "log.level", "stream"]
    table.land(lines(4))
    assert tables(reader)[0]["rows"] == 4


def test_a_table_that_does_not_exist_yet_is_an_error(tmp_path: Path) -> None:
    reader = Reader(SearchPage(sources(config(tmp_path))))
    (described,) = tables(reader)
    assert described["error"] == f"there is no table at {tmp_path}/logs"
    assert reader.answer("/rows") == {"error": described["error"]}
    Table(tmp_path / "logs").land(lines(1))
    assert tables(reader)[0]["rows"] == 1


def test_a_table_that_is_made_again_is_opened_again(table: Table, reader: Reader) -> None:
    table.land(lines(1))
    assert reader.messages() == ["line 1"]
    os.rename(table.path, table.path.parent / "away")
    Table(table.path).land(lines(5))
    assert "is missing" in reader.answer("/rows")["error"]  # as after vacuum: its files were known
    assert reader.messages() == ["line 5"]


def test_dead_letters_and_views_are_tables_too(tmp_path: Path) -> None:
    Table(tmp_path / "logs").land(lines(1))
    bad = {"reason": "not JSON", "topic": "logs", "partition": 0, "kafka_offset": 7, "value": b"\xff{", "at": NOON}
    kinds = {"reason": pa.string(), "topic": pa.string(), "partition": pa.int32(), "kafka_offset": pa.int64()}
    schema = pa.schema({**kinds, "value": pa.binary(), "at": pa.timestamp("us", "UTC")})
    assert set(schema.names) <= {column.name for column in BAD_RECORDS}
    write_deltalake(str(tmp_path / "logs_dead_letter"), pa.Table.from_pylist([bad], schema=schema))
    counts = pa.table({"host": ["a", "b"], "n": [3, 5]})
    write_deltalake(str(tmp_path / "logs_by_host"), counts)
    views = "views: [{name: by_host, sql: 'SELECT host, count(*) n FROM lines GROUP BY host'}]\n"
    reader = Reader(SearchPage(sources(config(tmp_path, views))))
    assert [(table["id"], table["kind"], table["rows"]) for table in tables(reader)] == [
        ("lines", "lines", 1),
        ("dead_letters", "dead_letters", 1),
        ("view by_host", "view", None),
    ]
    (row,) = [
        line["row"] for line in reader.stream("/rows", table="dead_letters", since=NOON.isoformat()) if "row" in line
    ]
    assert (row["ts"], row["message"], row["reason"]) == ("2026-11-21T12:00:00Z", "\\xff{", "not JSON")
    assert reader.messages(table="dead_letters", q='reason:"not JSON" kafka_offset:7') == ["\\xff{"]
    assert reader.messages(table="dead_letters", until="2026-11-21T11:00") == []
    drawn = reader.answer("/counts", table="dead_letters", by="reason", bars=10)["counts"]
    assert [(part["value"], part["rows"]) for part in drawn["series"]] == [("not JSON", 1)]
    rows = [line["row"] for line in reader.stream("/rows", table="view by_host", q="n:>4") if "row" in line]
    assert rows == [{"ts": None, "message": None, "host": "b", "n": 5}]


def test_the_page_loads_nothing_that_is_not_served(reader: Reader) -> None:
    html = (FOLDER / "index.html").read_text()
    loaded = {f"/{name}" for name in re.findall(r'(?:src|href)="(?:\./)?([^"#]+)"', html)}
    for script in FOLDER.glob("*.js"):
        loaded |= {f"/{name}" for name in re.findall(r'from "\./([^"]+)"', script.read_text())}
    assert loaded <= reader.routes.keys()
    words = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
    assert [script.name for script in FOLDER.glob("*.js") if words.search(script.read_text())] == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", html) == []


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_taken_is_an_error(tmp_path: Path, taken: int) -> None:
    with pytest.raises(SinkError, match=f"cannot listen on localhost:{taken}: .*; set ui.host and ui.port"):
        serve(config(tmp_path), None, taken)


def test_other_machines_are_not_served_without_a_token(tmp_path: Path) -> None:
    open_to_all = config(tmp_path)
    open_to_all = replace(open_to_all, ui=replace(open_to_all.ui, host="0.0.0.0"))
    with pytest.raises(SinkError, match=r"ui.host: 0.0.0.0 is reachable from other machines: set ui.token"):
        serve(open_to_all, None, 0)


def test_a_signal_ends_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert serve(config(tmp_path), None, 0) == 0
    assert re.search(
        r"serving the search page of \S+/logs at http://localhost:\d+/; Ctrl\+C stops only this page", caplog.text
    )


@pytest.mark.parametrize("by_path", [True, False])
def test_the_command_serves_a_configuration_or_a_path(by_path: bool, tmp_path: Path) -> None:
    config(tmp_path, "ui.port: 0\n")
    given = ["--table", f"{tmp_path}/logs", "--port", "0"] if by_path else ["-c", f"{tmp_path}/sink.yml"]
    command = [sys.executable, "-m", "log_shipper.spark_sink", "ui", *given]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        announced = process.stderr.readline()
        process.terminate()
        assert (process.wait(10), process.stderr.read()) == (0, "")
    assert re.search(rf"serving the search page of {tmp_path}/logs at http://localhost:\d+/", announced)


def test_a_signal_ends_it_while_clients_are_served(tmp_path: Path) -> None:
    Table(tmp_path / "logs").land(lines(*range(2000)))
    command = [sys.executable, "-m", "log_shipper.spark_sink", "ui", "--table", f"{tmp_path}/logs", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.search(r"http://localhost:\d+/", process.stderr.readline())
        assert address is not None
        with urlopen(f"{address[0]}follow") as answer, urlopen(f"{address[0]}rows?limit=2000") as rows:
            assert answer.readline() == b'{"start":{"sql":""}}\n'
            assert rows.readline().startswith(b'{"start":')
            process.terminate()
            assert (process.wait(10), process.stderr.read()) == (0, "")


def test_a_table_that_can_no_longer_be_read_is_an_error(table: Table, reader: Reader) -> None:
    """As one with deletion vectors: its deleted rows would be shown."""
    table.land(lines(1))
    assert reader.messages() == ["line 1"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}
    log = table.path / "_delta_log"
    text = json.dumps({"protocol": {**protocol, "writerFeatures": ["deletionVectors"]}})
    (log / f"{len(list(log.glob('*.json'))):020}.json").write_text(text + "\n")
    assert "has deletionVectors, which search does not support" in reader.answer("/rows")["error"]


def test_a_view_with_a_time_of_another_name_and_one_without_a_zone_are_read(tmp_path: Path) -> None:
    naive = pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))
    rows = pa.table({"ts": ["text"], "hour": pa.array([NOON], pa.timestamp("us", "UTC")), "n": [1]})
    write_deltalake(str(tmp_path / "hours"), rows)
    source = Source("hours", "hours", "view", lambda: [Location(str(tmp_path / "hours"))])
    assert Reader(SearchPage([source])).answer("/rows", since=NOON.isoformat())["end"]["rows"] == 1
    assert tables(Reader(SearchPage([source])))[0]["oldest"] == NOON.timestamp()
    write_deltalake(str(tmp_path / "naive"), pa.table({"ts": naive, "message": ["x"]}))
    reader = Reader(SearchPage([source_of([str(tmp_path / "naive")])]))
    assert reader.answer("/rows")["row"]["ts"] == "2026-11-21T12:00:00Z"
    assert reader.answer("/counts", bars=3)["counts"]["total"] == 1
