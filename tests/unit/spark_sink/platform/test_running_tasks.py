"""The status tracker of the real Spark. A task ends when the test writes to its pipe."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession

from log_shipper.spark_sink.platform.running_tasks import RunningTasks, StageTasks

pytestmark = pytest.mark.spark

PAUSE = 0.02  # seconds between two looks
PATIENCE = 30.0


def wait_for(pipe: str, rows: Iterator[int]) -> Iterator[int]:
    if list(rows):
        with open(pipe) as opened:
            opened.read()
    yield 1


@dataclass
class Jobs:
    """Jobs of two tasks, of which one ends at once; the session has one core."""

    spark: SparkSession
    pipe: Path

    def start(self, group: str | None) -> threading.Thread:
        context = self.spark.sparkContext

        def run() -> None:
            if group is not None:
                context.setJobGroup(group, "a query")
            context.parallelize([2], 2).mapPartitions(partial(wait_for, str(self.pipe))).collect()

        thread = InheritableThread(target=run)
        thread.start()
        return thread

    def end(self, thread: threading.Thread) -> None:
        self.pipe.write_text("")
        thread.join(PATIENCE)


@pytest.fixture
def jobs(spark: SparkSession, tmp_path: Path) -> Jobs:
    os.mkfifo(tmp_path / "pipe")
    return Jobs(spark, tmp_path / "pipe")


def await_task(tasks: RunningTasks) -> list[StageTasks]:
    """Return the stages when one of two tasks has ended, and the other one runs."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / PAUSE)):
        stages = list(tasks.read_stages().values())
        if any(stage.active and stage.ended for stage in stages):
            return stages
        pause.wait(PAUSE)
    raise AssertionError("no task was seen")


def await_none(tasks: RunningTasks) -> None:
    """Spark's tracker learns of the end of a job after whoever waits for its result."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / PAUSE)):
        if tasks.read_stages() == {}:
            return
        pause.wait(PAUSE)
    raise AssertionError("the job is seen for good")


def test_the_tasks_of_the_start_are_seen(jobs: Jobs) -> None:
    tasks = RunningTasks(jobs.spark)
    thread = jobs.start(None)
    try:
        assert await_task(tasks) == [StageTasks(active=1, ended=1)]
    finally:
        jobs.end(thread)
    await_none(tasks)


def test_of_queries_the_tasks_of_those_that_are_included_are_seen(jobs: Jobs) -> None:
    landing, others = RunningTasks(jobs.spark), RunningTasks(jobs.spark)
    landing.include("a run")
    others.include("another run")
    thread = jobs.start("a run")
    try:
        assert await_task(landing) == [StageTasks(active=1, ended=1)]
        assert others.read_stages() == {}
    finally:
        jobs.end(thread)


@pytest.mark.slow("a query of Spark begins for it")
def test_what_a_batch_of_a_query_starts_has_the_run_of_the_query_as_its_group(jobs: Jobs, tmp_path: Path) -> None:
    context, once = jobs.spark.sparkContext, threading.Lock()

    def land(rows: DataFrame, batch: int) -> None:
        if once.acquire(blocking=False):
            context.parallelize([2], 2).mapPartitions(partial(wait_for, str(jobs.pipe))).collect()

    writer = jobs.spark.readStream.format("rate").load().writeStream.foreachBatch(land)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    tasks = RunningTasks(jobs.spark)
    tasks.include(str(query.runId))
    try:
        assert await_task(tasks) == [StageTasks(active=1, ended=1)]
    finally:
        jobs.pipe.write_text("")
        query.stop()
