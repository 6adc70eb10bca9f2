"""The exceptions of calls into Spark. Not in `errors`, because commands without Spark must not import PySpark."""

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException

# PySparkException for errors that PySpark translates, Py4JError for all others.
SPARK_ERRORS = (PySparkException, Py4JError)
