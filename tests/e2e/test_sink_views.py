"""Views in a process that is killed while they write, and the same process started again.

The lines are landed by the test, so that there are always some to read, whatever the process does.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.options.views import ViewConfig, ViewTriggerConfig
from tests.e2e.running import await_true
from tests.e2e.sinking import PATIENCE
from tests.java import QUICK

pytestmark = [pytest.mark.spark, pytest.mark.slow("starts of Spark; views/test_views.py proves what a kill leaves")]

AT_ONCE = ViewTriggerConfig(interval=0.0)
LINES_A_COMMIT = 50


def configuration(directory: Path) -> SinkConfig:
    """Line n is of second n, of host n % 3, and every second one is an error."""
    minutes = "SELECT window.start AS minute, host, count(*) AS n FROM lines GROUP BY window(ts, '1 minute'), host"
    hosts = "SELECT host, count(*) AS n FROM lines GROUP BY host"
    return SinkConfig(
        kafka=KafkaSource(hosts=("none:9092",), topics=("none",)),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
        views=(
            ViewConfig(name="errors", sql="SELECT message FROM lines WHERE offset % 2 = 0", trigger=AT_ONCE),
            ViewConfig(name="minutes", sql=minutes, watermark=30.0, trigger=AT_ONCE),
            ViewConfig(name="hosts", sql=hosts, mode="complete", trigger=AT_ONCE),
        ),
    )


class Killed:
    """The process with the views, and the table that they read."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.directory = directory
        self.config = configuration(directory)
        self.landed = 0
        self.log = directory / "views.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.land()

    def land(self) -> None:
        first, self.landed = self.landed, self.landed + LINES_A_COMMIT
        rows = self.spark.range(first, self.landed).selectExpr(
            "timestamp'2026-11-21 09:00:00' + make_interval(0, 0, 0, 0, 0, 0, id) AS ts",
            "id AS offset",
            "concat('line ', id) AS message",
            "concat('host ', id % 3) AS host",
        )
        rows.write.format("delta").mode("append").save(self.config.table.path)

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "tests.e2e.test_sink_views", str(self.directory), *options]
        environment = os.environ | QUICK
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def batches(self) -> int:
        """Return how many batches all views together have started."""
        return len(list(self.directory.glob("checkpoint_views/*/offsets/[0-9]*")))

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        table = self.spark.read.format("delta").load(f"{self.config.table.path}_{name}")
        return [tuple(row) for row in table.collect()]


@pytest.fixture
def views(spark: SparkSession, tmp_path: Path) -> Iterator[Killed]:
    views = Killed(spark, tmp_path)
    yield views
    views.kill()


def test_views_that_are_killed_at_random_have_each_row_once(views: Killed, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(2):
        views.land()  # or there is no batch, if nothing was left when it was killed
        before = views.batches()
        views.start()
        await_true(
            lambda before=before: views.batches() > before,  # type: ignore[misc]  # a default: not inferred
            "a batch begins",
            PATIENCE,
        )
        for _ in range(3):
            views.land()
        time.sleep(chance.uniform(0, 3))  # somewhere in these batches
        views.kill()
    views.land()
    views.start("--available-now")
    assert views.wait() == 0, views.log.read_text()

    assert sorted(views.rows("errors")) == sorted((f"line {number}",) for number in range(0, views.landed, 2))
    assert Counter(dict(views.rows("hosts"))) == Counter(f"host {number % 3}" for number in range(views.landed))
    closed = (views.landed - 1 - 30) // 60  # whole minutes that the watermark has passed
    minutes = views.rows("minutes")
    assert len(minutes) == 3 * closed
    assert {n for _, _, n in minutes} == {20}


def main(directory: Path, available_now: bool) -> None:
    from log_shipper.spark_sink.platform.session import open_session
    from log_shipper.spark_sink.views.views import Views

    config = configuration(directory)
    views = Views(open_session(config), config)
    views.check()
    if available_now:
        views.catch_up()
        raise SystemExit(len(views.failed()))
    views.start()
    while not views.failed():
        time.sleep(0.2)
        views.supervise()
    raise SystemExit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--available-now" in sys.argv)
