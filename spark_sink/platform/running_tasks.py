"""What Spark's tasks do for the sink, asked of Spark's status tracker: a job that is under way may only take long."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class StageTasks:
    """The tasks of a stage of Spark: how many run, and how many have ended, well or not."""

    active: int
    ended: int


class RunningTasks:
    """Asks for the jobs of the sink itself, those of the start and of the query that lands; the views have others. Each
    question is some round trips to Java."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._groups: tuple[str | None, ...] = (None,)  # what a thread starts that is not of a query

    def include(self, run: str) -> None:
        """Count the jobs of this query, too, by the id of its run, which Spark takes for the name of their group."""
        self._groups = (*self._groups, run)

    def read_stages(self) -> Mapping[int, StageTasks]:
        """Return the stages of the jobs that run now, by id. Raises Spark's errors, and those of the connection to
        Java."""
        active = set(self._tracker.getActiveJobsIds())
        own = {job for group in self._groups for job in self._tracker.getJobIdsForGroup(group)} if active else set()
        jobs = [self._tracker.getJobInfo(job) for job in sorted(active & own)]
        stages = {stage: self._tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds}
        return {
            stage: StageTasks(info.numActiveTasks, info.numCompletedTasks + info.numFailedTasks)
            for stage, info in stages.items()
            if info
        }
