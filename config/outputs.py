"""Where the shipper sends: exactly one of `output.kafka`, `output.console`, `output.file`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config import filebeat
from config.checks import Finding, not_blank, not_empty
from config.units import Duration, Size


def addresses(hosts: tuple[str, ...]) -> Iterator[Finding]:
    yield from not_empty(hosts)
    for index, host in enumerate(hosts):
        name, colon, port = host.rpartition(":")
        if colon and (not name or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536):
            yield f"[{index}]", f"{host!r} must be host:port, with a port from 1 to 65535"


def topic_name(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", text) or text in (".", ".."):
        yield "", f"{text!r} is no name that Kafka takes: up to 249 letters, digits, dots, underscores and dashes"


ENABLED: dict[str, Any] = {"doc": "Whether this output is the one."}


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslConfig:
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = field(
        default="PLAIN", metadata={"doc": "How username and password are proved."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SslConfig:
    not_yet: ClassVar = filebeat.SSL_NOT_YET
    enabled: bool = field(default=False, metadata={"doc": "Whether the brokers are spoken to over TLS."})
    certificate_authorities: tuple[str, ...] = field(
        default=(), metadata={"doc": "PEM files of the authorities to trust; the system's when empty."}
    )
    certificate: str | None = field(default=None, metadata={"doc": "PEM file of the client's certificate."})
    key: str | None = field(default=None, metadata={"doc": "PEM file of the client's private key."})
    key_passphrase: str | None = field(default=None, repr=False, metadata={"doc": "Opens the private key."})
    verification_mode: Literal["full", "none"] = field(
        default="full", metadata={"doc": "Whether the broker's certificate and host name are verified."}
    )

    def check(self) -> Iterator[Finding]:
        if self.certificate is not None and self.key is None:
            yield "key", "missing; a certificate needs its private key"
        if self.key is not None and self.certificate is None:
            yield "certificate", "missing; a private key needs its certificate"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffConfig:
    init: Duration = field(default=1.0, metadata={"doc": "The first wait after a failure.", "min": 0.001})
    max: Duration = field(default=60.0, metadata={"doc": "The longest wait after many.", "min": 0.001})

    def check(self) -> Iterator[Finding]:
        if self.max < self.init:
            yield "max", f"must be at least backoff.init ({self.init:g}s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOutput:
    not_yet: ClassVar = filebeat.KAFKA_NOT_YET
    ignored: ClassVar = filebeat.KAFKA_IGNORED
    enabled: bool = field(default=True, metadata=ENABLED)
    hosts: tuple[str, ...] = field(
        metadata={
            "doc": "Brokers to ask for the cluster, host:port.",
            "check": addresses,
            "split": ",",
            "missing": "name one broker at least, as in 'hosts: [\"localhost:9092\"]'",
        }
    )
    topic: str = field(metadata={"doc": "The topic that gets the records.", "check": topic_name})
    version: str | None = field(default=None, metadata={"doc": "Accepted and not used: the broker is asked."})
    client_id: str = field(default="shipper", metadata={"doc": "The name in the broker's logs and quotas."})
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = field(
        default="lz4", metadata={"doc": "How batches are compressed."}
    )
    compression_level: int | None = field(
        default=None, metadata={"doc": "The codec's level; its own default when absent.", "min": -1, "max": 12}
    )
    max_message_bytes: Size = field(
        default=1_000_000,
        metadata={"doc": "The largest record; a larger event is cut to fit and flagged.", "min": 1000},
    )
    username: str | None = field(default=None, metadata={"doc": "Turns SASL on."})
    password: str | None = field(default=None, repr=False, metadata={"doc": "The password of `username`."})
    sasl: SaslConfig = field(default_factory=SaslConfig)
    ssl: SslConfig = field(default_factory=SslConfig)
    backoff: BackoffConfig = field(default_factory=BackoffConfig)
    # Not shown: raw settings may hold secrets too (ssl.key.password).
    librdkafka: dict[str, str | int | float | bool] = field(
        default_factory=dict, repr=False, metadata={"doc": "Raw settings of librdkafka; they win over ours."}
    )

    def check(self) -> Iterator[Finding]:
        if self.username is not None and self.password is None:
            yield "password", "missing; username needs it"
        if self.password is not None and self.username is None:
            yield "username", "missing; password needs it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOutput:
    ignored: ClassVar = filebeat.CONSOLE_IGNORED
    enabled: bool = field(default=True, metadata=ENABLED)
    pretty: bool = field(default=False, metadata={"doc": "Spreads each record over several lines."})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutput:
    not_yet: ClassVar = filebeat.FILE_NOT_YET
    ignored: ClassVar = filebeat.FILE_IGNORED
    enabled: bool = field(default=True, metadata=ENABLED)
    path: str = field(metadata={"doc": "The directory of the file.", "check": not_blank})
    filename: str = field(
        default="shipper", metadata={"doc": "The file's name; one record a line is added to it.", "check": not_blank}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    not_yet: ClassVar = filebeat.OUTPUT_NOT_YET
    kafka: KafkaOutput | None = field(default=None, metadata={"doc": "A Kafka topic."})
    console: ConsoleOutput | None = field(default=None, metadata={"doc": "Standard output, one JSON record a line."})
    file: FileOutput | None = field(default=None, metadata={"doc": "A file, one JSON record a line, fsynced."})

    @property
    def chosen(self) -> KafkaOutput | ConsoleOutput | FileOutput:
        """The one that is enabled; a section with `enabled: false` stays in its attribute."""
        return next(output for _, output in self._enabled())

    def check(self) -> Iterator[Finding]:
        enabled = [name for name, _ in self._enabled()]
        if not enabled:
            yield "", "no output is enabled; exactly one of output.kafka, output.console, output.file must be"
        for name in enabled[1:]:
            yield name, f"output.{enabled[0]} is enabled too; exactly one output must be"

    def _enabled(self) -> Iterator[tuple[str, KafkaOutput | ConsoleOutput | FileOutput]]:
        for name, output in (("kafka", self.kafka), ("console", self.console), ("file", self.file)):
            if output is not None and output.enabled:
                yield name, output
