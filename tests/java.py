"""How tests start Java, and what they ask of it."""

import pyspark
import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.platform.delta_jar import RELEASES
from log_shipper.spark_sink.platform.jvm import java_class

# For tests with Spark's own reader and writer of Delta tables: views, and what other programs make of ours.
HAS_DELTA = ".".join(pyspark.__version__.split(".")[:2]) in RELEASES
needs_delta = pytest.mark.skipif(not HAS_DELTA, reason=f"there is no Delta for Spark {pyspark.__version__}")

# The first compiler alone: hardly any code of a test is run often enough for the second, which takes half of the CPU.
# Java gives it a cache of 48 MiB for compiled code. The queries of some hundred tests fill that, and Spark ends a JVM
# that has no room left in it; so it gets what both compilers have together.
FIRST_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
# For a process that lives for seconds, with a small heap.
QUICK = {"JAVA_TOOL_OPTIONS": f"{FIRST_COMPILER} -XX:+UseSerialGC"}


def forget_logs(spark: SparkSession) -> None:
    """Make Delta read every log again, as a new process does. It keeps each in memory for an hour, some 10 MB."""
    java_class(spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()
