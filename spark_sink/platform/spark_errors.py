"""What a call into Spark raises. Apart from `errors`, because commands without Spark do not import it."""

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException

# The first for errors that PySpark knows, the second for all others.
SPARK_ERRORS = (PySparkException, Py4JError)
