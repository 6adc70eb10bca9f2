"""Parses the SQL of views with Spark's parser, without a session or table, for `spark-sink test config`."""

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types

from log_shipper.config.yaml.report import Examination
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.java import NoJava
from log_shipper.spark_sink.platform.session import packages_of_java
from log_shipper.spark_sink.views.query import explain, text_of


def examine(config: SinkConfig) -> Examination:
    """Parse the SQL of each view. Starts a JVM: a second or two."""
    try:
        with packages_of_java(config) as java:
            return Examination(problems=tuple(_problems(config, java.org.apache.spark.sql.execution.SparkSqlParser())))
    except NoJava as error:
        return Examination(warnings=(("views", f"SQL not checked: {error}"),))


def _problems(config: SinkConfig, parser: Any) -> Iterator[tuple[str, str]]:
    for index, view in enumerate(config.views):
        text = text_of(view)
        try:
            parser.parseQuery(text)
        except Py4JJavaError as error:
            yield f"views[{index}].sql", explain(str(error.java_exception.getMessage()), text)
