"""The Java packages, by Maven coordinate: with the Python pins of `pyproject.toml` the only place that names a version.

These were seen to work together. The connector is 4.0.0 beside pyspark 4.0.5: the newer ones name a token provider
that was not published completely. Spark's resolver leaves out `scala-library`, so the broker takes Spark's own (2.13).
"""

DELTA = "io.delta:delta-spark_2.13:4.0.1"
KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
BROKER = "org.apache.kafka:kafka_2.13:4.3.1"
# The broker's own log4j-core is 2.25.4, and it brings slf4j 1.7: the binding has to fit both.
BROKER_LOG_BINDING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"
BROKER_LOG = "org.apache.logging.log4j:log4j-core:2.25.4"

SPARK_PACKAGES = (DELTA, KAFKA_CONNECTOR)
BROKER_PACKAGES = (BROKER, BROKER_LOG_BINDING, BROKER_LOG)

OLDEST_JAVA = 17
# Named by the connector, but Spark has them on its class path already, and they are 50 MB.
SPARK_EXCLUDES = ("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime")
