"""What can end the sink, in words for the person who reads the last line.

    SinkError           the job cannot go on; str() says what happened and what to do
    └── Refused         it could, but would lose rows or land them twice

Spark reports everything as one kind of exception with a long text. It is translated once, here, by a table.
"""

import re

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException

# What a call into the JVM raises: the first what Spark's Python side knows, the second everything else.
SPARK_ERRORS = (PySparkException, Py4JError)


class SinkError(Exception):
    """The job cannot go on."""


class Refused(SinkError):
    """Going on would lose rows or land them twice."""


# What stands in Spark's text -> what it means. The first that is found counts, so the telling ones come first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"KAFKA_DATA_LOSS|failOnDataLoss|OffsetOutOfRange",
        "records were deleted in Kafka before they were read (retention, or a topic made anew); "
        "to go on without them, set kafka.options: {failOnDataLoss: false}",
    ),
    (r"SaslAuthentication|SslAuthentication|AuthenticationException", "Kafka refused the credentials"),
    (r"AuthorizationException", "these credentials may not read the topic"),
    (r"UnknownTopicOrPartition", "a topic went away while it was read"),
    (
        r"ConfigException|No resolvable bootstrap|Failed to construct kafka|Failed to create new KafkaAdminClient",
        "Kafka's client does not take these settings",
    ),
    (
        r"(kafka\S*|java\.util\.concurrent)\.TimeoutException|DisconnectException|Timed out waiting for a node",
        "Kafka does not answer",
    ),
    (r"AccessControlException|Permission denied|Mkdirs failed|mkdir of|AccessDenied", "no permission to write"),
    (r"No space left on device", "the disk is full"),
    (r"UnsupportedFileSystem|No FileSystem for scheme", "Spark has no file system for this kind of path"),
    (r"DELTA_MISSING_TRANSACTION_LOG|is not a Delta table", "the directory is not empty, and is no Delta table"),
    (
        r"DELTA_FAILED_TO_MERGE_FIELDS|DELTA_METADATA_MISMATCH|schema mismatch|DELTA_CREATE_TABLE_SCHEME_MISMATCH",
        "the table has columns that do not fit",
    ),
    (
        r"Failed to find data source|ClassNotFoundException",
        "a jar is missing: under spark-submit, name them by --packages",
    ),
    (r"OutOfMemoryError", "the JVM has too little memory: lower max_offsets_per_trigger, or raise spark.driver.memory"),
)


def translate(text: str, doing: str) -> SinkError:
    """`doing` ("writing to /data/logs") what failed, Spark's text in plain words, and its first telling line."""
    meaning = next((words for pattern, words in MEANINGS if re.search(pattern, text, re.IGNORECASE)), None)
    return SinkError(": ".join(part for part in (doing, meaning, gist(text)) if part))


def gist(text: str) -> str:
    """The innermost cause that a Java stack trace names, else the first line."""
    causes = re.findall(r"^\s*Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(("JVM stacktrace", "An error occurred"))), "")
    return (causes[-1] if causes else re.sub(r"^: ", "", first))[:400]
