import pytest

from log_shipper.config.text.checks import addresses, not_blank, without_blanks
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from tests.config_lab import ConfigLab, narrowed


def test_a_name_that_is_empty_or_holds_a_nul_is_refused() -> None:
    assert list(not_blank("a b")) == []
    assert list(not_blank(" \t")) == [("", "is empty")]
    assert list(not_blank("a\0b")) == [("", r"'a\x00b' contains a NUL character")]


def test_of_several_names_each_that_is_wrong_is_named() -> None:
    assert list(without_blanks(())) == [("", "must not be empty")]
    assert list(without_blanks(("a", "", "\0"))) == [("[1]", "is empty"), ("[2]", r"'\x00' contains a NUL character")]


@pytest.mark.parametrize(
    ("option", "path"),
    [
        (r'shipper.inputs.0.paths=["/a\0b"]', ".paths[0]"),
        (r'shipper.inputs.0.file_identity.inode_marker.path="\0"', ".file_identity.inode_marker.path"),
        (r'path.data="a\0b"', "path.data"),
    ],
)
def test_a_path_that_no_system_knows_is_a_mistake(lab: ConfigLab, option: str, path: str) -> None:
    assert any(f"{path}: " in problem and "contains a NUL" in problem for problem in lab.problems_with("", [option]))


SCHEME = "must be host:port; remove {}://, and set TLS in the section ssl"
BLANK = "must be one host:port, without blanks and commas"
BRACKETS = "is an IPv6 address without brackets; write it as in [::1]:9092"
PORT = "must be host:port, with a port from 1 to 65535"


@pytest.mark.parametrize(
    ("host", "fault"),
    [
        ("http://x:1", SCHEME.format("http")),
        ("PLAINTEXT://a:1", SCHEME.format("PLAINTEXT")),
        ("a b", BLANK),
        ("a\t", BLANK),
        ("a:1,b:2", BLANK),
        ("::1", BRACKETS),
        ("::1:9092", BRACKETS),
        ("2001:db8:0:0:0:0:0:1:9092", BRACKETS),
        ("a:b", PORT),
        (":9092", PORT),
        ("a:65536", PORT),
    ],
)
def test_what_is_no_address_is_named(host: str, fault: str) -> None:
    assert list(addresses(("a", host))) == [("[1]", f"{host!r} {fault}")]


def test_addresses_have_a_name_or_an_address_and_perhaps_a_port() -> None:
    assert list(addresses(("kafka", "kafka_1.example:9092", "192.0.2.1:1", "[::1]:9092", "[fe80::1%eth0]:9092"))) == []


@pytest.mark.parametrize("written", ["'a:1,b:2'", "[a:1, b:2]", "['a:1, b:2']"])
def test_brokers_may_be_one_text_with_commas(lab: ConfigLab, written: str) -> None:
    inputs = "shipper.inputs: [{type: filestream, id: a, paths: [/a.log]}]\n"
    config = lab.load(f"{inputs}output.kafka: {{hosts: {written}, topic: x}}\n")
    assert narrowed(KafkaOutputConfig, config.output.chosen).hosts == ("a:1", "b:2")
