"""Define the options of `type: kafka`, which reads topics as a member of a consumer group."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, addresses, not_blank
from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.units import Duration, Size
from log_shipper.runtime.kafka.security_options import KerberosConfig, SaslConfig, credentials, unused_mechanism
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.inputs import PublisherPipelineConfig
from log_shipper.shipper.options.kafka import version_number
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.topics import NOT_A_TOPIC, is_topic
from log_shipper.shipper.reader.base import ParserConfig

_DECIDED = (
    "cannot be set, because it could lose or repeat records: the shipper commits offsets after delivery; remove it"
)
# Settings of librdkafka on which guarantees depend, or that are another name of an option.
NOT_RAW = {
    **dict.fromkeys(("bootstrap.servers", "metadata.broker.list"), "set hosts instead"),
    **dict.fromkeys(("enable.auto.commit", "auto.commit.enable", "auto.commit.interval.ms"), _DECIDED),
    **dict.fromkeys(("enable.auto.offset.store", "offset.store.method"), _DECIDED),
    "auto.offset.reset": "set initial_offset and out_of_range instead",
    "enable.partition.eof": "is always true: remove it",
    "client.id": "set client_id instead",
    "group.id": "set group_id instead",
    "group.instance.id": "set group_instance_id instead",
    "isolation.level": "set isolation_level instead",
    "partition.assignment.strategy": "set rebalance.strategy instead",
    **dict.fromkeys(
        ("group.protocol", "group.protocol.type", "group.remote.assignor"),
        "is not supported: only the classic group protocol, which every broker has; remove it",
    ),
}

InitialOffset = Literal["earliest", "latest"] | datetime


def parse_initial_offset(text: str) -> InitialOffset:
    """Return where a group without committed offsets begins. Raises ValueError."""
    if text in ("oldest", "earliest"):
        return "earliest"
    if text in ("newest", "latest"):
        return "latest"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or "T" not in text.upper():
        raise ValueError(
            f"{text!r} must be oldest (or earliest), newest (or latest), or a time such as 2026-01-31T08:00:00Z"
        )
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def names_or_patterns(topics: tuple[str, ...]) -> Iterator[Finding]:
    for topic in topics:
        if topic.startswith("^"):
            try:
                re.compile(topic)
            except re.error as error:
                yield "", f"{topic!r} is not a regular expression: {error}"
        elif not is_topic(topic):
            yield "", f"{topic!r} {NOT_A_TOPIC}; a regular expression begins with ^"
    for topic in sorted({topic for topic in topics if topics.count(topic) > 1}):
        yield "", f"{topic!r} is given twice"


def raw_settings(settings: dict[str, Any]) -> Iterator[Finding]:
    yield from ((name, way_out) for name in settings if (way_out := NOT_RAW.get(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchConfig:
    min: Size = field(default=1, metadata={"doc": "Minimum bytes of a fetch response.", "min": 1})
    default: Size = field(
        default=1024**2,
        metadata={"doc": "Maximum bytes per partition in a fetch response; a single record may be larger.", "min": 1},
    )
    max: Size = field(
        default=0, metadata={"doc": "Maximum bytes of a fetch response; 0 means the client's default (50 MiB)."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceConfig:
    strategy: Literal["range", "roundrobin", "cooperative-sticky"] = field(
        default="range",
        metadata={
            "doc": "How partitions are assigned to the members. With cooperative-sticky, partitions that keep their "
            "member are consumed during a rebalance; all members must use the same strategy."
        },
    )
    timeout: Duration = field(
        default=60.0,
        metadata={
            "doc": "How long a member may take to rejoin in a rebalance. The group waits as long, but at most 45s, for "
            "one that stops sending heartbeats.",
            "min": 2,
            "max": 1800,
        },
    )
    max_retries: int | None = field(
        default=None,
        metadata={"doc": "Accepted and ignored.", "unused": "retries continue until they succeed", "min": 0},
    )
    retry_backoff: Duration | None = field(
        default=None, metadata={"doc": "Accepted and ignored.", "unused": "the client has its own"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPipelineConfig(PublisherPipelineConfig):
    disable_host: bool = field(
        default=True,
        metadata={
            "doc": "Leaves `host.name` out of events, so that a record sent again by an agent on another host after a "
            "rebalance is the same event."
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaInputConfig(FeedConfig):
    since: ClassVar = "0.3"
    not_yet: ClassVar = filebeat.KAFKA_INPUT_NOT_YET
    of_first_line: ClassVar[tuple[str, ...]] = ("@timestamp", "kafka")  # `kafka.offset` is `log.offset`
    type: str = field(default="kafka", metadata={"doc": "The input type."})
    hosts: tuple[str, ...] = field(
        metadata={
            "doc": "Bootstrap brokers as host:port.",
            "check": addresses,
            "split": ",",
            "missing": "name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
        }
    )
    topics: tuple[str, ...] = field(
        metadata={
            "doc": "Topics to read. A name that begins with `^` is a regular expression; matching topics are read, "
            "including those created later.",
            "check": names_or_patterns,
            "split": ",",
            "missing": "name at least one topic",
        }
    )
    group_id: str = field(
        metadata={
            "doc": "The consumer group. Its members share the partitions, and its committed offsets are the positions.",
            "check": not_blank,
            "missing": "set the consumer group, whose offsets are the positions of the input",
        }
    )
    group_instance_id: str = field(
        default="",
        metadata={
            "doc": "A member name that survives restarts (static membership): a restart within the session timeout "
            "then causes no rebalance. Each member needs its own."
        },
    )
    client_id: str = field(default="shipper", metadata={"doc": "The client id in the broker's logs and quotas."})
    version: str | None = field(
        default=None,
        metadata={"doc": "Accepted and ignored: the client negotiates the version.", "check": version_number},
    )
    initial_offset: Annotated[InitialOffset, parse_initial_offset] = field(
        default="earliest",
        metadata={
            "doc": "Where to start in a partition without a committed offset: `oldest` (earliest), `newest` (latest), "
            "or a time (RFC 3339). With newest, partitions added later are still read from their first record."
        },
    )
    out_of_range: Literal["earliest", "latest", "fail"] = field(
        default="earliest",
        metadata={
            "doc": "What to do when Kafka has deleted records before they were read: continue at the first available "
            "record (earliest) or at the end (latest), with a log message and a count; or stop the partition "
            "and show a problem (fail)."
        },
    )
    isolation_level: Literal["read_uncommitted", "read_committed"] = field(
        default="read_uncommitted",
        metadata={"doc": "Whether uncommitted and aborted records of transactions are read."},
    )
    max_wait_time: Duration = field(
        default=0.25, metadata={"doc": "Maximum time a broker waits for `fetch.min` bytes.", "min": 0.001, "max": 300}
    )
    wait_close: Duration = field(
        default=2.0,
        metadata={
            "doc": "How long to wait for records in flight when the input stops or loses a partition. Undelivered "
            "records are read again."
        },
    )
    fetch: FetchConfig = field(default_factory=FetchConfig)
    rebalance: RebalanceConfig = field(default_factory=RebalanceConfig)
    parsers: tuple[ParserConfig, ...] = field(
        default=(),
        metadata={
            "doc": "Parsers for the value of each record, applied in order, as to the lines of a file.",
            "read_as": PARSERS,
        },
    )
    publisher_pipeline: KafkaPipelineConfig = field(default_factory=KafkaPipelineConfig)
    username: str | None = field(default=None, metadata={"doc": "The user name; unless empty, it enables SASL."})
    password: Secret | None = field(default=None, metadata={"doc": "The password of `username`."})
    sasl: SaslConfig = field(default_factory=SaslConfig)
    ssl: SslConfig = field(default_factory=SslConfig)
    kerberos: KerberosConfig | None = field(default=None)
    # Not shown: raw settings may contain secrets (ssl.key.password).
    librdkafka: dict[str, str | int | float | bool] = field(
        default_factory=dict,
        repr=False,
        metadata={"doc": "Settings for librdkafka; they override the shipper's.", "check": raw_settings},
    )
    connect_backoff: Duration | None = field(
        default=None, metadata={"doc": "Accepted and ignored.", "unused": "the client has its own"}
    )
    consume_backoff: Duration | None = field(
        default=None, metadata={"doc": "Accepted and ignored.", "unused": "the client has its own"}
    )

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(f"{topic} as group {self.group_id}" for topic in self.topics)

    def check(self) -> Iterator[Finding]:
        tls = bool(self.ssl.enabled)
        yield from credentials(self.username, self.password, self.sasl, self.kerberos, tls=tls)

    def remarks(self) -> Iterator[Finding]:
        yield from unused_mechanism(self.sasl, self.username, self.librdkafka)

    def matches(self, topic: str) -> bool:
        """Return True if the input reads a topic of this name."""
        return any(re.match(name, topic) if name.startswith("^") else name == topic for name in self.topics)

    def patterns_of(self, topics: Iterable[str]) -> list[str]:
        """Return the regular expressions that match at least one of these topics."""
        names = list(topics)
        return [name for name in self.topics if name.startswith("^") and any(re.match(name, topic) for topic in names)]
