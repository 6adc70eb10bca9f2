"""Delta's jar, which only views need: the release for the installed Spark, and how Spark gets it.

It is downloaded once, into the cache. A jar in the user's settings takes precedence; with `spark-submit`, whose JVM is
already running, the jar must be on its command line.

    python -m log_shipper.spark_sink.platform.delta_jar     downloads it, for example to copy it to an offline host
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.jars import JarSet, JarsMissing, fetched
from log_shipper.spark_sink.platform.java import JavaRuntime
from log_shipper.spark_sink.platform.jvm import java_class

# Spark's minor version -> Maven coordinate of the tested Delta release.
RELEASES = {
    "4.0": "io.delta:delta-spark_2.13:4.0.1",
    "4.1": "io.delta:delta-spark_4.1_2.13:4.1.0",
    "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
}
# Dependencies of Delta that Spark already has, sometimes in another version: 90 MB.
OF_SPARK = (
    "com.fasterxml.jackson.core:*",
    "com.fasterxml.jackson.datatype:*",
    "com.github.luben:*",
    "com.google.code.findbugs:*",
    "commons-logging:*",
    "commons-pool:*",
    "io.airlift:*",
    "javax.annotation:*",
    "org.antlr:*",
    "org.apache.hadoop:*",
    "org.apache.logging.log4j:*",
    "org.apache.parquet:*",
    "org.locationtech.jts:*",
    "org.roaringbitmap:*",
    "org.slf4j:*",
    "org.xerial.snappy:*",
)
EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
# Spark's launcher appends the jars in this variable to Spark's own. Jars in `spark.jars` would be copied at each start,
# which takes seconds, and `spark.driver.extraClassPath` comes first on the class path: then no class archive fits.
BEHIND_SPARK = "SPARK_DIST_CLASSPATH"


def package(spark: str = pyspark.__version__) -> str:
    """Return the coordinate for this version of Spark. Raises JarsMissing for an unsupported one."""
    minor = ".".join(spark.split(".")[:2])
    if minor not in RELEASES:
        raise JarsMissing(
            f"views need Delta's jar, and none is known for Spark {minor}. Install another pyspark "
            f"({', '.join(RELEASES)}), or set a suitable package in spark: jars.packages"
        )
    return RELEASES[minor]


def is_named(given: Mapping[str, str]) -> bool:
    """Return True if the user's settings name a jar of Delta."""
    names = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
    return any("delta-spark" in given.get(name, "") for name in names)


def jar_set(cache: Path | None = None, spark: str = pyspark.__version__) -> JarSet:
    """Return the jar with its dependencies. Raises JarsMissing if no release fits."""
    coordinate = package(spark)
    directory = (cache or cache_directory()) / "delta" / "-".join(coordinate.split(":")[1:])
    return JarSet(directory, (coordinate,), OF_SPARK)


def environment(java: JavaRuntime) -> dict[str, str]:
    """Return the variable that gives a new JVM the jar; download the jar if it is missing. Raises JarsMissing."""
    jars = jar_set()
    jars.fetch(java)
    paths = (os.environ.get(BEHIND_SPARK, ""), *map(str, jars.jars()))
    return {BEHIND_SPARK: os.pathsep.join(filter(None, paths))}


def check(spark: SparkSession, extension: str = EXTENSION) -> None:
    """Raise SinkError if Spark lacks the jar, tested by one of its classes."""
    try:
        java_class(spark, extension)()
    except TypeError as error:  # Py4J takes an unknown class for a package, which cannot be called
        raise SinkError(
            f"views need Delta's jar, and Spark does not have it: add --packages {package(spark.version)} "
            "(docs/guides/cluster.md)"
        ) from error


if __name__ == "__main__":
    raise SystemExit(fetched(jar_set))
