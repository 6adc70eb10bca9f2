"""The sink's baseline: a minimal job from Kafka to Delta, each record as a string, with Spark's Kafka source.

    python -m bench.sink_bare CONFIG

Session and settings are the sink's, except Java's young generation: here the rows pass through Java. The log line of
each batch has the sink's format.
"""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.platform.session import open_session

OWN = {
    # Java's default: a third of the heap.
    "spark.driver.extraJavaOptions": "-Xmn298m",
    # Spark has these dependencies of the connector on its class path.
    "spark.jars.packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}",
    "spark.jars.excludes": "org.apache.hadoop:hadoop-client-api,org.apache.hadoop:hadoop-client-runtime",
}


class BatchLog(StreamingQueryListener):
    """Logs each batch to stderr."""

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
    config = load([Path(sys.argv[1])], SinkConfig)
    views = (ViewConfig(name="any", sql="SELECT * FROM lines"),)  # only views load Delta, which this job writes
    spark, batch_log = open_session(replace(config, views=views, spark={**config.spark, **OWN})), BatchLog()
    spark.streams.addListener(batch_log)
    options = {
        "kafka.bootstrap.servers": config.kafka.bootstrap_servers,
        "subscribe": ",".join(config.kafka.topics),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(config.max_offsets_per_trigger),
    }

    def land(records: DataFrame, _: int) -> None:
        records.selectExpr("CAST(value AS STRING) AS value").write.format("delta").mode("append").save(
            config.table.path
        )

    query = spark.readStream.format("kafka").options(**options).load().writeStream.foreachBatch(land)
    query.option("checkpointLocation", config.checkpoint.path).trigger(availableNow=True).start().awaitTermination()
    batch_log.ended.wait(10)
    spark.stop()


if __name__ == "__main__":
    main()
