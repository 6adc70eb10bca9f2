"""The options of `output.kafka`: all of Filebeat's. Options that the shipper ignores are checked, and noted in one
line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, addresses
from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.units import Duration, Size
from log_shipper.runtime.kafka.security_options import KerberosConfig, SaslConfig, credentials, unused_mechanism
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.codec import CodecConfig, format_string
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.kafka_records import HeaderConfig, PartitionConfig
from log_shipper.shipper.options.outputs import OutputOptions
from log_shipper.shipper.options.queues import QueueConfig
from log_shipper.shipper.options.topics import TopicRuleConfig, is_topic, topic_name, topic_or_none

_UNUSED: dict[str, Any] = {"doc": "Accepted and ignored."}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffConfig:
    init: Duration = field(default=1.0, metadata={"doc": "The delay after the first failure.", "min": 0.001})
    max: Duration = field(default=60.0, metadata={"doc": "The maximum delay after repeated failures.", "min": 0.001})

    def check(self) -> Iterator[Finding]:
        if self.max < self.init:
            yield "max", f"must be at least backoff.init ({self.init:g}s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    max: int = field(default=3, metadata={**_UNUSED, "min": 0})
    backoff: Duration = field(default=0.25, metadata=_UNUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataConfig:
    retry: RetryConfig = field(default_factory=RetryConfig)
    refresh_frequency: Duration = field(default=600.0, metadata=_UNUSED)
    full: bool = field(default=False, metadata=_UNUSED)


Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
CODECS: tuple[Compression, ...] = ("none", "gzip", "snappy", "lz4", "zstd")


def version_number(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"\d+(\.\d+){0,3}", text):
        yield "", f"{text!r} must be a version of Kafka, as in 2.1.0"


def parse_compression_codec(text: str) -> Compression:
    """Return the codec in lower case; YAML reads `off` and `no` as false. Raises ValueError."""
    for codec in CODECS:
        if text.lower() == codec or (codec == "none" and text.lower() in ("no", "off", "false")):
            return codec
    raise ValueError(f"{text!r} must be one of: {', '.join(CODECS)}")


def transactional_id(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"[\x21-\x7e]{1,200}", text):
        yield "", f"{text!r} must be 1 to 200 ASCII characters without blanks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfig:
    since: ClassVar = "0.3"
    id: str | None = field(
        default=None,
        metadata={
            "doc": "The transactional id, unique to each shipper; positions are stored under it. Default: `shipper-` "
            "and the agent id in path.data. Set it to keep positions if path.data is lost.",
            "check": transactional_id,
        },
    )
    topic: str = field(
        default="shipper-positions",
        metadata={"doc": "The compacted topic of the positions, created if missing. Shippers may share it."},
    )
    interval: Duration = field(
        default=0.1,
        metadata={
            "doc": "How long records are collected for one commit; half a full queue commits earlier. Delays consumers "
            "with read_committed by this time.",
            "min": 0.001,
            "max": 10,
        },
    )


def shorter_than_a_transaction(
    transaction: TransactionConfig, raw: Mapping[str, str | int | float | bool]
) -> Iterator[Finding]:
    """Yield an error for a raw timeout at which the broker would abort every transaction before its commit."""
    timeout = raw.get("transaction.timeout.ms")
    if isinstance(timeout, int) and timeout < 2000 * transaction.interval:
        minimum = f"{2000 * transaction.interval:.0f}"
        yield "librdkafka.transaction.timeout.ms", f"{timeout} must be at least {minimum}, twice transaction.interval"


# The limit of a record applies to its value; a file id as its key and the batch around it add this many bytes,
ENVELOPE = 512
# a key of events adds as many (with a longer one, an event of maximum size is a dead letter),
KEY = 1024
# and each header adds its key, its value and their lengths.
HEADER = 10


def _unused(why: str, **more: Any) -> dict[str, Any]:
    return {"doc": f"Accepted and ignored: {why}.", "unused": why, **more}


_SIZED = "the shipper sizes batches and requests itself; set client settings below librdkafka"
_RETRIES = "records are retried until acknowledged; set client settings below librdkafka"
_CLIENT = "the client manages it; set client settings below librdkafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOutputConfig(OutputOptions):
    not_yet: ClassVar = filebeat.KAFKA_NOT_YET
    ignored: ClassVar = filebeat.KAFKA_IGNORED
    hosts: tuple[str, ...] = field(
        metadata={
            "doc": "Bootstrap brokers as host:port.",
            "check": addresses,
            "split": ",",
            "missing": "name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
        }
    )
    topic: str = field(
        default="",
        metadata={
            "doc": "The topic of records, a format string: `logs-%{[fields.team]:other}`.",
            "check": topic_or_none,
        },
    )
    topics: tuple[TopicRuleConfig, ...] = field(
        default=(),
        metadata={"doc": "Topic rules: the first with a topic for the event wins; else `topic` applies."},
    )
    key: str | None = field(
        default=None,
        metadata={
            "doc": "The record key, a format string: `%{[fields.team]}`. By default, and for events without a value, "
            "the file id, which keeps a file's lines in order.",
            "since": "0.3",
            "check": format_string,
        },
    )
    codec: CodecConfig = field(
        default_factory=CodecConfig,
        metadata={
            "doc": "The record format. With `format`, file, offset and length are sent as headers, so that the sink "
            "can remove duplicates."
        },
    )
    headers: tuple[HeaderConfig, ...] = field(
        default=(), metadata={"doc": "Headers of all records; keys may repeat.", "since": "0.3"}
    )
    partition: PartitionConfig | None = field(
        default=None,
        metadata={
            "doc": "The partitioner; by record key when absent. Others spread a file's lines over partitions, without "
            "order between them."
        },
    )
    timestamp: Literal["event", "sent"] = field(
        default="sent",
        metadata={
            "doc": "The timestamp of Kafka records: when sent, or the event's @timestamp (about 8 % more CPU time).",
            "since": "0.3",
        },
    )
    version: str | None = field(
        default=None,
        metadata={"doc": "Accepted and ignored: the client negotiates the version.", "check": version_number},
    )
    client_id: str = field(default="shipper", metadata={"doc": "The client id in the broker's logs and quotas."})
    compression: Annotated[Compression, parse_compression_codec] = field(
        default="lz4", metadata={"doc": "The compression of batches."}
    )
    compression_level: int | None = field(
        default=None, metadata={"doc": "The compression level; the codec's default when absent.", "min": -1, "max": 12}
    )
    max_message_bytes: Size = field(
        default=1_000_000,
        metadata={"doc": "Maximum record size; `oversized` decides about larger events.", "min": 1000},
    )
    oversized: Literal["cut", "split", "dead_letter"] = field(
        default="cut",
        metadata={
            "since": "0.3",
            "doc": "What happens to larger events: the message is truncated and flagged (cut), sent in numbered parts "
            "(split), or the event is sent to the dead letter (dead_letter).",
        },
    )
    username: str | None = field(default=None, metadata={"doc": "The user name; unless empty, it enables SASL."})
    password: Secret | None = field(default=None, metadata={"doc": "The password of `username`."})
    sasl: SaslConfig = field(default_factory=SaslConfig)
    ssl: SslConfig = field(default_factory=SslConfig)
    backoff: BackoffConfig = field(default_factory=BackoffConfig)
    delivery: Literal["at_least_once", "exactly_once"] = field(
        default="at_least_once",
        metadata={
            "since": "0.3",
            "doc": "at_least_once: lines may be repeated after a crash; exactly_once: Kafka transactions, so that "
            "consumers with read_committed see each line once.",
        },
    )
    transaction: TransactionConfig | None = None
    kerberos: KerberosConfig | None = field(default=None)
    # Excluded from repr: raw settings may contain secrets (ssl.key.password).
    librdkafka: dict[str, str | int | float | bool] = field(
        default_factory=dict,
        repr=False,
        metadata={"doc": "Settings for librdkafka; they override the shipper's."},
    )
    metadata: MetadataConfig | None = field(default=None, metadata=_unused(_CLIENT))
    required_acks: int | None = field(
        default=None,
        metadata=_unused(
            "positions advance only past records acknowledged by all in-sync replicas (-1)", min=-1, max=1
        ),
    )
    max_retries: int | None = field(default=None, metadata=_unused(_RETRIES, min=-1))
    bulk_max_size: int | None = field(default=None, metadata=_unused(_SIZED, min=0))
    bulk_flush_frequency: Duration | None = field(default=None, metadata=_unused(_SIZED))
    channel_buffer_size: int | None = field(default=None, metadata=_unused(_SIZED, min=1))
    timeout: Duration | None = field(default=None, metadata=_unused(_CLIENT, min=0.001))
    broker_timeout: Duration | None = field(default=None, metadata=_unused(_CLIENT, min=0.001))
    keep_alive: Duration | None = field(default=None, metadata=_unused(_CLIENT))
    queue: QueueConfig | None = field(default=None, metadata=_unused("set queue.mem at the top level"))

    @property
    def brokers(self) -> tuple[str, ...]:
        return self.hosts

    @property
    def fixed_topics(self) -> set[str]:
        named = {self.topic, *(rule.topic for rule in self.topics), *(rule.default or "" for rule in self.topics)}
        named |= {topic for rule in self.topics for topic in rule.mappings.values() if topic}
        return {topic for topic in named if is_topic(topic)}

    def check(self) -> Iterator[Finding]:
        if not self.topic and not self.topics:
            yield "topic", "missing; name the topic to send records to"
        if self.transaction is not None and self.delivery != "exactly_once":
            yield "transaction", "needs delivery: exactly_once; set it, or remove transaction"
        yield from shorter_than_a_transaction(self.transaction or TransactionConfig(), self.librdkafka)
        if self.transaction is not None:
            yield from ((f"transaction.topic{below}", fault) for below, fault in topic_name(self.transaction.topic))
        tls = bool(self.ssl.enabled)
        yield from credentials(self.username, self.password, self.sasl, self.kerberos, tls=tls)

    def remarks(self) -> Iterator[Finding]:
        yield from unused_mechanism(self.sasl, self.username, self.librdkafka)

    @property
    def commits_positions(self) -> bool:
        return self.delivery == "exactly_once"

    @property
    def record_limit(self) -> int:
        """Return the maximum size of a record value that fits into a message with the configured key and headers, in
        bytes.
        """
        headers = sum(
            len(header.key.encode()) + len(header.value.reveal().encode()) + HEADER for header in self.headers
        )
        return max(self.max_message_bytes - ENVELOPE - headers - (KEY if self.key else 0), 1)

    def message_limit(self, wanted: int) -> int:
        return min(wanted, self.record_limit) if self.oversized == "cut" else wanted

    def conditions(self) -> Iterator[tuple[str, ConditionConfig]]:
        yield from ((f"topics[{index}].when", rule.when) for index, rule in enumerate(self.topics) if rule.when)
