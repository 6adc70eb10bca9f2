"""The Kafka topics that the sink reads, and the connection to them.

The client is Java's, which lacks some abilities of the shipper's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from config.shipper.kafka_security import PASSWORD_MECHANISMS, PasswordMechanism, password_of_user
from config.shipper.tls import ClientSslConfig, VerificationMode
from config.text.checks import Finding, addresses
from config.text.units import Duration

Raw = dict[str, str | int | float | bool]
# Options of Spark's source that would override other options, or what the checks and the tables rely on.
_OURS = {
    **dict.fromkeys(("subscribe", "subscribepattern", "assign"), "kafka.topics, topics_pattern or partitions"),
    **dict.fromkeys(("startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp"), "start"),
    "includeheaders": "the sink, which lands texts by their headers",
    **dict.fromkeys(("endingoffsets", "endingoffsetsbytimestamp", "endingtimestamp"), "stop"),
}
_JAVA: dict[str, Any] = {
    "doc": "Accepted and not used: Java chooses.",
    "unused": "Java chooses; set raw client settings below kafka.options, such as kafka.ssl.cipher.suites",
}
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
# Syntax of Java's regular expressions that Python's lack: a pattern with one of these is checked by Java alone.
_JAVA_ONLY = re.compile(r"\\[pPQEhHRXkzGK]|&&|\(\?<[A-Za-z]|\[[^\]]*\[")


def topic_names(topics: tuple[str, ...]) -> Iterator[Finding]:
    """Check that each is the name of a topic, and is given once."""
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


def java_pattern(text: str) -> Iterator[Finding]:
    if not text.strip():
        yield "", "is empty"
    if _JAVA_ONLY.search(text):
        return
    try:
        re.compile(text)
    except re.error as error:
        words = f"{text!r} is not a regular expression: {error}"
        yield "", f"{words}; '.*' stands for any text" if "nothing to repeat" in str(error) else words


def raw_options(options: Raw) -> Iterator[Finding]:
    for name in options:
        other = _OURS.get(name.lower())
        if other:
            yield name, f"is set by {other}"


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


def parse_mechanism(text: str) -> PasswordMechanism:
    """Return the mechanism, whatever its case; "" is PLAIN. Raises ValueError."""
    for mechanism in PASSWORD_MECHANISMS:
        if (text or "PLAIN").upper() == mechanism:
            return mechanism
    known = ", ".join(PASSWORD_MECHANISMS)
    raise ValueError(f"{text!r} must be one of: {known}; for others set raw options, as in kafka.sasl.mechanism")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSaslConfig:
    mechanism: Annotated[PasswordMechanism, parse_mechanism] = field(
        default="PLAIN", metadata={"doc": "The SASL mechanism for username and password."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSslConfig(ClientSslConfig):
    not_yet: ClassVar = {
        "ca_sha256": "name the authority's file in certificate_authorities",
        "ca_trusted_fingerprint": "name the authority's file in certificate_authorities",
    }
    ignored: ClassVar = dict.fromkeys(
        ("certificate_reload", "restart_on_cert_change"), "restart the sink after certificates were renewed"
    )
    verification_mode: VerificationMode = field(
        default="full",
        metadata={
            "doc": "How the broker's certificate is verified: fully (full, strict), or without the host name "
            "(certificate); Java cannot skip the verification (none)."
        },
    )
    supported_protocols: tuple[str, ...] = field(default=(), metadata=_JAVA)
    cipher_suites: tuple[str, ...] = field(default=(), metadata=_JAVA)
    curve_types: tuple[str, ...] = field(default=(), metadata=_JAVA)
    renegotiation: Literal["never", "once", "freely"] = field(default="never", metadata=_JAVA)

    def check(self) -> Iterator[Finding]:
        # With its name: slots=True creates a second class, and super() would refer to the first.
        yield from ClientSslConfig.check(self)
        if self.verification_mode == "none" and self.enabled is not False:
            yield (
                "verification_mode",
                "none is not possible: Kafka's Java client always verifies the certificate; name the broker's own "
                "in certificate_authorities, and with 'certificate' its host name is not checked",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    hosts: tuple[str, ...] = field(
        metadata={
            "key": ("hosts", "bootstrap_servers"),
            "doc": "Bootstrap brokers, each host:port.",
            "check": addresses,
            "split": ",",
            "missing": "name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
        }
    )
    topics: tuple[str, ...] = field(
        default=(),
        metadata={
            "key": ("topics", "topic"),
            "doc": "The topics to read. Exactly one of topics, topics_pattern and partitions is given.",
            "check": topic_names,
            "split": ",",
        },
    )
    topics_pattern: str = field(
        default="",
        metadata={
            "since": "0.2",
            "doc": "A Java regular expression that the whole name of a topic must match; new topics are picked up.",
            "check": java_pattern,
        },
    )
    partitions: dict[str, tuple[int, ...]] = field(
        default_factory=dict,
        metadata={
            "since": "0.2",
            "doc": "Only these partitions, by topic: `logs: [0, 1]`; new partitions are not picked up.",
            "check": some_partitions,
        },
    )
    username: str | None = field(
        default=None, metadata={"since": "0.2", "doc": "The user name; turns SASL on unless it is empty."}
    )
    password: str | None = field(
        default=None, repr=False, metadata={"since": "0.2", "doc": "The password of `username`."}
    )
    sasl: SourceSaslConfig = field(default_factory=SourceSaslConfig, metadata={"since": "0.2"})
    ssl: SourceSslConfig = field(default_factory=SourceSslConfig, metadata={"since": "0.2"})
    metadata_max_age: Duration = field(
        default=30.0,
        metadata={
            "since": "0.2",
            "doc": "How often new topics and partitions are looked up.",
            "min": 1,
        },
    )
    group_id: str = field(
        default="spark-sink",
        metadata={
            "since": "0.2",
            "doc": "The consumer group in which Kafka's tools show the sink's lag; `''` for none. "
            "The sink itself reads it only with `start: committed`.",
        },
    )
    # Not shown: raw settings may contain secrets (kafka.sasl.jaas.config).
    options: Raw = field(
        default_factory=dict,
        repr=False,
        metadata={
            "doc": "Raw options of Spark's Kafka source (`kafka.max.poll.records: 500`); they take precedence over "
            "the sink's.",
            "check": raw_options,
        },
    )

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("topics", "topics_pattern", "partitions") if getattr(self, name)]
        if not given:
            yield "topics", "missing; name at least one topic, or give topics_pattern or partitions"
        for name in given[1:]:
            yield name, f"given beside {given[0]}; keep one"
        yield from password_of_user(self.username, self.password)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.hosts)

    @property
    def topic_names(self) -> tuple[str, ...]:
        """Return the topics that are named; none where a pattern selects them."""
        return self.topics or tuple(self.partitions)

    @property
    def described(self) -> str:
        """Return the topics for messages: "topic logs", "topics a, b", "topics like 'logs-.*'"."""
        if self.topics_pattern:
            return f"topics like {self.topics_pattern!r}"
        return f"topic{'s' if len(self.topic_names) > 1 else ''} {', '.join(self.topic_names)}"
