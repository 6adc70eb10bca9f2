"""The Delta table, queried with Spark SQL in one session."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import SparkSession

from demo.compare import Arrived
from demo.site import Site
from log_shipper.config.sink.model import SinkConfig
from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.platform.session import open_session

MESSAGES = """
SELECT CAST(get_json_object(doc, '$.log.file.device_id') AS BIGINT) AS device,
       CAST(get_json_object(doc, '$.log.file.inode') AS BIGINT) AS inode,
       offset, length, message, partition, kafka_offset
FROM lines
"""

ROWS = """
SELECT date_format(ts, 'HH:mm:ss.SSS') AS ts, split_part(path, '/', -1) AS file, offset,
       element_at(flags, 1) AS flag, replace(message, '\\n', ' ⏎ ') AS message
FROM (SELECT *, row_number() OVER (PARTITION BY split_part(path, '/', -1), flags IS NULL
                                   ORDER BY NOT message RLIKE 'Exception| ERROR ', offset) AS place
      FROM lines)
WHERE place = 1 ORDER BY file, flag
"""

AGGREGATE = """
SELECT split_part(path, '/', -1) AS file, count(*) AS messages,
       sum(size(split(message, '\\n'))) AS lines,
       count_if(array_contains(flags, 'multiline')) AS multiline,
       count_if(message RLIKE ' ERROR ') AS errors,
       max(get_json_object(fields, '$.service')) AS service,
       round(percentile(unix_micros(kafka_ts) - unix_micros(ts), 0.5) / 1000, 1) AS ms_read_to_sent
FROM lines GROUP BY 1 ORDER BY messages DESC
"""


class TableReader:
    """A session of its own on the table. Blocks for some seconds while the JVM starts; `close` ends it."""

    def __init__(self, site: Site) -> None:
        os.environ.update(site.environment())
        self._path: Path = site.table
        config = load(site.sink_config, SinkConfig)
        handler = signal.getsignal(signal.SIGINT)
        with _stderr_to(site.log_of("table")):
            self._spark: SparkSession = open_session(config)
        signal.signal(signal.SIGINT, handler)  # Spark has set one of its own, which calls the JVM first

    def query(self, text: str) -> list[Any]:
        """Return the rows of a query in Spark SQL, in which the table is named `lines`."""
        self._spark.read.format("delta").load(str(self._path)).createOrReplaceTempView("lines")
        return self._spark.sql(text).collect()

    def messages(self, upto: dict[int, int]) -> list[Arrived]:
        """Return each row from before these offsets of the topic."""
        rows = self.query(MESSAGES)
        return [
            Arrived((row.device, row.inode), row.offset, row.length, row.message)
            for row in rows
            if row.kafka_offset < upto.get(row.partition, 0)
        ]

    def rows(self) -> list[Any]:
        """Return for each file one message of one line and one of several, an error if possible."""
        return self.query(ROWS)

    def aggregate(self) -> list[Any]:
        return self.query(AGGREGATE)

    def close(self) -> None:
        with suppress(Py4JError, OSError):  # Ctrl-C in the middle of a query may have ended the JVM already
            self._spark.stop()


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Redirect the stderr of processes that are started inside to `log`: a JVM prints much of no interest here."""
    saved = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
