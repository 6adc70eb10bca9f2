"""deploy/compose.yml: what Compose accepts, and that its parts fit together."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.jars import BROKER
from deploy.container.contents import HERE, IMAGES
from log_shipper import VERSION
from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.outputs.kafka import kafka_of
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.stores import NAMES
from tests.json_schemas import refusals

DEPLOY = Path(__file__).parents[3] / "deploy"
SCHEMA = Path(os.environ.get("SHIPPER_CACHE", DEPLOY.parent / ".cache")) / "tools" / "compose-spec.json"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yml").read_text()))


@pytest.mark.skipif(not SCHEMA.exists(), reason="no schema of Compose: run script/tools")
def test_compose_accepts_the_file(compose: dict[str, Any]) -> None:
    schema = json.loads(SCHEMA.read_text())
    assert refusals(schema, compose) == []
    compose["services"]["sink"]["volume"] = []
    assert "'volume' was unexpected" in "".join(refusals(schema, compose))


def test_the_programs_accept_their_environment(compose: dict[str, Any]) -> None:
    services = compose["services"]
    agent = load(HERE / "shipper.yml", ShipperConfig, env=services["shipper"]["environment"])
    sink = load(HERE / "sink.yml", SinkConfig, env=services["sink"]["environment"])
    assert (agent.warnings, agent.notes, sink.warnings, sink.notes) == ((), (), (), ())
    output = kafka_of(agent)
    assert output is not None
    assert output.hosts == sink.kafka.hosts == ("kafka:9092",)
    assert sink.kafka.topics == (output.topic,)
    assert "PLAINTEXT://kafka:9092" in services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


def test_the_sink_reaches_the_bucket_that_minio_has(compose: dict[str, Any]) -> None:
    store, environ = compose["services"]["minio"], compose["services"]["sink"]["environment"]
    options = {name.lower() for name in environ if name.startswith("AWS_")}
    assert options <= set(NAMES["s3"])
    assert environ["AWS_ENDPOINT"] == "http://minio:9000"
    bucket = environ["TABLE_PATH"].removeprefix("s3://").partition("/")[0]
    assert f"mkdir -p /data/{bucket} " in store["entrypoint"][-1]
    keys = (environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"])
    assert keys == tuple(store["environment"].values())


@pytest.mark.parametrize("name", IMAGES)
def test_the_images_are_those_of_the_containerfile_and_write_to_volumes(name: str, compose: dict[str, Any]) -> None:
    service, image = compose["services"][name], IMAGES[name]
    assert service["image"] == f"{image.name}:{VERSION}"
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == HERE / "Containerfile"
    assert f" AS {service['build']['target']}\n" in (HERE / "Containerfile").read_text()
    volumes = dict(volume.partition(":")[::2] for volume in service["volumes"] if not volume.endswith(":ro"))
    assert volumes.keys() <= compose["volumes"].keys()
    assert volumes == {name: image.package.state}


def test_the_broker_is_the_one_of_the_tests(compose: dict[str, Any]) -> None:
    assert compose["services"]["kafka"]["image"].partition(":")[2] == BROKER.rpartition(":")[2]
