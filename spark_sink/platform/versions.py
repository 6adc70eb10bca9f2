"""The sink's Java packages, by Maven coordinate. Python packages are pinned in `pyproject.toml`, the broker of the demo
and the tests in `demo/jars.py`; no other place names a version.

These versions were tested together. The connector is 4.0.0 beside pyspark 4.0.5: the newer ones depend on a token
provider that was not published completely.
"""

DELTA = "io.delta:delta-spark_2.13:4.0.1"
KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"

SPARK_PACKAGES = (DELTA, KAFKA_CONNECTOR)

OLDEST_JAVA = 17
# Dependencies of the connector that Spark has on its class path already: 50 MB.
SPARK_EXCLUDES = ("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime")
