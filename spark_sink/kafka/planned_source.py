"""The source of the query: it plans where micro-batches end, and yields no rows.

Spark schedules the batches, writes their ends to its checkpoint before they run, and retries a batch that was not
completed. The landing tasks read the records between the ends. The source runs in a separate Python process, which
Spark starts with the query.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.kafka.planning import Planner

Topics = dict[str, dict[str, int]]


class OffsetSource(DataSource):
    """A source whose batches end where the planner says. Subclasses define `new_planner`, which Spark pickles with the
    class: options of a source would appear in query plans."""

    new_planner: ClassVar[Callable[[], Planner]]

    @classmethod
    def name(cls) -> str:
        return "spark_sink_offsets"

    def schema(self) -> str:
        return "nothing STRING"

    def streamReader(self, schema: Any) -> "OffsetReader":
        return OffsetReader(type(self).new_planner())


class OffsetReader(DataSourceStreamReader):
    """Spark's interface to the planner. Spark compares offsets as text, so equal ones must be equal texts."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    def __getstate__(self) -> dict[str, Any]:
        """Drop the planner: for each batch Spark pickles the reader for the tasks, which need no planner."""
        return {}

    def initialOffset(self) -> Topics:
        return as_topics(self._planner.planned)

    # Since Spark 4.2 it has a start and a limit; Spark still calls a method without them.
    def latestOffset(self) -> Topics:  # type: ignore[override, unused-ignore]
        return as_topics(self._planner.next_ends())

    def partitions(self, start: Topics, end: Topics) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter(())


def as_topics(offsets: Offsets) -> Topics:
    """Return the offsets by topic and number, in a fixed order."""
    topics: Topics = {}
    for (topic, number), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(number)] = offset
    return topics


def stream(spark: SparkSession, new_planner: Callable[[], Planner]) -> DataFrame:
    """Return the stream of the planner's batches. `new_planner` is pickled, and called in the source's process."""
    source = type("PlannedOffsets", (OffsetSource,), {"new_planner": staticmethod(new_planner)})
    spark.dataSource.register(source)
    return spark.readStream.format(OffsetSource.name()).load()
