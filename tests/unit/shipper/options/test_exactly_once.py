"""`output.kafka.delivery: exactly_once`, its options, and what it cannot be combined with."""

import pytest

from log_shipper.shipper.options.kafka import KafkaOutputConfig, TransactionConfig
from tests.config_lab import ConfigLab

KAFKA = "output.kafka: {hosts: h, topic: t, delivery: exactly_once%s}\n"
INPUT = "shipper.inputs: [{id: a, paths: [x]%s}]\n"


def test_the_default_is_at_least_once(lab: ConfigLab) -> None:
    output = lab.load(INPUT % "" + "output.kafka: {hosts: h, topic: t}\n").output.chosen
    assert isinstance(output, KafkaOutputConfig)
    assert (output.delivery, output.transaction) == ("at_least_once", None)


def test_a_transaction_has_an_id_a_topic_and_an_interval(lab: ConfigLab) -> None:
    text = KAFKA % ", transaction: {id: web-1, topic: positions, interval: 250ms}"
    output = lab.load(INPUT % "" + text).output.chosen
    assert isinstance(output, KafkaOutputConfig)
    assert output.transaction == TransactionConfig(id="web-1", topic="positions", interval=0.25)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (", transaction.id: a b", "transaction.id: 'a b' must be 1 to 200 ASCII characters without blanks"),
        (", transaction.topic: a/b", "transaction.topic: 'a/b' is not a valid topic name"),
        (", transaction.interval: 0s", "transaction.interval: "),
        (
            ", transaction.interval: 2s, librdkafka: {transaction.timeout.ms: 3000}",
            "librdkafka.transaction.timeout.ms: 3000 must be at least 4000, twice transaction.interval",
        ),
    ],
)
def test_a_mistake_is_named(lab: ConfigLab, text: str, problem: str) -> None:
    (found,) = lab.problems(INPUT % "" + KAFKA % text)
    assert problem in found


def test_a_transaction_needs_exactly_once(lab: ConfigLab) -> None:
    (found,) = lab.problems(INPUT % "" + "output.kafka: {hosts: h, topic: t, transaction.id: a}\n")
    assert found.endswith("output.kafka.transaction: needs delivery: exactly_once; set it, or remove transaction")


@pytest.mark.parametrize(
    ("inputs", "place"),
    [
        ("shipper.inputs: [{type: stdin}]\n", "inputs[0].type: exactly_once cannot re-read stdin"),
        (
            INPUT % ", processors: [{dns: {type: reverse, fields: {a: b}, order: free}}]",
            "inputs[0].processors: exactly_once needs events in file order: set dns.order: kept",
        ),
        (
            INPUT % ", processors: [{if: {has_fields: [a]}, then: [{decompress_gzip_field: {field: {from: a}}}]}]",
            "inputs[0].processors: exactly_once cannot split a batch",
        ),
    ],
)
def test_what_a_position_cannot_describe_is_refused_with_the_way_out(lab: ConfigLab, inputs: str, place: str) -> None:
    (found,) = lab.problems(inputs + KAFKA % "")
    assert place in found
    assert "or set output.kafka.delivery: at_least_once" in found


def test_dns_that_keeps_the_order_is_accepted(lab: ConfigLab) -> None:
    lab.load(INPUT % ", processors: [{dns: {type: reverse, fields: {a: b}}}]" + KAFKA % "")
