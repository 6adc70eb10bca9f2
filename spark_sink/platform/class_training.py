"""A short run of the sink, in which Java records the classes that it loads; `class_sharing` archives them.

    python -m log_shipper.spark_sink.platform.class_training DIRECTORY    writes the class list and the class path

A stream lands two batches in tables below the directory, with repeats and bad records, like `job` but with records from
memory; then the sink starts again with these tables. A longer run is not needed: Java loads missing classes from their
jars.
"""

import sys
import threading
import time
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from log_shipper.spark_sink.kafka import planned_source
from log_shipper.spark_sink.kafka.planning import Planner, PlanningLimits
from log_shipper.spark_sink.landing.batch_handler import BatchHandler
from log_shipper.spark_sink.landing.batch_writer import BatchResult, BatchWriter
from log_shipper.spark_sink.landing.startup import KafkaTopics, Startup
from log_shipper.spark_sink.landing.tasks import SparkTasks
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.platform.class_sharing import class_list, class_path_file
from log_shipper.spark_sink.platform.jvm import java_class
from log_shipper.spark_sink.platform.session import JAVA_OPTIONS, open_session
from log_shipper.spark_sink.platform.training_topic import BATCH, PARTITION, TOPIC, TrainingTopic
from log_shipper.spark_sink.storage.checkpoint import Checkpoint


def main(directory: Path) -> None:
    config = SinkConfig(
        kafka=KafkaSource(hosts=("not-asked:9092",), topics=(TOPIC,)),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
        spark={JAVA_OPTIONS: f"-Xshare:auto -XX:TieredStopAtLevel=1 -XX:DumpLoadedClassList={class_list(directory)}"},
    )
    spark = open_session(config)
    try:
        train(spark, config)
        class_path_file(directory).write_text(java_class(spark, "java.lang.System").getProperty("java.class.path"))
    finally:
        spark.stop()


def train(spark: SparkSession, config: SinkConfig) -> list[BatchResult]:
    """Land the records of the topic, then start again. Returns the results of the batches."""
    batches: list[BatchResult] = []
    writer = _start(spark, config)
    writer.begin_at({PARTITION: 0})
    checkpoint = Checkpoint(config.checkpoint.path)
    handler = BatchHandler(checkpoint, writer, threading.Event(), batches.append, TrainingTopic())
    new_planner = partial(Planner, config.kafka, PlanningLimits(BATCH), False, TrainingTopic(), {PARTITION: 0})
    stream = planned_source.stream(spark, new_planner).writeStream.foreachBatch(handler)
    query = stream.option("checkpointLocation", config.checkpoint.path).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    _start(spark, config)
    return batches


def _start(spark: SparkSession, config: SinkConfig) -> BatchWriter:
    kafka = KafkaTopics(TrainingTopic().ids([TOPIC]), {PARTITION: 0})
    checkpoint = Checkpoint(config.checkpoint.path)
    return (
        Startup(SparkTasks(spark), config, checkpoint, kafka, lambda: TrainingTopic, time.time, lambda _: None)
        .run()
        .writer
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
