"""The Spark session of a command, from its start to its end."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import translate
from log_shipper.spark_sink.logs import is_text
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform import delta_jar, executors
from log_shipper.spark_sink.platform.session import close_session, open_session
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS


@contextmanager
def sink_session(config: SinkConfig) -> Iterator[SparkSession]:
    """Start a session for the sink, and stop it at the end. Blocks some seconds while the JVM starts.

    Raises NoJava, and SinkError if Spark does not start, lacks Delta's jar for views, or has executors with another
    Python than the driver.
    """
    try:
        spark = open_session(config, is_text(config.logging))
    except SPARK_ERRORS as error:
        raise translate(str(error), "starting Spark") from error
    try:
        if config.views:
            delta_jar.check(spark)
        executors.check(spark)
        yield spark
    finally:
        close_session(spark)
