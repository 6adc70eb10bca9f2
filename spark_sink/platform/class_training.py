"""A short run of the sink that shows Java which classes the sink needs; `class_sharing` makes an archive of them.

    python -m spark_sink.platform.class_training DIRECTORY      leaves the class list and the class path there

Two batches are landed in tables below the directory, with repeats and bad records, a stream runs for a batch, and
Kafka's client is started without a broker. A longer run would not make the archive better: a class that is not in it is
loaded from its jar.
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from config.sink.kafka import KafkaSource
from config.sink.model import SinkConfig
from config.sink.parts import CheckpointConfig
from config.sink.tables import TableConfig
from spark_sink.landing.staged import Unnamed
from spark_sink.landing.startup import KafkaTopics, Startup
from spark_sink.platform.class_sharing import class_list, class_path_file
from spark_sink.platform.jvm import java_class
from spark_sink.platform.session import JAVA_OPTIONS, open_session
from spark_sink.records.schema import HEADERS_TYPE
from spark_sink.storage.checkpoint import Checkpoint

# What Spark's Kafka source and its consumers begin with: none of them comes to work without a broker.
KAFKA_CLASSES = (
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin",
    "org.apache.spark.sql.kafka010.KafkaBatchPartitionReader",
    "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer",
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer",
    "org.apache.kafka.clients.consumer.internals.Fetcher",
    "org.apache.kafka.common.serialization.ByteArrayDeserializer",
)
NOWHERE = "127.0.0.1:1"  # no broker listens there


def main(directory: Path) -> None:
    config = SinkConfig(
        kafka=KafkaSource(hosts=(NOWHERE,), topics=("logs",)),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
        spark={JAVA_OPTIONS: f"-Xshare:auto -XX:TieredStopAtLevel=1 -XX:DumpLoadedClassList={class_list(directory)}"},
    )
    spark = open_session(config)
    try:
        _land(spark, config)
        _stream(spark, directory)
        _load_kafka(spark)
        class_path_file(directory).write_text(java_class(spark, "java.lang.System").getProperty("java.class.path"))
    finally:
        spark.stop()


def _land(spark: SparkSession, config: SinkConfig) -> None:
    checkpoint = Checkpoint(spark, config.checkpoint.path)
    batch_writer = Startup(spark, config, checkpoint, KafkaTopics({"logs": ""}, {}), time.time, lambda _: None).run()
    for first in (0, 2):  # two of the second batch are repeats of the first
        values = [*(_line(offset) for offset in range(first, first + 4)), "no JSON"]
        batch_writer.land(_records(spark, values), {("logs", 0): 100 * (first + 1)}, Unnamed.NOT_A_BATCH)
    batch_writer.tables.lines(config.table.path).read().count()


def _line(offset: int) -> str:
    line = {"@timestamp": "2026-11-21T09:30:00Z", "message": "line", "host": {"name": "host"}}
    return json.dumps({**line, "log": {"offset": offset, "length": 5, "file": {"path": "/app.log", "id": "file"}}})


def _records(spark: SparkSession, values: list[str]) -> DataFrame:
    """Return records as Spark's Kafka source gives them."""
    rows = ", ".join(f"({offset}, '{value}')" for offset, value in enumerate(values))
    return spark.sql(
        "SELECT CAST('key' AS BINARY) AS key, CAST(value AS BINARY) AS value, "
        f"CAST(NULL AS {HEADERS_TYPE}) AS headers, 'logs' AS topic, 0 AS partition, "
        f"CAST(offset AS BIGINT) AS offset, current_timestamp() AS timestamp FROM VALUES {rows} AS v (offset, value)"
    )


def _stream(spark: SparkSession, directory: Path) -> None:
    def show(rows: DataFrame, _: int) -> None:
        rows.count()

    (directory / "texts").mkdir()
    (directory / "texts" / "one").write_text("text\n")
    writer = spark.readStream.text(str(directory / "texts")).writeStream.foreachBatch(show)
    writer.option("checkpointLocation", str(directory / "stream")).trigger(availableNow=True).start().awaitTermination()


def _load_kafka(spark: SparkSession) -> None:
    load = java_class(spark, "java.lang.Class").forName
    for name in KAFKA_CLASSES:
        load(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
