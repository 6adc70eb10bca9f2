"""Whole configurations as people write them for Filebeat, and the messages about each.

Those in `wrong` have mistakes. The messages about a line are in its comment: `#! words` for a mistake, `#? words` for a
warning, `#~ words` for an ignored option; several are separated by bars. There are no other messages, and a file with a
mistake is rejected.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.codec import CodecConfig, JsonCodec
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.model import ShipperConfig, SslConfig
from log_shipper.shipper.outputs.console import ConsoleOutputConfig

FOLDER = Path(__file__).parent / "filebeat"
FILES = sorted([*FOLDER.glob("*.yml"), *FOLDER.glob("wrong/*.yml")])
ENV = {
    "KAFKA_HOSTS": "k1:9093,k2:9093",
    "KAFKA_USER": "u",
    "KAFKA_PASSWORD": "p: #x",
    "NODE_NAME": "n1",
}
Messages = dict[int, list[str]]  # by line


def expected(file: Path, mark: str) -> Messages:
    lines = (re.split(r"  #(?=[!?~] )", line)[1:] for line in file.read_text().splitlines())
    marked = (next((part[2:] for part in parts if part[0] == mark), "") for parts in lines)
    return {number: words.split(" | ") for number, words in enumerate(marked, start=1) if words}


def read(name: str) -> ShipperConfig:
    return load(FOLDER / f"{name}.yml", ShipperConfig, env=ENV)


def messages_of(file: Path) -> tuple[Messages, Messages, Messages]:
    """Mistakes, warnings and notes."""
    mistakes, warnings, notes = defaultdict(list), defaultdict(list), defaultdict(list)
    reported: list[str] = []
    try:
        config = load(file, ShipperConfig, env=ENV)
        reported = list(config.warnings)
        for note in config.notes:
            notes[int(re.findall(r":(\d+)\)", note)[0])].append(note)
    except ConfigError as error:
        for problem in error.problems:
            mistakes[problem.line].append(problem.message)
        reported = [line.removeprefix("warning: ") for line in str(error).splitlines() if line.startswith("warning: ")]
    for warning in reported:
        warnings[int(re.findall(r":(\d+): ", warning)[0])].append(warning)
    return dict(mistakes), dict(warnings), dict(notes)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_its_messages_are_those_beside_its_lines(file: Path) -> None:
    marked = (expected(file, mark) for mark in "!?~")
    for messages, wanted in zip(messages_of(file), marked, strict=True):
        assert messages.keys() == wanted.keys()
        for line, words in wanted.items():
            assert len(messages[line]) == len(words), (line, messages[line])
            assert all(part in message for part, message in zip(words, messages[line], strict=True)), (
                line,
                messages[line],
            )


def test_the_output_of_one_is_read_as_it_is_meant() -> None:
    kafka = read("secured_kafka").output.chosen
    assert isinstance(kafka, KafkaOutputConfig)
    assert (kafka.hosts, kafka.topic) == (("k1:9093", "k2:9093"), "prod-audit")
    assert (kafka.username, kafka.password, kafka.sasl.mechanism) == ("u", Secret("p: #x"), "SCRAM-SHA-512")
    assert (kafka.ssl.enabled, kafka.ssl.verification_mode, kafka.ssl.key_passphrase) == (True, "certificate", None)


def test_tls_is_on_where_the_section_says_anything() -> None:
    assert SslConfig(certificate_authorities=("a",)).converted().enabled
    assert not SslConfig().converted().enabled
    assert SslConfig(enabled=False, certificate_authorities=("a",)).converted().enabled is False


def test_paths_refer_to_other_options() -> None:
    assert read("java_service").registry.path == "/var/lib/filebeat/registry"


def test_inputs_of_files_of_their_own_are_read() -> None:
    config = read("config_inputs")
    assert [(each.id, each.enabled) for each in config.inputs[:1]] == [("web", True)]
    assert [each.enabled for each in config.inputs] == [True, False]
    assert config.config_inputs.path == f"{FOLDER}/inputs.d/*.yml"
    assert (config.config_inputs.reloads, config.config_inputs.reload.period) == (True, 30.0)
    assert config.output.chosen == ConsoleOutputConfig(codec=CodecConfig(json=JsonCodec(pretty=True)))


def test_its_options_of_logs_are_applied() -> None:
    assert read("secured_kafka").logging.format == "json"
    assert read("java_service").logging.metrics.period == 60.0
