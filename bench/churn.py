"""The churn of many pods on a node, with an input for each: cost of the agent, `script/bench --churn`.

Compared with the same pods without an end, so that the difference is the cost of the churn.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.data import line
from bench.measure import Child
from bench.pods import NODE, NodeProgress
from bench.runs import report
from bench.table import Sheet
from demo.process import SHIPPER_PROGRAM
from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import get

SETTLE = 10.0  # seconds until the first files are read to their end
TIMEOUT = 120.0  # seconds until all lines have arrived
POLL_INTERVAL = 0.5

AIMS = {"lines missing": "0", "lines repeated": "0"}

SHIPPER = """\
filebeat.autodiscover.providers:
  - type: kubernetes
    node: {node}
    kube_config: {directory}/kubeconfig
    hints.enabled: true
    hints.default_config:
      type: filestream
      id: container-logs-${{data.container.id}}
      paths: ["{directory}/containers/*-${{data.container.id}}.log"]
      prospector.scanner.symlinks: true
      parsers: [{{container: {{}}}}]
output.file: {{path: {directory}/out, filename: events}}
path.data: {directory}/data
logging.format: text
"""


@dataclass(frozen=True, slots=True)
class Churn:
    """Work and cost of an agent during the churn."""

    core: float  # share of one
    memory_mb: float
    peak_mb: float
    events: float  # of pods, per minute
    inputs: int  # running at the end
    descriptors: int  # open at the end
    lines: int
    missing: int
    repeated: int


def table(directory: Path, rounds: int, pods: int, ended_a_minute: float, seconds: float) -> str:
    """Return the table. Raises RuntimeError if the agent or the pods fail."""
    sheet = Sheet(AIMS)
    for number in range(rounds):
        report(f"round {number + 1}")
        for name, ended in (("no pod ends", 0.0), (f"{ended_a_minute:.0f} end per minute", ended_a_minute)):
            churn = measure(directory / f"{number}-{ended:.0f}", pods, ended, seconds)
            report(f"{name}: {churn}")
            _add(sheet, name, churn)
    return sheet.show(f"{pods} pods, {seconds:.0f} s")


def _add(sheet: Sheet, name: str, churn: Churn) -> None:
    sheet.add("% of a core", name, churn.core * 100, ".1f")
    sheet.add("memory MB, at the end", name, churn.memory_mb, ".0f")
    sheet.add("memory MB, maximum", name, churn.peak_mb, ".0f")
    sheet.add("watch events per minute", name, churn.events, ".0f")
    sheet.add("inputs at the end", name, churn.inputs, ".0f")
    sheet.add("descriptors at the end", name, churn.descriptors, ".0f")
    sheet.add("lines", name, churn.lines, ".0f")
    sheet.add("lines missing", name, churn.missing, ".0f")
    sheet.add("lines repeated", name, churn.repeated, ".0f")


def measure(directory: Path, pods: int, ended_a_minute: float, seconds: float) -> Churn:
    """Start pods and an agent, and measure while `ended_a_minute` pods end per minute."""
    directory.mkdir()
    with closing(NodeProcess(directory, pods)) as node:
        child = Child(_command(directory), directory / "output.log")
        try:
            _await_lines(directory / "out" / "events", node.written.lines, child)
            time.sleep(SETTLE)
            before, cpu, began = node.written, child.cpu_seconds(), time.monotonic()
            after = node.run(seconds, ended_a_minute)
            core = (child.cpu_seconds() - cpu) / (time.monotonic() - began)
            inputs = _metric(directory, "shipper_autodiscover_inputs_running")
            memory, descriptors = child.memory_mb(), child.open_files()
            _await_lines(directory / "out" / "events", after.lines, child)
        finally:
            cost = child.end()
    with (directory / "out" / "events").open("rb") as file:
        missing, repeated = differences((orjson.loads(event)["message"] for event in file), after.lines)
    events = (after.events - before.events) * 60 / seconds
    return Churn(core, memory, cost.memory_mb, events, inputs, descriptors, after.lines, missing, repeated)


def differences(messages: Iterable[str], count: int) -> tuple[int, int]:
    """Return the numbers of missing and of repeated lines among the first `count` lines of `bench.data`."""
    arrived = Counter(messages)
    missing = sum(line(number) not in arrived for number in range(count))
    return missing, arrived.total() - len(arrived)


class NodeProcess:
    """The process `bench.pods`."""

    def __init__(self, directory: Path, pods: int) -> None:
        command = [sys.executable, "-m", "bench.pods", str(directory), str(pods)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.written = self._answer()

    def run(self, seconds: float, ended_a_minute: float) -> NodeProgress:
        assert self._process.stdin is not None
        self._process.stdin.write(f"run {seconds} {ended_a_minute}\n")
        self._process.stdin.flush()
        self.written = self._answer()
        return self.written

    def _answer(self) -> NodeProgress:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("bench.pods failed, see above")
        return NodeProgress(**json.loads(answer))

    def close(self) -> None:
        self._process.communicate()


def _command(directory: Path) -> list[str]:
    config = directory / "shipper.yml"
    config.write_text(SHIPPER.format(directory=directory, node=NODE))
    config.chmod(0o600)
    return [*SHIPPER_PROGRAM, "run", "-c", str(config)]


def _await_lines(path: Path, count: int, child: Child) -> None:
    """Wait until `count` lines have arrived, at most TIMEOUT seconds."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < count):
        child.check()
        time.sleep(POLL_INTERVAL)


def _metric(directory: Path, name: str) -> int:
    text = get(UnixSocket(directory / "data" / "shipper.sock"), "/metrics", 10.0).decode()
    return int(float(next(row for row in text.splitlines() if row.startswith(f"{name} ")).split()[1]))
