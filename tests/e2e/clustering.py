"""A standalone Spark cluster on this machine: one master, two workers of one core each, every one a process.

The executors' Python has nothing installed, and does not see the driver's packages: only Spark's, and what was shipped.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from json import loads
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from demo.ports import free_ports
from demo.process import end, last_lines, spawn
from log_shipper.spark_sink.platform import archive
from log_shipper.spark_sink.platform.executors import UNPACKED
from log_shipper.spark_sink.platform.java import find_java
from log_shipper.spark_sink.platform.jvm import spark_home
from tests.e2e.running import await_true
from tests.java import QUICK

WORKERS = 2
PATIENCE = 400  # seconds, for five JVMs that start on two busy cores
PYTHON = "python-of-the-machine"

# Without site-packages; Spark's own packages and those that are in the working directory stay on its path.
OF_A_WORKER = """\
#!/bin/sh
kept=
IFS=:
for entry in $PYTHONPATH; do
    case $entry in {spark}/* | [!/]*) kept="$kept${{kept:+:}}$entry" ;; esac
done
PYTHONPATH=$kept exec {python} -S "$@"
"""
OF_THE_DRIVER = '#!/bin/sh\nexec {python} -S "$@"\n'
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Cluster:
    """A standalone cluster, as `sbin/start-all.sh` starts it: the pip package does not have that script."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (port,) = free_ports(1)
        self.url = f"spark://127.0.0.1:{port}"
        self._port = str(port)
        self._running = ExitStack()
        self._submitted: subprocess.Popen[bytes] | None = None
        self._executors: list[psutil.Process] = []
        for place, script in (("driver", OF_THE_DRIVER), ("worker", OF_A_WORKER)):
            self._write_python(directory / place, script)
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

    def submit(self, *options: str, archives: bool = True) -> None:
        """Start the command of docs/guides/cluster.md."""
        packed, script = archive.write(self._directory / "packed")
        settings = {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            # The defaults are made for more than two cores.
            "spark.sql.shuffle.partitions": str(WORKERS),
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
        command += ["--archives", f"{packed}#{UNPACKED}"] if archives else []
        command += [str(script), "run", *options]
        environment = self._environment("driver") | {
            "PYSPARK_PYTHON": PYTHON,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYTHONPATH": str(Path(archive.__file__).parents[2]),  # where it is not installed
        }
        self._submitted = spawn(command, self._directory / "submit.log", environment)
        self._running.callback(end, self._submitted, 10)

    @property
    def code(self) -> int | None:
        """The exit code of the sink; None while it runs."""
        assert self._submitted is not None
        return self._submitted.poll()

    def wait(self) -> int:
        assert self._submitted is not None
        return self._submitted.wait(PATIENCE)

    def kill_writer(self, table: Path) -> bool:
        """Kill (`kill -9`) an executor whose Python has a file of the table open; return False while none has."""
        if len(self._executors) < WORKERS or not all(executor.is_running() for executor in self._executors):
            self._executors = self._find_executors()  # not each time: a file is open for a fraction of a second
        for executor in self._executors:
            with suppress(psutil.NoSuchProcess):  # a Python that has just ended
                files = [file.path for child in executor.children(recursive=True) for file in child.open_files()]
                if any(Path(file).is_relative_to(table) for file in files):
                    executor.send_signal(signal.SIGKILL)
                    return True
        return False

    def lost_tasks(self) -> int:
        """Return how many tasks ended with their executor, from the driver's event log."""
        return sum(task["Task End Reason"]["Reason"] == "ExecutorLostFailure" for task in self._ended_tasks())

    def _find_executors(self) -> list[psutil.Process]:
        processes = psutil.process_iter(["cmdline", "cwd"])
        own = [process for process in processes if str(process.info["cwd"]).startswith(str(self._directory))]
        return [process for process in own if EXECUTOR in process.info["cmdline"]]

    def log_text(self) -> str:
        return last_lines(self._directory / "submit.log", 40)

    def batches(self) -> list[dict[str, Any]]:
        """Return the sink's log lines about batches."""
        lines = (self._directory / "submit.log").read_text().splitlines()
        progress = [loads(line) for line in lines if line.startswith("{")]
        return [line for line in progress if line["message"] == "batch"]

    def tasks(self) -> Counter[str]:
        """Return how many tasks each worker has run, from the driver's event log."""
        return Counter(self._worker_of(task["Task Info"]["Executor ID"]) for task in self._ended_tasks())

    def _ended_tasks(self) -> list[dict[str, Any]]:
        (log,) = self.events.iterdir()
        events = [loads(line) for line in log.read_text().splitlines()]
        return [event for event in events if event["Event"] == "SparkListenerTaskEnd"]

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
        process = spawn(command, self._directory / f"{name}.log", self._environment("worker"))
        self._running.callback(end, process, 10)

    def _log(self, name: str) -> str:
        path = self._directory / f"{name}.log"
        return path.read_text() if path.is_file() else ""

    def _environment(self, place: str) -> dict[str, str]:
        own = QUICK | {
            "PATH": f"{self._directory / place}:{os.environ['PATH']}",
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_LOCAL_DIRS": str(self._directory),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        left_out = {"PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}
        return find_java().environment({key: value for key, value in os.environ.items() if key not in left_out}) | own

    def _write_python(self, directory: Path, script: str) -> None:
        directory.mkdir()
        path = directory / PYTHON
        path.write_text(script.format(python=sys.executable, spark=spark_home()))
        path.chmod(0o755)
