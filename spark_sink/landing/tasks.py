"""Where the tasks of a batch run: on the executors of Spark, or one after the other in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


class Tasks(Protocol):
    """Runs tasks: functions and items that can be pickled, because a task may run on another machine."""

    @property
    def cores(self) -> int:
        """Number of tasks that run at the same time."""
        ...

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call the function with each item, one task per item, and return the results in the order of the items.
        Blocks. Raises the error of a task, or Spark's error with the same text."""
        ...


@dataclass(frozen=True, slots=True)
class SparkTasks:
    """Tasks on the executors of a session, which retries failed tasks."""

    spark: SparkSession

    @property
    def cores(self) -> int:
        return self.spark.sparkContext.defaultParallelism

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        if not items:
            return []
        return self.spark.sparkContext.parallelize(items, len(items)).map(function).collect()


@dataclass(frozen=True, slots=True)
class LocalTasks:
    """Tasks in this process, for commands that do not start Spark."""

    cores: int = 1

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return list(map(function, items))
