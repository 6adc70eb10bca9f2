"""A standalone Spark cluster on this machine: one master, two workers of one core each, every one a process."""

import os
import sys
from collections import Counter
from contextlib import ExitStack
from json import loads
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from demo.ports import free_ports
from demo.process import end, last_lines, spawn
from spark_sink.platform import archive
from spark_sink.platform.jars import not_in_spark, spark_home, spark_set
from spark_sink.platform.java import find_java
from tests.e2e.running import await_true
from tests.java import QUICK

WORKERS = 2
PATIENCE = 400  # seconds, for five JVMs that start on two busy cores


class Cluster:
    """A standalone cluster, as `sbin/start-all.sh` starts it: the pip package does not have that script."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (port,) = free_ports(1)
        self.url = f"spark://127.0.0.1:{port}"
        self._port = str(port)
        self._running = ExitStack()
        self.events = directory / "events"
        self.events.mkdir()

    def __enter__(self) -> Self:
        with self._running as running:
            self._start("master", "master.Master", "--host", "127.0.0.1", "--port", self._port, "--webui-port", "0")
            await_true(lambda: "I have been elected leader" in self._log("master"), "a master", PATIENCE)
            for number in range(WORKERS):
                self._start_worker(f"worker{number}")
            await_true(self._complete, "all workers are registered", PATIENCE)
            self._running = running.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def submit(self, *options: str) -> None:
        """The command of docs/cluster.md. The driver's Python has nothing installed: only Spark's and the zip count."""
        packed, script = archive.write(self._directory / "packed")
        settings = {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            # The defaults are made for more than two cores.
            "spark.sql.shuffle.partitions": str(WORKERS),
            "spark.databricks.delta.snapshotPartitions": str(WORKERS),
            # Else the first executor may do everything before the second has come.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE}s",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        command = [str(spark_home() / "bin" / "spark-submit"), "--master", self.url, "--driver-memory", "512m"]
        command += [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        command += ["--jars", ",".join(map(str, not_in_spark(spark_set().jars())))]
        command += ["--py-files", str(packed), str(script), "run", *options]
        environment = self._environment() | {"PYSPARK_PYTHON": str(self._bare_python())}
        process = spawn(command, self._directory / "submit.log", environment)
        self._running.callback(end, process, 10)
        assert process.wait(PATIENCE) == 0, self.log_text()

    def log_text(self) -> str:
        return last_lines(self._directory / "submit.log", 40)

    def batches(self) -> list[dict[str, Any]]:
        """Return the sink's log lines about batches."""
        lines = (self._directory / "submit.log").read_text().splitlines()
        progress = [loads(line) for line in lines if line.startswith("{")]
        return [line for line in progress if line["message"] == "batch"]

    def tasks(self) -> Counter[str]:
        """Return how many tasks each worker has run, from the driver's event log."""
        (log,) = self.events.iterdir()
        events = [loads(line) for line in log.read_text().splitlines()]
        tasks = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
        return Counter(self._worker_of(task["Task Info"]["Executor ID"]) for task in tasks)

    def _worker_of(self, executor: str) -> str:
        """Each executor has a directory below that of its worker."""
        (directory,) = self._directory.glob(f"worker*/app-*/{executor}")
        return directory.parent.parent.name

    def _complete(self) -> bool:
        return all("Successfully registered" in self._log(f"worker{number}") for number in range(WORKERS))

    def _start_worker(self, name: str) -> None:
        options = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "600m")
        self._start(name, "worker.Worker", *options, "--work-dir", str(self._directory / name), self.url)

    def _start(self, name: str, main: str, *options: str) -> None:
        command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *options]
        process = spawn(command, self._directory / f"{name}.log", self._environment())
        self._running.callback(end, process, 10)

    def _log(self, name: str) -> str:
        path = self._directory / f"{name}.log"
        return path.read_text() if path.is_file() else ""

    def _environment(self) -> dict[str, str]:
        own = QUICK | {
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_LOCAL_DIRS": str(self._directory),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        left_out = {"PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}
        return find_java().environment({key: value for key, value in os.environ.items() if key not in left_out}) | own

    def _bare_python(self) -> Path:
        """This Python without its site-packages."""
        path = self._directory / "python"
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        path.chmod(0o755)
        return path
