"""The Kafka topics that the sink reads, and the connection to Kafka, with the same options as the shipper's."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self

from log_shipper.config.text.checks import Finding, addresses
from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.units import Duration
from log_shipper.runtime.kafka.security_options import KerberosConfig, SaslConfig, credentials, unused_mechanism
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.spark_sink.options.java_options import Raw, findings, librdkafka_name, taken_over

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NO_GROUP = "has no effect, because the sink joins no group: remove it"
_DECIDED = "would lose or repeat records, because the checkpoint has the offsets: remove it"
# Settings of librdkafka that guarantees depend on, that have no effect, or that duplicate an option.
NOT_RAW = {
    **dict.fromkeys(("bootstrap.servers", "metadata.broker.list"), "set kafka.hosts instead"),
    "client.id": "set kafka.client_id instead",
    "group.id": "set kafka.group_id instead",
    **dict.fromkeys(("enable.auto.commit", "auto.commit.enable", "auto.commit.interval.ms"), _DECIDED),
    **dict.fromkeys(("enable.auto.offset.store", "offset.store.method", "auto.offset.reset"), _DECIDED),
    "enable.partition.eof": "is always true, because tasks need the end of a partition: remove it",
    **dict.fromkeys(("group.instance.id", "group.protocol", "group.protocol.type", "group.remote.assignor"), _NO_GROUP),
    **dict.fromkeys(("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"), _NO_GROUP),
    "max.poll.interval.ms": _NO_GROUP,
}
ISOLATION = ("read_committed", "read_uncommitted")


def topic_names(topics: tuple[str, ...]) -> Iterator[Finding]:
    """Check that each topic name is valid, and occurs once."""
    for topic in topics:
        if "*" in topic:
            yield "", f"{topic!r} is not the name of a topic; to match several topics, use kafka.topics_pattern"
        elif not _NAME.fullmatch(topic) or topic in (".", ".."):
            yield (
                "",
                f"{topic!r} is not a valid topic name: use up to 249 letters, digits, dots, underscores and dashes",
            )
    for topic in sorted({topic for topic in topics if topics.count(topic) > 1}):
        yield "", f"{topic!r} is given twice"


def topic_pattern(text: str) -> Iterator[Finding]:
    r"""Check a Python regular expression. Syntax that only Java supports does not compile (`\p{L}`, `\Q`, `(?<name>`),
    or makes a warning (`[a-z&&[^b]]`), because Python interprets it differently."""
    if not text.strip():
        yield "", "is empty"
    try:
        with warnings.catch_warnings(action="error", category=FutureWarning):
            re.compile(text)
    except FutureWarning:
        yield (
            "",
            f"{text!r} has nested character sets, or &&, -- or ~~, which Python's regular expressions do not support; "
            "write one set, with a backslash before literal characters",
        )
    except re.error as error:
        words = f"{text!r} is not a regular expression: {error}"
        if "nothing to repeat" in str(error):
            words += "; '.*' stands for any text"
        elif str(error).startswith(("bad escape", "unknown extension")):
            words += (
                "; Python's syntax differs from Java's: write [A-Za-z] for \\p{Alpha}, \\. for \\Q.\\E, "
                "(?P<name>...) for (?<name>...)"
            )
        yield "", words


def raw_settings(settings: Raw) -> Iterator[Finding]:
    for name, value in settings.items():
        if way_out := NOT_RAW.get(name):
            yield name, way_out
        if name == "isolation.level" and value not in ISOLATION:
            yield name, f"{value!r} must be one of: {', '.join(ISOLATION)}"


def some_partitions(partitions: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    for topic, message in topic_names(tuple(partitions)):
        yield topic, message
    for topic, numbers in partitions.items():
        if not numbers:
            yield topic, "names no partition"
        if any(number < 0 for number in numbers):
            yield topic, "must be partition numbers, from 0"
        if len(set(numbers)) < len(numbers):
            yield topic, "names a partition twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    hosts: tuple[str, ...] = field(
        metadata={
            "key": ("hosts", "bootstrap_servers"),
            "doc": "Bootstrap brokers, as host:port.",
            "check": addresses,
            "split": ",",
            "missing": "name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
        }
    )
    topics: tuple[str, ...] = field(
        default=(),
        metadata={
            "key": ("topics", "topic"),
            "doc": "Topics to read. Set exactly one of topics, topics_pattern and partitions.",
            "check": topic_names,
            "split": ",",
        },
    )
    topics_pattern: str = field(
        default="",
        metadata={
            "since": "0.3",
            "doc": "Reads all topics whose full name matches this regular expression (Python), including new ones.",
            "check": topic_pattern,
        },
    )
    partitions: dict[str, tuple[int, ...]] = field(
        default_factory=dict,
        metadata={
            "since": "0.3",
            "doc": "Partitions to read, by topic: `logs: [0, 1]`. Ignores new partitions.",
            "check": some_partitions,
        },
    )
    client_id: str = field(
        default="spark-sink",
        metadata={"since": "0.3", "doc": "Client name in the broker's logs and quotas."},
    )
    username: str | None = field(
        default=None,
        metadata={"since": "0.3", "doc": "User name; enables SASL with a password."},
    )
    password: Secret | None = field(default=None, metadata={"since": "0.3", "doc": "Password of `username`."})
    sasl: SaslConfig = field(default_factory=SaslConfig, metadata={"since": "0.3"})
    ssl: SslConfig = field(default_factory=SslConfig, metadata={"since": "0.3"})
    kerberos: KerberosConfig | None = field(default=None, metadata={"since": "0.3"})
    metadata_max_age: Duration = field(
        default=30.0,
        metadata={
            "since": "0.3",
            "doc": "Interval of checks for new topics and partitions.",
            "min": 1,
        },
    )
    group_id: str = field(
        default="spark-sink",
        metadata={
            "since": "0.3",
            "doc": "Consumer group to which the sink commits offsets, so that Kafka's tools show its lag; `''` "
            "disables this. The sink reads these offsets only with `start: committed`.",
        },
    )
    # Not shown: raw settings may contain secrets (ssl.key.password).
    librdkafka: Raw = field(
        default_factory=dict,
        repr=False,
        metadata={
            "since": "0.3",
            "doc": "Raw librdkafka settings, such as `fetch.message.max.bytes: 4194304`; they override the sink's. "
            "Files that they name must exist on each machine.",
            "check": raw_settings,
        },
    )
    options: Raw = field(
        default_factory=dict,
        repr=False,
        metadata={
            "doc": "Deprecated settings of the Java client. The sink maps them to `librdkafka` where possible and "
            "otherwise reports the replacement.",
            "check": findings,
        },
    )

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("topics", "topics_pattern", "partitions") if getattr(self, name)]
        if not given:
            yield "topics", "missing; name at least one topic, or give topics_pattern or partitions"
        for name in given[1:]:
            yield name, f"given beside {given[0]}; keep one"
        yield from ((f"options.kafka.{name}", fault) for name, fault in raw_settings(taken_over(self.options)))
        tls = bool(self.ssl.enabled)
        yield from credentials(self.username, self.password, self.sasl, self.kerberos, tls=tls)

    def remarks(self) -> Iterator[Finding]:
        yield from unused_mechanism(self.sasl, self.username, self.librdkafka)
        for name in self.options:
            yield f"options.{name}", f"is now kafka.librdkafka.{librdkafka_name(name)}; write it there"

    def converted(self) -> Self:
        """Return the source with the settings of Java's client mapped to librdkafka."""
        if not self.options:
            return self
        return replace(self, librdkafka=taken_over(self.options) | self.librdkafka, options={})

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.hosts)

    @property
    def topic_names(self) -> tuple[str, ...]:
        """Return the configured topics; none with a pattern."""
        return self.topics or tuple(self.partitions)

    @property
    def described(self) -> str:
        """Return the topics for messages: "topic logs", "topics a, b", "topics like 'logs-.*'"."""
        if self.topics_pattern:
            return f"topics like {self.topics_pattern!r}"
        return f"topic{'s' if len(self.topic_names) > 1 else ''} {', '.join(self.topic_names)}"
