"""The errors that end the sink, with messages for the person who reads the last line.

    SinkError           the job cannot continue; the message has what happened and what to do
    └── Refused         it could continue, but would lose rows or land them twice

Spark reports everything as one kind of exception with a long text. It is translated once, here, by a table.
"""

import re

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException

# A call into the JVM raises the first for errors that PySpark knows, the second for all others.
SPARK_ERRORS = (PySparkException, Py4JError)


class SinkError(Exception):
    """The job cannot continue."""


class Refused(SinkError):
    """To continue would lose rows or land them twice."""


# An error of ours in a batch comes back as Spark's text, with Python's trace in it: the message is on the line of its
# class.
OURS = re.compile(r"^spark_sink\.errors\.(?:SinkError|Refused): (.+)$", re.MULTILINE)

# What Spark's text contains -> what it means. The first match counts, so the specific ones come first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"Added partition .* starts from",
        "Kafka has deleted the first records of a topic or partition that was not read before; to begin at the first "
        "one there is, set lost_offsets: continue",
    ),
    (
        r"Partitions .* have been deleted",
        "a topic or partition that was read is deleted in Kafka, or no longer named under `kafka`. To continue without "
        "it, take it out of kafka.topics or kafka.partitions (a start waits for what is named), and set lost_offsets: "
        "continue until a batch has landed",
    ),
    (
        r"KAFKA_DATA_LOSS|failOnDataLoss|OffsetOutOfRange",
        "records were deleted in Kafka before they were read (retention, or a topic that was re-created); to continue "
        "without them, set lost_offsets: continue, which records the missing offsets in the dead-letter table. Lines "
        "that a table lost while Kafka still has them come back by spark-sink repair --from-kafka",
    ),
    (
        r"START_OFFSET_DOES_NOT_MATCH_ASSIGNED|you must specify all TopicPartitions",
        "topics or partitions came or went while the job started: start it again",
    ),
    (
        r"mechanism '\S*' not enabled in the server|UnsupportedSaslMechanism",
        "Kafka does not accept this SASL mechanism: look at kafka.sasl.mechanism",
    ),
    (
        r"No (name|subject alternative \w+) .*(matching|found|present)|No subject alternative names",
        "the broker's certificate is for another host name: name the broker as in the certificate, or set "
        "kafka.ssl.verification_mode: certificate",
    ),
    (
        r"PKIX path|unable to find valid certification path|TrustAnchor|trustAnchors",
        "the broker's certificate comes from an authority that is not trusted: name that one's PEM file under "
        "kafka.ssl.certificate_authorities",
    ),
    (
        r"Unsupported or unrecognized SSL message|plaintext connection\?",
        "the broker's listener does not speak TLS: look at the port, or leave out kafka.ssl",
    ),
    (
        r"IllegalSaslState",
        "the broker's listener wants no password: look at the port, or leave out kafka.username",
    ),
    (
        r"SecretKeyFactory not available",
        "this Java does not open a key that is encrypted in this way (Java 21 does): give kafka.ssl.key without "
        "encryption (openssl pkcs8 -topk8 -nocrypt), readable by the sink alone",
    ),
    (r"BadPaddingException", "kafka.ssl.key_passphrase does not open kafka.ssl.key"),
    (
        r"SaslAuthentication",
        "Kafka refused the credentials (kafka.username, kafka.password, kafka.sasl.mechanism)",
    ),
    (
        r"SslAuthentication|SSL handshake failed",
        "Kafka and this client do not agree on TLS (kafka.ssl, or a client certificate that Kafka wants)",
    ),
    (r"AuthenticationException", "Kafka refused the credentials"),
    (r"GroupAuthorizationException", "these credentials may not use the consumer group"),
    (r"TopicAuthorizationException", "these credentials may not read the topic"),
    (r"AuthorizationException", "these credentials may not do this"),
    (
        r"GroupNotEmpty|UnknownMemberId|RebalanceInProgress",
        "another program consumes as this group: name one of the sink's own as kafka.group_id",
    ),
    (
        r"UnknownTopicOrPartition",
        "Kafka does not have the topic (any more): create it, or remove it from the configuration",
    ),
    (
        r"ConfigException|No resolvable bootstrap|Failed to construct kafka|Failed to create new KafkaAdminClient",
        "Kafka's client does not take these settings",
    ),
    (
        r"(kafka\S*|java\.util\.concurrent)\.TimeoutException|DisconnectException|Timed out waiting for a node",
        "Kafka does not answer, or its listener is of another kind (TLS, SASL)",
    ),
    (r"AccessControlException|Permission denied|Mkdirs failed|mkdir of|AccessDenied", "no permission to write"),
    (r"No space left on device", "the disk is full"),
    (r"UnsupportedFileSystem|No FileSystem for scheme", "Spark has no file system for this kind of path"),
    (r"DELTA_MISSING_TRANSACTION_LOG|is not a Delta table", "the directory is not empty, and is not a Delta table"),
    (
        r"DELTA_FAILED_TO_MERGE_FIELDS|DELTA_METADATA_MISMATCH|schema mismatch|DELTA_CREATE_TABLE_SCHEME_MISMATCH",
        "the table has columns that do not fit",
    ),
    (
        r"Failed to find data source|ClassNotFoundException",
        "a jar is missing: under spark-submit name its package by --packages, else by spark.jars.packages",
    ),
    (
        r"ModuleNotFoundError",
        "the Python of an executor lacks a package: name the archive of the sink's packages by --archives, or install "
        "them there (docs/cluster.md)",
    ),
    (
        r"JAVA_GATEWAY_EXITED|Java gateway process exited",
        "Java did not start, and the lines above say why. Unresolved dependencies are jars that could not be fetched: "
        "fill SHIPPER_CACHE where there is a network (python -m spark_sink.platform.jars), and copy it here. Else look "
        "at spark.driver.memory and spark.driver.extraJavaOptions",
    ),
    (r"OutOfMemoryError", "the JVM has too little memory: lower max_offsets_per_trigger, or raise spark.driver.memory"),
)


def translate(text: str, doing: str) -> SinkError:
    """Return an error with `doing` ("writing to /data/logs"), the meaning of Spark's text and its root cause; where the
    text has an error of ours, with that one's message alone."""
    if ours := OURS.findall(text):
        parts = [ours[-1]]
    else:
        parts = [
            next((meaning for pattern, meaning in MEANINGS if re.search(pattern, text, re.IGNORECASE)), ""),
            root_cause(text),
        ]
    return SinkError(": ".join(part for part in (doing, *parts) if part))


def root_cause(text: str) -> str:
    """Return the innermost cause in a Java stack trace; without one, the reason at the end of what Spark's Kafka source
    reports of every loss; else the first line."""
    causes = re.findall(r"^\s*Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", text, re.MULTILINE)
    causes = causes or re.findall(r"^Reason: (.+)$", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(("JVM stacktrace", "An error occurred"))), "")
    return (causes[-1] if causes else re.sub(r"^: ", "", first))[:400]
