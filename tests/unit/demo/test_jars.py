import os
from pathlib import Path

import pytest

from demo.jars import broker_class_path, broker_set
from log_shipper.spark_sink.platform.jars import JarsMissing


def test_the_class_path_of_the_broker_has_its_jars_and_the_scala_library_of_spark(tmp_path: Path) -> None:
    wanted = broker_set(tmp_path)
    (wanted.directory / "jars").mkdir(parents=True)
    (wanted.directory / "jars" / "org.apache.kafka_kafka_2.13-4.jar").touch()
    (wanted.directory / "complete").write_text("\n".join(wanted.packages) + "\n")
    first, scala = broker_class_path(tmp_path).split(os.pathsep)
    assert first.endswith("broker/jars/org.apache.kafka_kafka_2.13-4.jar")
    assert Path(scala).name.startswith("scala-library-2.13")


def test_without_the_jars_of_the_broker_the_error_names_the_command_that_fetches_them(tmp_path: Path) -> None:
    with pytest.raises(JarsMissing, match=r"Run script/bootstrap\."):
        broker_class_path(tmp_path)
