"""Where the shipper sends."""

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.options.codec import CodecConfig, FormatCodec, JsonCodec
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.outputs.base import LineOutput
from log_shipper.shipper.outputs.console import ConsoleOutputConfig
from log_shipper.shipper.outputs.file import FileOutputConfig
from log_shipper.shipper.outputs.kafka import kafka_of
from tests.config_lab import ConfigLab
from tests.tables import rows

KAFKA = "shipper.inputs: [{id: a, paths: [x]}]\noutput.kafka:\n  hosts: [h:1]\n  topic: t\n"


def test_secrets_are_not_shown(lab: ConfigLab) -> None:
    config = lab.load_with(
        "output.console.enabled: false\noutput.kafka: {hosts: h, topic: t, username: u, password: s3cret, ssl: "
        "{key_passphrase: s3cret}, librdkafka: {ssl.key.password: s3cret}}\n"
    )
    kafka = kafka_of(config)
    assert kafka is not None
    assert kafka.password == kafka.ssl.key_passphrase == Secret("s3cret")
    assert "s3cret" not in repr(config)


def test_a_file_output_is_read(lab: ConfigLab) -> None:
    config = lab.load_with("output.console.enabled: false\noutput.file: {path: /tmp/out}\n")
    assert config.output.chosen == FileOutputConfig(path="/tmp/out", filename="shipper")


def test_rotation_of_the_file_is_read(lab: ConfigLab) -> None:
    plain = "output.console.enabled: false\noutput.file: {path: /tmp/out"
    rotated = lab.load_with(f"{plain}, rotate_every_kb: 100, permissions: 0640}}\n").output.chosen
    assert isinstance(rotated, FileOutputConfig)
    assert (rotated.rotate_every_kb, rotated.number_of_files, rotated.permissions) == (100, 7, "0640")
    assert rotated.rotates_on_start
    assert rotated.files()[:2] == ["/tmp/out/shipper", "/tmp/out/shipper.1"]
    assert len(rotated.files()) == 8
    stays = lab.load_with(f"{plain}, rotate_every_kb: 100, rotate_on_startup: false}}\n").output.chosen
    assert isinstance(stays, FileOutputConfig)
    assert not stays.rotates_on_start


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("rotate_every_kb: 0", "rotate_every_kb: must be at least 1"),
        ("number_of_files: 1", "number_of_files: must be at least 2"),
        ("number_of_files: 2000", "number_of_files: must be at most 1024"),
        ("permissions: rw", "permissions: 'rw' must be an octal mode, as in 0600"),
    ],
)
def test_a_mistake_of_rotation_is_reported(lab: ConfigLab, options: str, problem: str) -> None:
    text = f"output.console.enabled: false\noutput.file: {{path: /tmp, {options}}}\n"
    assert lab.problems_with(text) == [f"shipper.yml:6: output.file.{problem}"]


def test_a_section_alone_chooses_its_output(lab: ConfigLab) -> None:
    text = lab.whole.replace("output.console.pretty: false", "output.console:")
    assert lab.load(text).output.chosen == ConsoleOutputConfig()


def test_an_output_can_be_changed_from_the_command_line(lab: ConfigLab) -> None:
    config = lab.load(KAFKA, overrides=["output.kafka.enabled=false", "output.console.pretty=true"])
    assert config.output.chosen == ConsoleOutputConfig(codec=CodecConfig(json=JsonCodec(pretty=True)))


@pytest.mark.parametrize("output", ["console", "file"])
def test_every_output_has_codecs(lab: ConfigLab, output: str) -> None:
    path = "path: /tmp/out, " if output == "file" else ""
    text = lab.whole.replace("output.console.pretty: false\n", "")
    chosen = lab.load(f"{text}output.{output}: {{{path}codec.format.string: '%{{[message]}}'}}\n").output.chosen
    assert isinstance(chosen, LineOutput)
    assert chosen.codec == CodecConfig(format=FormatCodec(string="%{[message]}"))


def test_pretty_of_a_console_that_writes_texts_is_noted(lab: ConfigLab) -> None:
    text = lab.whole.replace(".pretty: false", ": {pretty: true, codec.format.string: '%{[message]}'}")
    config = lab.load(text)
    assert config.output.chosen == ConsoleOutputConfig(codec=CodecConfig(format=FormatCodec(string="%{[message]}")))
    (note,) = config.notes
    assert note.startswith("output.console.pretty (")
    assert note.endswith("shipper.yml:4): has no effect with codec.format")


def test_no_output_is_too_few(lab: ConfigLab) -> None:
    assert lab.problems_with("output.console.enabled: false\n") == [
        "shipper.yml:4: output: no output is enabled; enable exactly one of output.kafka, output.console, output.file"
    ]


def test_two_outputs_are_too_many(lab: ConfigLab) -> None:
    assert lab.problems_with("output.file.path: /tmp\n") == [
        "shipper.yml:5: output.file: conflicts with output.console; enable exactly one output"
    ]


def test_an_output_that_we_do_not_have_is_named(lab: ConfigLab) -> None:
    assert lab.problems_with("output.redis: {hosts: [x]}\n") == [
        "shipper.yml:5: output.redis: not supported; send to Kafka (output.kafka) and forward with "
        "Logstash, Kafka Connect or the Spark sink; output.file and output.console need no broker"
    ]


def test_a_file_output_needs_its_directory(lab: ConfigLab) -> None:
    assert lab.problems_with("output.file.filename: x\n") == ["shipper.yml:5: output.file.path: missing"]


@pytest.mark.parametrize(
    ("line", "problem"),
    rows("""
        compresion: lz4 -> compresion: unknown option; did you mean 'compression'?
        compression: zip -> compression: 'zip' must be one of: none, gzip, snappy, lz4, zstd
        compression_level: 13 -> compression_level: must be at most 12
        topics: [{topic: a b}] -> topics[0].topic: 'a b' is not a valid topic name: use up to 249 letters, digits, dots,
            underscores and dashes
        topics: [{topic: '%{a}'}]
            -> topics[0].topic: '%{a}' names no field; write '%{[fields.service]}' or '%{[fields.service]:other}'
        topics: [{topic: '%{[a]}', default: a/b}] -> topics[0].default: 'a/b' is not a valid topic name: use up to 249
            letters, digits, dots, underscores and dashes
        topics: [{topic: '%{[a]}', mappings: {x: a/b}}] -> topics[0].mappings.x: 'a/b' is not a valid topic name: use up
            to 249 letters, digits, dots, underscores and dashes
        topics: [{default: a}] -> topics[0].topic: missing
        max_message_bytes: 10 -> max_message_bytes: must be at least 1000
        sasl.mechanism: MD5
            -> sasl.mechanism: 'MD5' must be one of: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM
        ssl.certificate: c.pem -> ssl.key: missing; a certificate needs its private key
        ssl.key: k.pem -> ssl.certificate: missing; a private key needs its certificate
        ssl.verification_mode: some -> ssl.verification_mode: 'some' must be one of: full, strict, certificate, none
        key: '%{[a]' -> key: '%{[a]' has no closing brace; write '%{[fields.service]}'
        codec.format: {} -> codec.format.string: missing
        codec.format.string: '' -> codec.format.string: must not be empty
        codec.format.string: '%{a}'
            -> codec.format.string: '%{a}' names no field; write '%{[fields.service]}' or '%{[fields.service]:other}'
        codec: {json.pretty: true, format.string: '%{[message]}'}
            -> codec.format: conflicts with codec.json; set only one of them
        partition: {random: {}, hash: {}} -> partition.hash: conflicts with partition.random; set only one of them
        partition.round_robin.group_events: 0 -> partition.round_robin.group_events: must be at least 1
        timestamp: read -> timestamp: 'read' must be one of: event, sent
        headers: [{key: '', value: x}] -> headers[0].key: is empty
        headers: [{key: a}] -> headers[0].value: missing
        headers: [{key: log.offset, value: x}] -> headers[0].key: log.offset is a header that the shipper sets on
            records without JSON; choose another name
        backoff: {init: 2m} -> backoff.max: must be at least backoff.init (120s)
        librdkafka.x: [] -> librdkafka.x: must be a single value, not a list
    """),
)
def test_a_mistake_in_the_kafka_output_is_named(lab: ConfigLab, line: str, problem: str) -> None:
    assert lab.problems(f"{KAFKA}  {line}\n") == [f"shipper.yml:5: output.kafka.{problem}"]


def test_a_hash_without_fields_is_the_partition_of_the_key(lab: ConfigLab) -> None:
    kafka = kafka_of(lab.load(f"{KAFKA}  partition.hash: {{random: true}}\n"))
    assert kafka is not None
    assert kafka.partition is not None
    assert not kafka.partition.is_explicit


def test_what_belongs_together_is_accepted_together(lab: ConfigLab) -> None:
    kafka = kafka_of(lab.load(KAFKA + "  ssl: {certificate: c, key: k}\n  backoff: {init: 5s, max: 5s}\n"))
    assert kafka is not None
    assert (kafka.ssl.certificate, kafka.ssl.key, kafka.backoff.max) == ("c", Secret("k"), 5.0)


def test_a_user_needs_a_password_and_a_password_a_user(lab: ConfigLab) -> None:
    assert lab.problems(f"{KAFKA}  username: u\n") == [
        "shipper.yml:2: output.kafka.password: missing; username needs it"
    ]
    assert lab.problems(f"{KAFKA}  password: p\n") == [
        "shipper.yml:2: output.kafka.username: missing; password needs it"
    ]
    kafka = kafka_of(lab.load(f"{KAFKA}  username: ''\n  password: ''\n"))
    assert kafka is not None
    assert not kafka.username


def test_what_a_kafka_output_lacks_is_named_where_it_belongs(lab: ConfigLab) -> None:
    assert lab.problems("shipper.inputs: [{id: a, paths: [x]}]\n\noutput.kafka:\n") == [
        "shipper.yml:3: output.kafka.hosts: missing; name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
    ]
    assert lab.problems("shipper.inputs: [{id: a, paths: [x]}]\n\noutput.kafka.hosts: h\n") == [
        "shipper.yml:3: output.kafka.topic: missing; name the topic to send records to"
    ]


def test_topics_for_all_events_are_enough(lab: ConfigLab) -> None:
    kafka = kafka_of(lab.load(KAFKA.replace("topic: t", "topics: [{topic: a, when.equals.b: c}]")))
    assert kafka is not None
    assert [(rule.topic, rule.when) for rule in kafka.topics] == [("a", ConditionConfig(equals={"b": "c"}))]


@pytest.mark.parametrize("topic", ["%{[a b]}x y", "%{[a]}/x", "%{[a]", "%{+QQ}"])
def test_a_format_string_of_a_topic_is_checked(lab: ConfigLab, topic: str) -> None:
    (problem,) = lab.problems(KAFKA.replace("topic: t", f"topic: '{topic}'"))
    assert problem.startswith("shipper.yml:4: output.kafka.topic: ")


@pytest.mark.parametrize("host", ["h:0", "h:65536", "h:x", ":9092", "h:9092:"])
def test_a_host_has_a_port_that_there_is(lab: ConfigLab, host: str) -> None:
    assert lab.problems(KAFKA.replace("h:1", f"'{host}'")) == [
        f"shipper.yml:3: output.kafka.hosts[0]: '{host}' must be host:port, with a port from 1 to 65535"
    ]


@pytest.mark.parametrize("topic", ["a b", "logs/app", "..", "x" * 250])
def test_a_topic_has_a_name_that_kafka_accepts(lab: ConfigLab, topic: str) -> None:
    assert lab.problems(KAFKA.replace("topic: t", f"topic: '{topic}'")) == [
        f"shipper.yml:4: output.kafka.topic: {topic!r} is not a valid topic name: use up to 249 letters, digits, "
        f"dots, underscores and dashes"
    ]


@pytest.mark.parametrize("hosts", ["[]", "','", "['']"])
def test_hosts_are_not_empty(lab: ConfigLab, hosts: str) -> None:
    assert lab.problems(KAFKA.replace("[h:1]", hosts)) == ["shipper.yml:3: output.kafka.hosts: must not be empty"]
