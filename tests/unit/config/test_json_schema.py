"""What the loader takes, the schema for editors takes; and it marks the mistakes that a schema can detect."""

from pathlib import Path

import pytest
import yaml

from log_shipper.config.json_schema import schema
from log_shipper.config.yaml.schema import NamedItems, options
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS
from tests import json_schemas
from tests.config_lab import ConfigLab

FOLDER = Path(__file__).parent / "filebeat"
SCHEMA = schema(ShipperConfig, "shipper.yml")
WHOLE = """\
shipper.inputs:
  - {type: filestream, id: app, paths: [/var/log/app.log], fields.env: prod}
output.console.pretty: false
"""


def refusals(text: str) -> list[str]:
    return json_schemas.refusals(SCHEMA, yaml.safe_load(text))


@pytest.mark.parametrize(
    "more",
    [
        "",
        "logging.level: debug",
        "logging: {level: debug}",
        "queue: {mem.events: 10}",
        "queue.mem: {bytes: 10MiB, events: '${EVENTS:5}'}",
        "fields: {any: [thing, {at: all}]}",
        "fields.deep.er: 1",
        "setup.kibana.host: x",
        "setup: {kibana: {host: x}}",
        "processors: [{add_fields: {fields: {env: prod}, when.equals.a: 1}}]",
        "processors: [{add_fields.fields.env: prod}]",
        "processors: [{if: {not: {has_fields: [x]}}, then: [{drop_event: ~}], else: {drop_event: ~}}]",
        "path: ~",
        "processors: [{fingerprint: {fields: [message], target_field: id}}]",
    ],
)
def test_it_accepts_what_the_loader_accepts(more: str, lab: ConfigLab) -> None:
    lab.load(WHOLE + more)
    assert refusals(WHOLE + more) == []


@pytest.mark.parametrize(
    "more",
    [
        "loging.level: debug",
        "logging.level: shout",
        "logging: {level: debug, levle: info}",
        "queue.mem.events: many",
        "processors: [{add_feilds: {fields: {env: prod}}}]",
        "processors: [{add_fields: {feilds: {env: prod}}}]",
        "fields: 5",
    ],
)
def test_what_is_a_mistake_by_itself_it_marks(more: str, lab: ConfigLab) -> None:
    assert lab.problems(WHOLE + more)
    assert refusals(WHOLE + more)


@pytest.mark.parametrize("named", [PARSERS, PROCESSORS], ids=["parsers", "processors"])
def test_the_options_of_each_are_its_own(named: NamedItems) -> None:
    definitions = SCHEMA["$defs"]
    for model in named.models.values():
        described = definitions[model.__name__]["properties"]
        assert {key for option in options(model) for key in option.keys} <= described.keys(), model


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yml")), ids=lambda file: file.stem)
def test_it_takes_the_files_of_real_life(file: Path) -> None:
    assert refusals(file.read_text()) == []
