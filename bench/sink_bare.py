"""The yardsticks of the sink: the barest job from Kafka to Delta, and two that do a part of the sink's work.

    python -m bench.sink_bare bare|typed|variant CONFIG

Source, session and settings are the sink's, and so is the form of the line that is logged for each batch.
"""

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from config.sink.model import SinkConfig
from config.yaml.load import load
from spark_sink.kafka import source
from spark_sink.platform.session import open_session
from spark_sink.records.transform import Transform, fenced
from spark_sink.storage.layout import of_lines, prepare
from spark_sink.storage.tables import Table

# The typed columns in the simplest form: no VARIANT, no check that every value fits.
RECORD = (
    "`@timestamp` STRING, message STRING, host STRUCT<name: STRING>, tags ARRAY<STRING>, "
    "log STRUCT<offset: BIGINT, length: BIGINT, flags: ARRAY<STRING>, file: STRUCT<path: STRING, id: STRING>>"
)
TYPED = (
    "CAST(r.`@timestamp` AS TIMESTAMP) AS ts",
    "CAST(r.`@timestamp` AS DATE) AS date",
    "r.message",
    "r.host.name AS host",
    "r.log.file.path AS path",
    "r.log.file.id AS file_id",
    "r.log.offset AS offset",
    "r.log.length AS length",
    "r.log.flags AS flags",
    "r.tags AS tags",
    "topic",
    "partition",
    "kafka_offset",
    "kafka_ts",
)


def bare(_: Transform, records: DataFrame) -> DataFrame:
    return records.selectExpr("CAST(value AS STRING) AS value")


def typed(_: Transform, records: DataFrame) -> DataFrame:
    parsed = records.selectExpr(
        f"from_json(CAST(value AS STRING), '{RECORD}') AS r",
        "topic",
        "partition",
        "offset AS kafka_offset",
        "timestamp AS kafka_ts",
    )
    return parsed.selectExpr(*TYPED)


def variant(transform: Transform, records: DataFrame) -> DataFrame:
    """Return the good rows of the sink's own parsing, without anything that makes them land exactly once."""
    return transform.good(fenced(transform.parse(records)))


SHAPES: dict[str, Callable[[Transform, DataFrame], DataFrame]] = {"bare": bare, "typed": typed, "variant": variant}


class BatchLog(StreamingQueryListener):
    """Logs each batch on stderr."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        seconds = event.progress.durationMs["triggerExecution"] / 1000
        line = {"message": "batch", "rows_in": event.progress.numInputRows, "seconds": seconds}
        print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.ended.set()


def main() -> None:
    shape, file = sys.argv[1:]
    config = load([Path(file)], SinkConfig)
    spark, transform, batch_log = open_session(config), Transform(config), BatchLog()
    spark.streams.addListener(batch_log)
    if shape == "variant":
        prepare(Table(spark, config.table.path).snapshot(), of_lines(config, transform.columns))

    def land(records: DataFrame, _: int) -> None:
        rows = SHAPES[shape](transform, records).write.format("delta").mode("append")
        (rows if shape == "bare" else rows.partitionBy("date")).save(config.table.path)

    query = source.stream(spark, config).writeStream.foreachBatch(land)
    query.option("checkpointLocation", config.checkpoint.path).trigger(availableNow=True).start().awaitTermination()
    batch_log.ended.wait(10)
    spark.stop()


if __name__ == "__main__":
    main()
