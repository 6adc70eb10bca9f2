"""The commands of the registry beside the real daemon, whose output is a file: no broker is needed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.process import SHIPPER_PROGRAM
from tests.e2e.running import REPOSITORY, await_true

CONFIG = """\
filebeat.inputs: [{{type: filestream, id: app, paths: ["{root}/logs/*.log"]}}]
output.file: {{path: "{root}/out"}}
filebeat.registry.flush: 0.05s
"""


class Host:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.daemon: subprocess.Popen[bytes] | None = None
        (root / "logs").mkdir()
        (root / "shipper.yml").write_text(CONFIG.format(root=root))
        (root / "shipper.yml").chmod(0o600)

    def append(self, text: str) -> Path:
        path = self.root / "logs" / "app.log"
        with path.open("a") as file:
            file.write(text)
        return path

    def _arguments(self, *arguments: str) -> list[str]:
        options = ["-c", str(self.root / "shipper.yml"), "--path.data", str(self.root / "data")]
        return [*SHIPPER_PROGRAM, *arguments, *options]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._arguments(*arguments), cwd=REPOSITORY, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    def start(self) -> None:
        log = (self.root / "shipper.log").open("ab")
        self.daemon = subprocess.Popen(self._arguments("run"), cwd=REPOSITORY, stderr=log)
        log.close()
        await_true((self.root / "data" / "registry").exists, "it runs")  # before that `registry` refuses

    def stop(self) -> None:
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGTERM)
            assert self.daemon.wait(60) == 0
            self.daemon = None

    def records(self) -> list[dict[str, Any]]:
        out = self.root / "out" / "shipper"
        return [json.loads(line) for line in out.read_bytes().splitlines()] if out.exists() else []

    def entries(self) -> list[dict[str, Any]]:
        done = self.command("registry", "list", "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    if host.daemon is not None:
        host.daemon.kill()
        host.daemon.wait()


def test_the_registry_is_listed_and_shown_while_the_daemon_runs_and_forgotten_from_when_it_is_stopped(
    host: Host,
) -> None:
    path = host.append("one\ntwo\n")
    host.start()
    await_true(lambda: [entry["position"] for entry in host.entries()] == [8], "the position is saved")
    assert "position      8 of 8 bytes: all acknowledged" in host.command("registry", "show", str(path)).stdout

    assert host.daemon is not None
    refused = host.command("registry", "forget", str(path), "--yes")
    assert refused.returncode == 1
    assert f"in use by process {host.daemon.pid}" in refused.stderr
    host.append("three\n")
    await_true(lambda: len(host.records()) == 3, "the agent continues")

    host.stop()
    assert host.command("registry", "forget", str(path), "--yes").returncode == 0
    assert host.entries() == []
    assert host.command("run", "--once").returncode == 0
    again = host.records()[3:]
    assert [record["message"] for record in again] == ["one", "two", "three"]
    assert again[0]["log"]["file"]["id"] != host.records()[0]["log"]["file"]["id"]


def test_after_an_import_the_agent_resumes_where_filebeat_was(host: Host, tmp_path: Path) -> None:
    path = host.append("sent by filebeat\nnot yet\n")
    status = path.stat()
    store = tmp_path / "filebeat" / "registry" / "filebeat"
    store.mkdir(parents=True)
    (store / "meta.json").write_text('{"version":"1"}')
    value = {"ttl": -1, "cursor": {"offset": 17}, "meta": {"source": str(path), "identifier_name": "native"}}
    change = {"k": f"filestream::app::native::{status.st_ino}-{status.st_dev}", "v": value}
    (store / "log.json").write_text(f'{{"op":"set","id":1}}\n{json.dumps(change)}\n')

    assert host.command("registry", "import", "filebeat", str(tmp_path / "filebeat")).returncode == 0
    host.start()
    host.append("new\n")
    await_true(lambda: len(host.records()) == 2, "both lines")
    host.stop()

    assert [record["message"] for record in host.records()] == ["not yet", "new"]
    assert os.path.getsize(path) == host.entries()[0]["position"]
