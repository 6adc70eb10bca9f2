"""What is read, and how the brokers are spoken to."""

from collections.abc import Callable
from typing import Protocol

import pytest

from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

REST = "kafka.hosts: [a:1]\ntable.path: /data/logs\ncheckpoint.path: /data/checkpoint\n"


class LoadKafka(Protocol):
    def __call__(self, text: str, **env: str) -> KafkaSource: ...


@pytest.fixture
def kafka(lab: ConfigLab) -> LoadKafka:
    return lambda text, **env: lab.load(REST + text, SinkConfig, env=env).kafka


@pytest.fixture
def problems(lab: ConfigLab) -> Callable[[str], list[str]]:
    return lambda text: lab.problems(REST + text, SinkConfig)


@pytest.mark.parametrize(
    ("text", "names", "described"),
    [
        ("kafka.topics: [a, b.c]", ("a", "b.c"), "topics a, b.c"),
        ("kafka.topic: a", ("a",), "topic a"),
        ("kafka.topics_pattern: 'logs-.*'", (), "topics like 'logs-.*'"),
        ("kafka.topics_pattern: '(?P<eu>a)|b{2}'", (), "topics like '(?P<eu>a)|b{2}'"),
        ("kafka.partitions: {a: [0, 1]}", ("a",), "topic a"),
    ],
)
def test_topics_are_listed_or_matched_or_read_in_part(
    kafka: LoadKafka, text: str, names: tuple[str, ...], described: str
) -> None:
    loaded = kafka(text)
    assert (loaded.topic_names, loaded.described) == (names, described)


@pytest.mark.parametrize(
    ("text", "partitions"),
    [
        ("kafka.partitions: {web.eu: [0, 2], b: 1}", {"web.eu": (0, 2), "b": (1,)}),
        ("kafka.partitions:\n  web: {eu: [0]}\n", {"web.eu": (0,)}),
        ("kafka.partitions.web.eu: [0, '${MORE}']", {"web.eu": (0, 7)}),
        ("kafka: {partitions: {a: [0], b: ~}}", {"a": (0,)}),
    ],
)
def test_the_names_of_topics_may_hold_dots(kafka: LoadKafka, text: str, partitions: dict[str, tuple[int, ...]]) -> None:
    assert kafka(text, MORE="7").partitions == partitions


@pytest.mark.parametrize("text", ["", "kafka.topics: []", "kafka.topics_pattern: ~", "kafka.partitions: {}"])
def test_topics_must_be_named_in_one_way(problems: Callable[[str], list[str]], text: str) -> None:
    (problem,) = problems(text)
    assert problem.endswith("kafka.topics: missing; name at least one topic, or give topics_pattern or partitions")


@pytest.mark.parametrize(
    "text",
    [
        "kafka.topics: [a]\nkafka.topics_pattern: a",
        "kafka.topics: [a]\nkafka.partitions: {a: [0]}",
        "kafka.topics_pattern: a\nkafka.partitions: {a: [0]}",
    ],
)
def test_topics_must_not_be_named_in_two_ways(problems: Callable[[str], list[str]], text: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith("shipper.yml:5: kafka.")
    assert problem.endswith("; keep one")


PYTHONS = (
    "Python's syntax differs from Java's: write [A-Za-z] for \\p{Alpha}, \\. for \\Q.\\E, (?P<name>...) for "
    "(?<name>...)"
)
SETS = (
    "has nested character sets, or &&, -- or ~~, which Python's regular expressions do not support; write one set, "
    "with a backslash before literal characters"
)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        *rows(r"""
        topics: ['logs-*']
            -> topics: 'logs-*' is not the name of a topic; to match several topics, use kafka.topics_pattern
        topics: ['a b']
            -> topics: 'a b' is not a valid topic name: use up to 249 letters, digits, dots, underscores and dashes
        topics: [a, b, a] -> topics: 'a' is given twice
        topics_pattern: '*' -> topics_pattern: '*' is not a regular expression: nothing to repeat at position 0; '.*'
            stands for any text
        topics_pattern: '(a'
            -> topics_pattern: '(a' is not a regular expression: missing ), unterminated subpattern at position 0
        topics_pattern: '' -> topics_pattern: is empty
        partitions: {a: []} -> partitions.a: names no partition
        partitions: {a: [0, 0]} -> partitions.a: names a partition twice
        partitions: {a: [-1]} -> partitions.a: must be partition numbers, from 0
        partitions: {a: [x]} -> partitions.a: 'x' must be an integer
        partitions: {a: [[0]]} -> partitions.a: must be an integer, not a list
        partitions: {a: ['${NOT}']} -> partitions.a: variable NOT is not set; set a default with ${NOT:value}
        partitions: {a: {0: 1}} -> partitions.a.0: must be a topic with a list of partitions, as in 'logs: [0, 1]'
        partitions: [0] -> partitions: must be a section of options (key: value)
        partitions: {a: [0], a: [1]} -> partitions.a: duplicate of line 4; keep one
        topics: a\n\n\nkafka.username: me -> password: missing; username needs it
        topics: a\n\n\nkafka.password: x -> username: missing; password needs it
        topics: a\nkafka.metadata_max_age: 0 -> metadata_max_age: must be at least 1
        topics: a\nkafka.librdkafka.group.id: mine -> librdkafka.group.id: set kafka.group_id instead
        topics: a\nkafka.librdkafka: {auto.offset.reset: latest} -> librdkafka.auto.offset.reset: would lose or repeat
            records, because the checkpoint has the offsets: remove it
        topics: a\nkafka.librdkafka: {isolation.level: read}
            -> librdkafka.isolation.level: 'read' must be one of: read_committed, read_uncommitted
        topics: a\nkafka.options: {kafka.isolation.level: read}
            -> options.kafka.isolation.level: 'read' must be one of: read_committed, read_uncommitted
        topics: a\nkafka.options.startingOffsets: latest -> options.startingOffsets: is set by start
        topics: a\nkafka.options: {subscribePattern: x}
            -> options.subscribePattern: is set by kafka.topics, topics_pattern or partitions
        """),
        (
            "topics_pattern: '(?<eu>a)'",
            f"topics_pattern: '(?<eu>a)' is not a regular expression: unknown extension ?<e at position 1; {PYTHONS}",
        ),
        (
            "topics_pattern: '\\p{L}+'",
            f"topics_pattern: '\\\\p{{L}}+' is not a regular expression: bad escape \\p at position 0; {PYTHONS}",
        ),
        ("topics_pattern: '[a-z&&[^b]]'", f"topics_pattern: '[a-z&&[^b]]' {SETS}"),
        ("topics_pattern: '[[a]b]'", f"topics_pattern: '[[a]b]' {SETS}"),
    ],
)
def test_a_mistake_is_named(problems: Callable[[str], list[str]], line: str, problem: str) -> None:
    (reported,) = problems(f"kafka.{line}\n")
    assert reported.partition(": kafka.")[2] == problem


def test_a_mistake_in_a_map_is_reported_with_its_own_line(problems: Callable[[str], list[str]]) -> None:
    assert problems("kafka.partitions:\n  a: [0]\n  b: [-1]\n  c: [x]\n") == [
        "shipper.yml:7: kafka.partitions.c: 'x' must be an integer"
    ]
    (reported,) = problems("kafka.partitions:\n  a: [0]\n  b: [-1]\n")
    assert reported.startswith("shipper.yml:6: kafka.partitions.b: ")


def test_tls_and_sasl_have_the_shippers_options(kafka: LoadKafka) -> None:
    loaded = kafka(
        "kafka: {topic: a, username: me, password: x, sasl.mechanism: scram-sha-256, "
        "ssl: {certificate_authorities: [/ca.pem], verification_mode: certificate}}"
    )
    assert (loaded.username, loaded.sasl.mechanism) == ("me", "SCRAM-SHA-256")
    assert (loaded.ssl.enabled, loaded.ssl.certificate_authorities) == (True, ("/ca.pem",))


@pytest.mark.parametrize(("text", "enabled"), [("", None), (", ssl.enabled: false", False), (", ssl.key: ~", None)])
def test_tls_is_off_where_nothing_asks_for_it(kafka: LoadKafka, text: str, enabled: bool | None) -> None:
    assert kafka(f"kafka: {{topic: a{text}}}").ssl.enabled is enabled


def test_a_certificate_needs_its_key(problems: Callable[[str], list[str]]) -> None:
    assert problems("kafka: {topic: a, ssl.certificate: /c.pem}") == [
        "shipper.yml:4: kafka.ssl.key: missing; a certificate needs its private key"
    ]


@pytest.mark.parametrize(
    ("text", "mechanism"),
    [
        (
            "sasl: {mechanism: oauthbearer, oauthbearer: {token_endpoint_url: 'https://id.example/token', "
            "client_id: a, client_secret: b}}",
            "OAUTHBEARER",
        ),
        ("ssl.enabled: true, sasl: {mechanism: aws_msk_iam, aws_msk_iam.region: eu-central-1}", "AWS_MSK_IAM"),
        ("kerberos: {username: web, keytab: /k}", "PLAIN"),
    ],
)
def test_every_way_to_authenticate_of_the_shipper_is_the_sinks_too(kafka: LoadKafka, text: str, mechanism: str) -> None:
    loaded = kafka(f"kafka: {{topic: a, {text}}}")
    assert loaded.sasl.mechanism == mechanism
    assert (loaded.kerberos is not None) is ("kerberos" in text)


def test_a_mechanism_without_its_section_is_reported(problems: Callable[[str], list[str]]) -> None:
    (reported,) = problems("kafka: {topic: a, sasl.mechanism: OAUTHBEARER}")
    assert reported.endswith("kafka.sasl.oauthbearer: missing; mechanism OAUTHBEARER needs it")


def test_a_mechanism_without_a_user_is_a_remark(lab: ConfigLab) -> None:
    loaded = lab.load(REST + "kafka: {topic: a, sasl.mechanism: SCRAM-SHA-512}", SinkConfig)
    assert any("kafka.sasl.mechanism" in warning for warning in loaded.notes)
