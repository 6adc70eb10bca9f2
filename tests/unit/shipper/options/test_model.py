"""The configuration of the shipper, as a user writes it."""

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.options.kafka import BackoffConfig, KafkaOutputConfig
from log_shipper.shipper.options.model import (
    InputConfig,
    OutputConfig,
    SaslConfig,
    ShipperConfig,
    SslConfig,
)
from log_shipper.shipper.outputs.console import ConsoleOutputConfig
from log_shipper.shipper.outputs.kafka import KafkaOutput, kafka_of
from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

FILEBEAT = """\
filebeat.inputs:
  - type: filestream
    id: app
    paths:
      - /var/log/app/*.log
      - /var/log/app.log
    tags: [java]
    fields: {env: prod, dc.rack: 7}
    fields_under_root: true
    message_max_bytes: 1MiB
    parsers:
      - multiline:
          type: pattern
          pattern: '^\\['
          negate: true
          match: after
          max_lines: 100
          timeout: 2s
    prospector.scanner.check_interval: 1s
    close.on_state_change.inactive: 1m
  - type: filestream
    id: off
    enabled: false
    paths: /var/log/off.log
filebeat.registry.flush: 100ms
filebeat.shutdown_timeout: 10s
output.kafka:
  hosts: ["${KAFKA:localhost:9092}"]
  topic: logs
  compression: gzip
  required_acks: 1
  max_message_bytes: 2000000
  username: me
  password: ${SECRET}
  sasl.mechanism: SCRAM-SHA-512
  ssl:
    certificate_authorities: [/etc/ca.pem]
    enabled: true
  librdkafka.linger.ms: 5
output.elasticsearch:
  enabled: false
  hosts: ["localhost:9200"]
path.data: /var/lib/shipper
name: web-1
tags: [blue]
fields.team: a
queue.mem:
  events: 1000
  flush.timeout: 1s
logging.level: debug
logging.to_files: true
setup.template.enabled: false
monitoring.enabled: false
http.enabled: true
filebeat.modules:
  - {module: nginx, enabled: false}
"""


@pytest.fixture
def filebeat(lab: ConfigLab) -> ShipperConfig:
    return lab.load(FILEBEAT, env={"KAFKA": "a:1, b:2", "SECRET": "0123"})


def test_inputs_of_a_filebeat_yml_are_read(filebeat: ShipperConfig) -> None:
    first, second = filebeat.file_inputs
    assert (first.type, first.id, first.enabled) == ("filestream", "app", True)
    assert first.paths == ("/var/log/app/*.log", "/var/log/app.log")
    assert (first.tags, first.fields, first.fields_under_root) == (("java",), {"env": "prod", "dc": {"rack": 7}}, True)
    assert (first.message_max_bytes, first.encoding) == (1024**2, "utf-8")
    assert first.prospector.scanner.check_interval == 1.0
    assert first.close.on_state_change.inactive == 60.0
    assert (second.id, second.enabled, second.paths) == ("off", False, ("/var/log/off.log",))


def test_its_multiline_parser_is_read(filebeat: ShipperConfig) -> None:
    (parser,) = filebeat.inputs[0].parsers
    assert parser == MultilineConfig(pattern=r"^\[", negate=True, match="after", max_lines=100, timeout=2.0)


def test_its_kafka_output_is_read(filebeat: ShipperConfig) -> None:
    assert (
        filebeat.output.chosen
        == filebeat.output.kafka
        == KafkaOutput(
            hosts=("a:1", "b:2"),
            topic="logs",
            compression="gzip",
            max_message_bytes=2_000_000,
            username="me",
            password=Secret("0123"),
            sasl=SaslConfig(mechanism="SCRAM-SHA-512"),
            ssl=SslConfig(enabled=True, certificate_authorities=("/etc/ca.pem",)),
            required_acks=1,
            librdkafka={"linger.ms": 5},
        )
    )


def test_its_other_sections_are_read(filebeat: ShipperConfig) -> None:
    assert (filebeat.path.data, filebeat.name, filebeat.tags, filebeat.fields) == (
        "/var/lib/shipper",
        "web-1",
        ("blue",),
        {"team": "a"},
    )
    assert (filebeat.queue.mem.events, filebeat.queue.mem.bytes) == (1000, 20 * 1024**2)
    assert (filebeat.registry.flush, filebeat.shutdown_timeout, filebeat.logging.level) == (0.1, 10.0, "debug")


def test_its_http_endpoint_is_read(filebeat: ShipperConfig) -> None:
    assert filebeat.http.enabled


def test_what_makes_no_sense_here_is_noted(filebeat: ShipperConfig, lab: ConfigLab) -> None:
    assert [note.partition(" (")[0] for note in filebeat.notes] == [
        "ignored: output.kafka.required_acks",
        "ignored: output.elasticsearch",
        "ignored: queue.mem.flush",
        "ignored: setup",
        "ignored: monitoring",
        "ignored: filebeat.modules",
    ]
    assert filebeat.notes[3] == f"ignored: setup ({lab.file}:52): the shipper does not use it"


def test_defaults_are_those_of_the_contract(lab: ConfigLab) -> None:
    config = lab.load(lab.whole)
    assert config == ShipperConfig(
        inputs=(InputConfig(id="app", paths=("/var/log/app.log",)),), output=OutputConfig(console=ConsoleOutputConfig())
    )
    (each,) = config.file_inputs
    assert (each.message_max_bytes, each.prospector.scanner.check_interval) == (10 * 1024**2, 10.0)
    assert (each.close.on_state_change.inactive, each.parsers) == (300.0, ())
    change, reader = each.close.on_state_change, each.close.reader
    assert (change.renamed, change.removed, change.check_interval) == (False, True, 5.0)
    assert (reader.on_eof, reader.after_interval, each.close.removed.max_bytes) == (False, 0.0, 1024**3)
    assert (each.type, each.compression, each.file_identity.name, each.tail_files) == (
        "filestream",
        "none",
        "default",
        False,
    )
    assert (each.ignore_older, each.ignore_inactive, each.clean_inactive, each.clean_removed) == (0.0, "", 0.0, True)
    assert (each.harvester_limit, each.delete.enabled, each.delete.grace_period) == (0, False, 1800.0)
    scanner = each.prospector.scanner
    assert (scanner.exclude_files, scanner.include_files, scanner.symlinks, scanner.recursive_glob) == (
        (),
        (),
        False,
        True,
    )
    assert (config.queue.mem.events, config.queue.mem.bytes, config.path.data) == (65536, 20 * 1024**2, "data")
    assert (config.registry.path, config.registry.flush, config.registry.file_permissions) == ("registry", 1.0, "0600")
    assert (config.shutdown_timeout, config.logging.level, config.logging.format) == (5.0, "info", "auto")
    kafka = KafkaOutputConfig(hosts=("h:1",), topic="t")
    assert (kafka.compression, kafka.max_message_bytes, kafka.client_id) == ("lz4", 1_000_000, "shipper")
    assert (kafka.backoff, kafka.sasl.mechanism) == (BackoffConfig(init=1.0, max=60.0), "PLAIN")


def test_one_of_several_words_may_be_written_in_capitals_or_not(lab: ConfigLab) -> None:
    kafka = "{hosts: h, topic: t, username: u, password: p, sasl.mechanism: plain, compression: GZIP}"
    config = lab.load(f"shipper.inputs: [{{id: a, paths: [x]}}]\noutput.kafka: {kafka}\nlogging.level: INFO\n")
    assert config.logging.level == "info"
    output = kafka_of(config)
    assert output is not None
    assert (output.compression, output.sasl.mechanism) == ("gzip", "PLAIN")


def test_the_native_prefix_reads_the_same(lab: ConfigLab) -> None:
    text = FILEBEAT.replace("filebeat.modules", "filebeat.config.modules").replace("filebeat.", "shipper.")
    native = lab.load(text.replace("shipper.config.modules", "filebeat.config.modules"), env={"SECRET": "0123"})
    filebeat = lab.load(FILEBEAT, env={"SECRET": "0123"})
    assert (native.file_inputs, native.registry, native.shutdown_timeout) == (
        filebeat.inputs,
        filebeat.registry,
        filebeat.shutdown_timeout,
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    rows("""
        filebeat.autodiscover.providers: [{type: nomad}] -> filebeat.autodiscover.providers[0].type: 'nomad' is not
            supported; write an input with the log paths of its allocations
        filebeat.registry_flush: 1s -> filebeat.registry_flush: an old name, now filebeat.registry.flush
        filebeat.config.inputs.pat: x -> filebeat.config.inputs.pat: unknown option; did you mean 'path'?
        queue.spool.file.size: 1GB
            -> queue.spool: not supported; an experiment that Filebeat removed; use queue.disk
        queue.mem.events: 0 -> queue.mem.events: must be at least 1
        queue.mem.bytes: 0 -> queue.mem.bytes: must be at least 1
        logging.levl: info -> logging.levl: unknown option; did you mean 'level'?
        logging.level: loud -> logging.level: 'loud' must be one of: debug, info, warning, error, critical
        path.data: '' -> path.data: is empty
        shipper.registry.file_permissions: 0999
            -> shipper.registry.file_permissions: '0999' must be an octal mode, as in 0600
        filebeat.registry.flush: often
            -> filebeat.registry.flush: 'often' is not a duration; write 5s, 1m30s, 100ms or 2h (24h for a day)
    """),
)
def test_a_mistake_beside_inputs_and_output_is_named(lab: ConfigLab, line: str, problem: str) -> None:
    assert lab.problems_with(line + "\n") == [f"shipper.yml:5: {problem}"]


def test_an_empty_file_is_reported_all_that_it_lacks(lab: ConfigLab) -> None:
    assert lab.problems("") == [
        "shipper.yml:1: shipper.inputs: missing; list the inputs, as in '- {type: filestream, id: app, paths: "
        "[/var/log/app.log]}'",
        "shipper.yml:1: output: no output is enabled; enable exactly one of output.kafka, output.console, output.file",
    ]


def test_where_the_log_goes_is_read(lab: ConfigLab) -> None:
    plain = lab.load(lab.whole).logging
    assert (plain.to_files, plain.to_syslog, plain.to_stderr, plain.written(None)) == (None, False, False, [])
    files = lab.load_with("logging: {level: critical, files: {keepfiles: 2, permissions: 0640}}\n").logging
    assert files.level == "critical"
    assert files.written(None) == ["logs/shipper.ndjson", "logs/shipper.ndjson.1", "logs/shipper.ndjson.2"]
    assert files.written("/var/log/shipper")[0] == "/var/log/shipper/shipper.ndjson"
    text = lab.load_with("logging: {to_files: true, json: false, files.path: /x}\n").logging
    assert text.written("/y")[0] == "/x/shipper.log"
    assert lab.load_with("logging: {to_files: false, files.path: /x}\n").logging.written(None) == []
    assert lab.load_with("logging: {to_stderr: true, to_files: true}\n").logging.written(None) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("files.interval: 500ms", "files.interval: must be at least 1s, or 0 for never"),
        ("files.keepfiles: 1", "files.keepfiles: must be at least 2"),
        ("files.permissions: rw", "files.permissions: 'rw' must be an octal mode, as in 0600"),
        ("files.name: ' '", "files.name: is empty"),
    ],
)
def test_a_mistake_of_the_log_files_is_reported(lab: ConfigLab, options: str, problem: str) -> None:
    (message,) = lab.problems_with(f"logging: {{{options}}}\n")
    assert message.endswith(f"logging.{problem}")
