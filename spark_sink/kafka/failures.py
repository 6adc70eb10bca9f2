"""Translates errors of the Kafka client into plain words, by a table."""

import re

from confluent_kafka import KafkaError

from log_shipper.spark_sink.errors import SinkError

# A pattern of an error's name and text -> its meaning. The first match counts, so specific patterns come first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"_AUTO_OFFSET_RESET|OFFSET_OUT_OF_RANGE",
        "records were deleted in Kafka before they were read (retention, or a topic that was re-created); to skip "
        "them, set lost_offsets: continue, which records the missing offsets in the dead-letter table. To land rows "
        "again that a table lost and Kafka still has, run spark-sink repair --from-kafka",
    ),
    (r"Unsupported SASL mechanism", "the broker does not support this SASL mechanism: check kafka.sasl.mechanism"),
    (
        r"not valid in current SASL state|mechanism handshake failed",
        "the broker's listener does not use SASL: check the port, or remove kafka.username and kafka.sasl",
    ),
    (
        r"certificate verify failed",
        "the broker's certificate is not trusted: add its authority's PEM file to kafka.ssl.certificate_authorities. "
        "If it is for another host name, use that name in kafka.hosts, or set kafka.ssl.verification_mode: "
        "certificate",
    ),
    (
        r"SSL alert number (4[2-8]|116)\b",
        "the broker refuses the client's certificate: check that kafka.ssl.certificate is set, has not expired, and "
        "was issued by an authority that the broker trusts",
    ),
    (
        r"PLAINTEXT broker listener\?|wrong version number",
        "the broker's listener does not use TLS: check the port, or remove kafka.ssl",
    ),
    (
        r"OAUTHBEARER|oauthbearer",
        "no token for Kafka: check kafka.sasl.oauthbearer or kafka.sasl.aws_msk_iam, and the provider",
    ),
    (
        r"_AUTHENTICATION|SASL_AUTHENTICATION_FAILED",
        "Kafka refused the credentials (kafka.username, kafka.password, kafka.sasl.mechanism)",
    ),
    (
        r"_SSL",
        "the TLS handshake with Kafka failed: check kafka.ssl, and whether the broker requires a client certificate",
    ),
    (r"GROUP_AUTHORIZATION_FAILED", "these credentials lack the permission to use the consumer group"),
    (r"TOPIC_AUTHORIZATION_FAILED", "these credentials lack the permission to read the topic"),
    (r"AUTHORIZATION_FAILED", "these credentials lack the required permission"),
    (
        r"NON_EMPTY_GROUP|UNKNOWN_MEMBER_ID|REBALANCE_IN_PROGRESS",
        "another program uses this consumer group: set kafka.group_id to a group of the sink's own",
    ),
    (
        r"_UNKNOWN_TOPIC|_UNKNOWN_PARTITION|UNKNOWN_TOPIC_OR_PART|UNKNOWN_TOPIC_ID",
        "the topic does not exist: create it, or remove it from the configuration",
    ),
    (r"NOT_COORDINATOR|COORDINATOR_", "the group has no coordinator: check that all brokers are up"),
    (r"LEADER", "a partition has no leader: check that all brokers are up"),
    (r"_RESOLVE", "a host name cannot be resolved: check kafka.hosts and DNS"),
    (
        r"_TIMED_OUT|_TRANSPORT|_ALL_BROKERS_DOWN|REQUEST_TIMED_OUT|NOT_AVAILABLE|_WAIT_",
        "Kafka is not responding, or its listener has another security protocol (TLS, SASL)",
    ),
)
# Errors that a retry does not fix. Others may come from a broker that restarts.
CERTAIN = frozenset(
    {KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._RESOLVE}
)
NO_ANSWER = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})
# A client with an outdated leader of a partition gets these errors until its metadata expires, perhaps for minutes
# after a broker was killed.
LEADER_MOVED = frozenset(
    {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH}
)
# Errors of a cluster while brokers start, or take over from each other.
TEMPORARY = (
    NO_ANSWER
    | LEADER_MOVED
    | {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError._NOENT,  # the client itself, if none of the partitions has a leader
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
    }
)


def is_certain(error: KafkaError) -> bool:
    """Return True if waiting does not help. If a provider gives no token, the previous one may still be valid."""
    return error.code() in CERTAIN and "token" not in error.str()


def translate(error: KafkaError, doing: str) -> SinkError:
    """Return an error with `doing` ("cannot read from Kafka at b:9092"), and the meaning and text of `error`."""
    known = f"{error.name()}: {error.str()}"
    meaning = next((words for pattern, words in MEANINGS if re.search(pattern, known)), "")
    return SinkError(": ".join(part for part in (doing, meaning, error.str()) if part))
