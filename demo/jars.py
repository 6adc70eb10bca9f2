"""The jars of the Kafka broker of the demo, the benchmarks and the tests; the product needs none.

python -m demo.jars         downloads missing jars, as script/bootstrap does; exits with 1 on failure
"""

import os
from pathlib import Path

from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.jars import JarSet, JarsMissing, fetched
from log_shipper.spark_sink.platform.jvm import spark_home

BROKER = "org.apache.kafka:kafka_2.13:4.3.1"
# The broker uses log4j-core 2.25.4 and slf4j 1.7: the binding must match both.
LOG_BINDING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"
LOG = "org.apache.logging.log4j:log4j-core:2.25.4"
PACKAGES = (BROKER, LOG_BINDING, LOG)


def broker_set(cache: Path | None = None) -> JarSet:
    return JarSet((cache or cache_directory()) / "broker", PACKAGES)


def broker_class_path(cache: Path | None = None) -> str:
    """Return the broker's class path. Raises JarsMissing.

    Spark's resolver leaves out `scala-library`, so the broker uses Spark's own copy (2.13).
    """
    jars = broker_set(cache).jars()
    if not jars:
        raise JarsMissing("the jars of the Kafka broker are missing in the cache. Run script/bootstrap.")
    return os.pathsep.join(map(str, (*jars, *sorted((spark_home() / "jars").glob("scala-library-*.jar")))))


if __name__ == "__main__":
    raise SystemExit(fetched(broker_set))
