from pathlib import Path
from typing import Any

import pytest
import yaml

from log_shipper.config.export import export
from log_shipper.config.text.secrets import MASK, masked
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.model import ShipperConfig
from tests.config_lab import ConfigLab, Load


@pytest.fixture
def exported(tmp_path: Path) -> Load[Any]:
    def exported(text: str, *overrides: str, **env: str) -> Any:
        file = tmp_path / "shipper.yml"
        file.write_text(text)
        return yaml.safe_load(export([file], ShipperConfig, overrides, env))

    return exported


def test_dotted_and_nested_keys_overrides_and_variables_are_one_in_it(exported: Load[Any]) -> None:
    text = "output.kafka.hosts: ['${HOST}:9092']\noutput: {kafka: {topic: logs}}"
    assert exported(text, "output.kafka.topic=other", HOST="k1") == {
        "output": {"kafka": {"hosts": ["k1:9092"], "topic": "other"}}
    }


def test_what_it_prints_loads_to_the_same(exported: Load[Any], lab: ConfigLab) -> None:
    text = lab.whole + "queue.mem.events: '${N:17}'\ntags: [a, '007']\nfields: {on: yes, at: 2026-01-01, n: 1.50}\n"
    once = lab.load(text)
    assert lab.load(export([lab.file], ShipperConfig, (), {})) == once


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("output.kafka.password", "hunter2", MASK),
        ("output.kafka.ssl.key_passphrase", "x", MASK),
        ("output.kafka.ssl.key", "-----BEGIN RSA PRIVATE KEY-----\nx", MASK),
        ("output.kafka.ssl.key", "/etc/key.pem", "/etc/key.pem"),
        ("output.kafka.librdkafka.sasl.jaas.config", "x", MASK),
        ("fields.api_key", "x", MASK),
        ("monitoring.elasticsearch.hosts", "https://me:hunter2@es:9200", f"https://me:{MASK}@es:9200"),
        ("output.kafka.password", "", ""),
        ("fields.monkey", "x", "x"),
        ("output.kafka.key", "%{[x]}", "%{[x]}"),
        ("processors.dissect.tokenizer", "%{x}", "%{x}"),
        ("output.kafka.client_id", "x", "x"),
    ],
)
def test_secrets_are_masked_and_nothing_else(name: str, value: str, shown: str) -> None:
    assert masked({name: value}) == {name: shown}


def test_secrets_in_lists_are_masked() -> None:
    assert masked({"x": [{"password": "a"}], "tokens": {"token": ["a", "b"]}}) == {
        "x": [{"password": MASK}],
        "tokens": {"token": [MASK, MASK]},
    }


def test_a_variable_that_is_not_set_is_reported(exported: Load[Any]) -> None:
    with pytest.raises(ConfigError, match="variable HOST is not set"):
        exported("name: ${HOST}")


def test_variables_that_are_known_later_stay_as_they_are(exported: Load[Any], lab: ConfigLab) -> None:
    template = "{config: [{type: log, paths: ['/x/${data.container.id}/${data.kubernetes.labels.app:${NONE:-}}.log']}]}"
    text = f"filebeat.autodiscover.providers: [{{type: docker, templates: [{template}]}}]"
    (provider,) = exported(text)["filebeat"]["autodiscover"]["providers"]
    paths = ["/x/${data.container.id}/${data.kubernetes.labels.app:-}.log"]
    assert provider["templates"][0]["config"][0]["paths"] == paths
    lab.load(f"{text}\noutput.console: {{}}\n")
    (again,) = lab.load(export([lab.file], ShipperConfig, (), {})).autodiscover.providers
    assert len(again.templates) == 1
