"""The demo's folder: its paths, and the configurations of shipper and sink."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demo.process import SHIPPER_PROGRAM, SINK_PROGRAM

TOPIC = "logs"
PARTITIONS = 4
PACKAGE_LOG = Path("/var/log/dpkg.log")

SHIPPER = """\
shipper.inputs:
  - type: filestream
    id: app
    paths: ["{app}*"]
    fields: {{service: checkout}}
  - type: filestream
    id: packages
    enabled: {packages}
    paths: ["{package_log}"]
  - type: filestream
    id: checkout
    paths: ["{checkout_log}"]
    fields: {{service: checkout}}
    parsers: [{stack_traces}]
    processors: [{level}, {{add_fields: {{target: host, fields: {{name: checkout-1}}}}}}]
  - type: filestream
    id: payments
    paths: ["{payments_log}"]
    fields: {{service: payments}}
    processors: [{level}, {{add_fields: {{target: host, fields: {{name: payments-2}}}}}}]
  - type: filestream
    id: kafka
    paths: ["{broker_log}"]
    tags: ["java"]
    parsers:
      - multiline: {{type: pattern, pattern: '^\\[', negate: true, match: after, timeout: 1s}}

output.kafka:
  hosts: ["{bootstrap}"]
  topic: {topic}
path.data: {data}
http: {{enabled: true, port: {shipper_page}}}
"""

STACK_TRACES = "{multiline: {type: pattern, pattern: '^\\d{4}-', negate: true, match: after, timeout: 1s}}"
LEVEL = "{dissect: {tokenizer: '%{?time} %{level} %{?text}', target_prefix: log}}"

SINK = """\
kafka: {{hosts: ["{bootstrap}"], topics: [{topic}]}}
table.path: {table}
checkpoint.path: {checkpoint}
http: {{enabled: true, port: {sink_page}}}
ui: {{port: {search_page}}}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """The paths of the demo, all in one folder, and the ports of the three pages (0: any free port)."""

    folder: Path
    shipper_page: int = 0
    sink_page: int = 0
    search_page: int = 0

    @property
    def kafka(self) -> Path:
        return self.folder / "kafka"

    @property
    def broker_log(self) -> Path:
        return self.kafka / "server.log"

    @property
    def app_log(self) -> Path:
        return self.folder / "app" / "app.log"

    @property
    def shop_logs(self) -> tuple[Path, Path]:
        """The logs of two programs on two hosts."""
        return self.folder / "checkout" / "checkout.log", self.folder / "payments" / "payments.log"

    @property
    def data(self) -> Path:
        return self.folder / "shipper"

    @property
    def registry(self) -> Path:
        return self.data / "registry"

    @property
    def table(self) -> Path:
        return self.folder / "lines"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def shipper_config(self) -> Path:
        return self.folder / "shipper.yml"

    @property
    def sink_config(self) -> Path:
        return self.folder / "sink.yml"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def logs(self) -> list[Path]:
        """Return the patterns of the files that the shipper reads."""
        packages = [PACKAGE_LOG] if has_package_log() else []
        return [self.app_log.with_name("app.log*"), *packages, *self.shop_logs, self.broker_log]

    def log_of(self, name: str) -> Path:
        """Return the file with the output of a program."""
        return self.folder / f"{name}.out"

    def make(self, bootstrap: str) -> None:
        """Write folders and configurations."""
        checkout, payments = self.shop_logs
        for folder in (self.app_log.parent, checkout.parent, payments.parent, self.data, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        values = {"bootstrap": bootstrap, "topic": TOPIC, "table": self.table, "checkpoint": self.checkpoint}
        values |= {"data": self.data, "shipper_page": self.shipper_page, "sink_page": self.sink_page}
        values |= {"search_page": self.search_page, "stack_traces": STACK_TRACES, "level": LEVEL}
        logs = {"app": self.app_log, "package_log": PACKAGE_LOG, "broker_log": self.broker_log}
        logs |= {"checkout_log": checkout, "payments_log": payments}
        packages = str(has_package_log()).lower()
        self.shipper_config.write_text(SHIPPER.format(**values, **logs, packages=packages))
        self.sink_config.write_text(SINK.format(**values))

    def shipper_command(self) -> list[str]:
        return [*SHIPPER_PROGRAM, "run", "-c", str(self.shipper_config)]

    def sink_command(self) -> list[str]:
        return [*SINK_PROGRAM, "run", "-c", str(self.sink_config)]

    def writer_command(self, rate: float, rotations: int, every: float, *options: str) -> list[str]:
        numbers = ["--rate", str(rate), "--rotations", str(rotations), "--every", str(every)]
        return [sys.executable, "-m", "demo.writer", str(self.app_log), *numbers, *options]

    def shop_command(self) -> list[str]:
        return [sys.executable, "-m", "demo.shop", *map(str, self.shop_logs)]

    def search_command(self) -> list[str]:
        return [*SINK_PROGRAM, "ui", "-c", str(self.sink_config)]

    def environment(self, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the environment that keeps the temporary files of Spark and Java in the folder."""
        java = f"-Djava.io.tmpdir={self.temporary} -XX:-UsePerfData"
        temporary = str(self.temporary)
        return {**base, "TMPDIR": temporary, "SPARK_LOCAL_DIRS": temporary, "SPARK_SUBMIT_OPTS": java}


def has_package_log() -> bool:
    return os.access(PACKAGE_LOG, os.R_OK)
