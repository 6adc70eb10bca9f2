"""The configurations and the entry point of the container images; tests/e2e/test_image.py and test_sink_image.py run
them."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from demo.process import SHIPPER_PROGRAM
from log_shipper.config.text.secrets import Secret
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.spark_sink.options.model import SinkConfig

CONTAINER = Path(__file__).parents[3] / "deploy" / "container"
MINIMAL_SINK = {
    "KAFKA_HOSTS": "kafka-1:9092,kafka-2:9092",
    "KAFKA_TOPICS": "logs,audit",
    "TABLE_PATH": "s3://lake/logs",
}
MINIMAL = {"KAFKA_HOSTS": "kafka-1:9092,kafka-2:9092", "KAFKA_TOPIC": "logs"}


def configured(**environ: str) -> ShipperConfig:
    return load(CONTAINER / "shipper.yml", ShipperConfig, env=MINIMAL | environ)


def kafka(config: ShipperConfig) -> Any:
    assert config.output.kafka is not None
    return config.output.kafka


def test_two_variables_are_enough() -> None:
    config = configured()
    assert (kafka(config).hosts, kafka(config).topic) == (("kafka-1:9092", "kafka-2:9092"), "logs")
    assert kafka(config).ssl.enabled is None
    assert config.path.data == "/var/lib/shipper"
    assert (config.warnings, config.notes) == ((), ())
    (files,) = config.file_inputs
    assert (files.paths, files.read_until_eof.enabled) == (("/logs/*.log*",), True)


def test_a_variable_that_is_missing_is_named_with_what_to_set() -> None:
    with pytest.raises(ConfigError) as refused:
        load(CONTAINER / "shipper.yml", ShipperConfig, env={})
    message = str(refused.value)
    assert "variable KAFKA_HOSTS is not set: set it to the brokers" in message
    assert "variable KAFKA_TOPIC is not set: set it to the topic" in message
    assert len(message.splitlines()) == 2


def test_tls_and_sasl_come_from_the_environment() -> None:
    secure = kafka(
        configured(
            KAFKA_TLS="true",
            KAFKA_CA="/tls/ca.crt",
            KAFKA_CERTIFICATE="/tls/tls.crt",
            KAFKA_KEY="/tls/tls.key",
            KAFKA_SASL_MECHANISM="SCRAM-SHA-512",
            KAFKA_USERNAME="logs",
            KAFKA_PASSWORD="secret",
        )
    )
    assert (secure.ssl.enabled, secure.ssl.certificate_authorities) == (True, ("/tls/ca.crt",))
    assert (secure.ssl.certificate, secure.ssl.key) == ("/tls/tls.crt", Secret("/tls/tls.key"))
    assert (secure.sasl.mechanism, secure.username, secure.password) == ("SCRAM-SHA-512", "logs", Secret("secret"))


def test_three_variables_are_enough_for_the_sink() -> None:
    config = load(CONTAINER / "sink.yml", SinkConfig, env=MINIMAL_SINK)
    assert (config.kafka.hosts, config.kafka.topics) == (("kafka-1:9092", "kafka-2:9092"), ("logs", "audit"))
    assert (config.table.path, config.checkpoint.path) == ("s3://lake/logs", "/var/lib/spark-sink/checkpoint")
    assert (config.kafka.ssl.enabled, config.http.enabled, config.warnings, config.notes) == (None, True, (), ())


def test_a_variable_of_the_sink_that_is_missing_is_named_with_what_to_set() -> None:
    with pytest.raises(ConfigError) as refused:
        load(CONTAINER / "sink.yml", SinkConfig, env={})
    assert re.findall(r"variable (\w+) is not set: set it to", str(refused.value)) == list(MINIMAL_SINK)


def test_shipper_and_sink_reach_kafka_by_the_same_variables() -> None:
    def variables(name: str) -> set[str]:
        return set(re.findall(r"\$\{(KAFKA_\w+):", (CONTAINER / name).read_text()))

    assert variables("shipper.yml") - variables("sink.yml") == {"KAFKA_TOPIC", "KAFKA_COMPRESSION"}
    assert variables("sink.yml") - variables("shipper.yml") == {"KAFKA_TOPICS"}


def test_paths_and_limits_come_from_the_environment() -> None:
    config = configured(
        SHIPPER_PATHS="/a/*.log,/b/*.log",
        SHIPPER_TAGS="web,blue",
        SHIPPER_SHUTDOWN_TIMEOUT="45s",
        SHIPPER_READ_UNTIL_EOF="false",
        SHIPPER_DATA="/state",
        SHIPPER_QUEUE_BYTES="1MiB",
    )
    (files,) = config.file_inputs
    assert (files.paths, files.read_until_eof.enabled) == (("/a/*.log", "/b/*.log"), False)
    assert (config.tags, config.shutdown_timeout, config.path.data) == (("web", "blue"), 45.0, "/state")
    assert config.queue.mem.bytes == 1024**2


@pytest.mark.parametrize(
    ("environ", "fields"),
    [
        (
            {"POD_NAME": "web-1", "POD_NAMESPACE": "shop"},
            '"kubernetes":{"namespace":"shop","node":{"name":""},"pod":{"name":"web-1"',
        ),
        ({"NODE_NAME": "node-1"}, '"length":1}}\n'),
    ],
)
def test_events_have_the_fields_of_their_pod_where_the_manifest_gives_them(
    environ: dict[str, str], fields: str
) -> None:
    command = [*SHIPPER_PROGRAM, "test", "pipeline", "-c", str(CONTAINER / "shipper.yml")]
    done = subprocess.run(
        command,
        cwd=CONTAINER.parents[1],
        env=os.environ | MINIMAL | environ,
        input="x",
        capture_output=True,
        text=True,
        check=True,
    )
    assert fields in done.stdout


@pytest.mark.parametrize(
    ("command", "started"), [("filebeat -e", "-e"), ("shipper run", "run"), ("-e", "-e"), ("", "")]
)
def test_a_command_line_starts_with_or_without_the_name_of_the_program(
    command: str, started: str, tmp_path: Path
) -> None:
    program = tmp_path / "shipper"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    environ = os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        [CONTAINER / "entrypoint.sh", *command.split()], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == started
