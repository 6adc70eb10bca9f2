"""The running tasks of the sink, from Spark's status tracker, to tell a long job from a hanging one."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class StageTasks:
    """The numbers of running and of ended (completed or failed) tasks of a Spark stage."""

    active: int
    ended: int


class RunningTasks:
    """Reads the jobs of the start and of the query that lands lines, not those of views. Each read takes several round
    trips to Java."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._groups: tuple[str | None, ...] = (None,)  # jobs outside of queries have no group

    def include(self, run: str) -> None:
        """Include the jobs of this query. `run`: its run id, which is Spark's job group."""
        self._groups = (*self._groups, run)

    def read_stages(self) -> Mapping[int, StageTasks]:
        """Return the stages of the running jobs, by id. Raises Spark's errors, and those of the connection to Java."""
        active = set(self._tracker.getActiveJobsIds())
        own = {job for group in self._groups for job in self._tracker.getJobIdsForGroup(group)} if active else set()
        jobs = [self._tracker.getJobInfo(job) for job in sorted(active & own)]
        stages = {stage: self._tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds}
        return {
            stage: StageTasks(info.numActiveTasks, info.numCompletedTasks + info.numFailedTasks)
            for stage, info in stages.items()
            if info
        }
