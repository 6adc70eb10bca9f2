"""A soak test of the sink: an hour at a constant rate, to detect growth, `script/soak-sink`.

A day of the records' time passes in `--day` minutes, so that dates change, and `spark-sink maintain` has files to
compact. Prints one line per minute, and compares the last third of the minutes with the first.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from bench.measure import Child, resident_mb
from bench.runs import report
from bench.sink import FilledTopic, configured, sink
from bench.sink_delay import Commits
from bench.sink_flat import Minute, TableFiles, findings
from bench.sink_process import MeasuredJob, TimedBatch, running
from bench.topics import PARTITIONS
from demo.broker import Broker
from demo.process import SINK_PROGRAM

TOPIC = "soak"
# Short retention: an hour of records is many gigabytes.
KEPT = {"log.retention.minutes": "15", "log.segment.bytes": "67108864", "log.retention.check.interval.ms": "60000"}
POLL_INTERVAL = 0.2
GIVE_UP = 300.0  # seconds until the last records have landed


class Soak:
    """A sink in `directory`, while records are produced to its topic."""

    def __init__(self, directory: Path, job: MeasuredJob, maintaining: "MaintainRuns") -> None:
        self._job = job
        self._commits = Commits(directory / "lines")
        self.files = TableFiles()
        self._maintaining = maintaining

    def minute(self, number: int, deadline: float, produced: int) -> Minute | None:
        """Return the figures up to `deadline` (monotonic), when `produced` records were produced; None without a
        batch."""
        added, before = self.files.added, psutil.cpu_times()
        maintained = self._maintaining.running
        batches = self._watch(deadline)
        java = self._job.java()
        if not batches or java is None:
            return None
        seconds = [batch.seconds for batch in batches]
        return Minute(
            number=number,
            batches=len(batches),
            p50=median(seconds),
            maximum=max(seconds),
            lag=produced - self.files.rows,
            java_mb=resident_mb(java.pid),
            python_mb=resident_mb(self._job.child.pid),
            files_added=self.files.added - added,
            files_today=self.files.today,
            files=self.files.count,
            log_files=len(list((self._commits.table / "_delta_log").iterdir())),
            rows=self.files.rows,
            maintained=maintained or self._maintaining.running,
            stolen=_stolen(before, psutil.cpu_times()),
        )

    def await_rows(self, count: int) -> None:
        """Wait until `count` rows have landed. Raises RuntimeError on fewer or more rows."""
        deadline = time.monotonic() + GIVE_UP
        while self.files.rows < count and time.monotonic() < deadline:
            self._watch(time.monotonic() + 1)
        if self.files.rows != count:
            raise RuntimeError(f"{self.files.rows:,} rows have landed instead of {count:,}")

    def _watch(self, deadline: float) -> list[TimedBatch]:
        batches: list[TimedBatch] = []
        while True:
            batches += self._job.batches()
            for commit in self._commits.new():
                self.files.add_commit(commit)
            self._maintaining.step()
            if (left := deadline - time.monotonic()) <= 0:
                return batches
            time.sleep(min(POLL_INTERVAL, left))


class MaintainRuns:
    """Runs `spark-sink maintain` every `every` seconds, one at a time; `close` waits for the last run."""

    def __init__(self, config: Path, every: float) -> None:
        self._command = [*SINK_PROGRAM, "maintain", "-c", str(config)]
        self._log = config.parent / "maintain.log"
        self._every = every
        self._due = time.monotonic() + every
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None

    def step(self) -> None:
        if self._process is not None:
            if (code := self._process.poll()) is not None:
                self._process = None
                self._report(code)
        elif time.monotonic() >= self._due:
            self._due += self._every
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def close(self) -> None:
        if self._process is not None:
            self._report(self._process.wait())
            self._process = None

    def _report(self, code: int) -> None:
        lines = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
        # File counts of each table, failures, and the summary.
        messages = [
            line["message"] for line in lines if {"files_before", "failures", "error.stack_trace"} & line.keys()
        ]
        report("\n".join(f"    maintain (code {code}): {text}" for text in messages))


def _stolen(before: Any, after: Any) -> float:
    spent = sum(after) - sum(before)
    return (after.steal - before.steal) / spent if spent else 0.0


@contextmanager
def producing(bootstrap: str, directory: Path, options: argparse.Namespace) -> Iterator[Child]:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    start = midnight - timedelta(days=3 + options.minutes // options.day)  # all dates are in the past
    count, hasten = options.minutes * 60 * options.rate, 24 * 60 / options.day
    command = [sys.executable, "-m", "bench.sink_records", bootstrap, TOPIC, str(count), "--rate", str(options.rate)]
    more = ["--begin", start.isoformat(), "--hasten", str(hasten)]
    child = Child([*command, *more], directory / "producer.log")
    try:
        yield child
    finally:
        child.end()


def run(directory: Path, broker: Broker, options: argparse.Namespace) -> list[Minute]:
    broker.create_topic(TOPIC, PARTITIONS)
    config = configured(FilledTopic(broker.bootstrap, TOPIC, 0), directory / "sink", "")
    minutes = []
    with (
        running(sink(config), config.parent) as job,
        closing(MaintainRuns(config, options.maintain * 60)) as maintaining,
    ):
        soak = Soak(config.parent, job, maintaining)
        with producing(broker.bootstrap, directory, options) as producer:
            began = time.monotonic()
            for number in range(1, options.minutes + 1):
                seconds = number * 60
                if (minute := soak.minute(number, began + seconds, seconds * options.rate)) is not None:
                    minutes.append(minute)
                    report(str(minute))
                producer.check()
            soak.await_rows(options.minutes * 60 * options.rate)
    report(f"all {soak.files.rows:,} produced records have landed")
    return minutes


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="script/soak-sink", description="Run the sink for an hour, and check that nothing grows."
    )
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rate", type=int, default=20_000, help="records per second")
    parser.add_argument("--day", type=int, default=20, metavar="MINUTES", help="duration of a day of the records' time")
    parser.add_argument("--maintain", type=float, default=10, metavar="MINUTES", help="interval of maintain")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops the child processes
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        directory = Path(name)
        with Broker(directory / "broker", heap="1g", properties=KEPT, jvm_options=()) as broker:
            results = findings(run(directory, broker, options), options.rate)
    report("\n".join(map(str, results)))
    sys.exit(not all(finding.flat for finding in results))


if __name__ == "__main__":
    main()
