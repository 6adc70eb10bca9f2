"""`spark-sink repair`: lands records that are missing from the tables. Run it while `run` is stopped.

`--reason TEXT` parses dead letters whose reason contains the text again, with the current configuration
(`repair_dead_letter`). `--from-kafka` reads all landed offsets that Kafka still has again, and lands the records that
no table has (`repair_from_kafka`): after a RESTORE, or after too many rows were deleted.

Both land records like `run`, so no line lands twice: rows are identified by their place in Kafka, lines by host, file
id and offset. After a kill, run the command again.
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
        # Records that Kafka deletes during the command are lost in any case, and must not abort it.
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
