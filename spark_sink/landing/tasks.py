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
        """How many tasks run at the same time."""
        ...

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call the function with each item, in a task of its own, and return the results in the order of the items.
        Blocks. Raises the error of a task, or Spark's with its text."""
        ...


@dataclass(frozen=True, slots=True)
class SparkTasks:
    """Tasks on the executors of a session, which retries one that has failed."""

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
    """Tasks of a command that starts no Spark, because it has little to do."""

    cores: int = 1

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return list(map(function, items))
