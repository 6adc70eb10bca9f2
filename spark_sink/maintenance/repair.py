"""`spark-sink repair`: lands records that should be in the tables and are not. Run it while `run` is stopped.

`--reason TEXT` parses the records of the dead letter whose reason contains the text again, by the current
configuration (`repair_dead_letter`). `--from-kafka` reads again all offsets that count as landed and that Kafka still
has, and lands the records that no table has (`repair_from_kafka`): after a RESTORE, or when too much was deleted.

Both use the landing of `run`, so no line lands a second time: rows are identified by their place in Kafka, and lines by
host, file id and offset. A command that was killed is run again.

A place in Kafka is topic, partition, offset, and Kafka's time: a topic that was re-created has the same offsets again.
"""

import logging
import time

from log_shipper.spark_sink.errors import translate
from log_shipper.spark_sink.kafka import client
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.kafka_reader import OpenReader
from log_shipper.spark_sink.landing.startup import open_writer
from log_shipper.spark_sink.landing.tasks import LocalTasks, SparkTasks, Tasks
from log_shipper.spark_sink.maintenance.repair_dead_letter import DeadLetterRepair
from log_shipper.spark_sink.maintenance.repair_from_kafka import KafkaRepair
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.spark_session import sink_session

logger = logging.getLogger(__name__)


def run(config: SinkConfig, reason: str | None, from_kafka: bool, dry_run: bool) -> int:
    """Run the command and return its exit code. Raises SinkError."""
    options = client.latest(config.kafka)

    def new_writer(tasks: Tasks) -> BatchWriter:
        # Records that Kafka deletes while the command runs are lost either way, and must not end it.
        return open_writer(tasks, config, lambda: OpenReader(options(), may_lose=True), time.time, logger.info)

    if not from_kafka:
        DeadLetterRepair(new_writer(LocalTasks()), dry_run).land(reason or "")
        return 0
    try:
        with sink_session(config) as spark, Admin(options) as admin:
            KafkaRepair(config, new_writer(SparkTasks(spark)), dry_run).land(admin)
    except SPARK_ERRORS as error:
        raise translate(str(error), f"repairing {config.table.path}") from error
    return 0
