"""The errors that end the sink. Their message is the last line of the log.

    SinkError           the job cannot continue; the message says what happened and what to do
    └── Refused         it could continue, but would lose rows or land them twice

Spark reports all errors as one kind of exception with a long text, which is translated once, here, by a table. Errors
of the Kafka client are translated in `kafka.failures`.
"""

import re
from collections.abc import Iterable

_CAUSE = re.compile(r"\s*\x1b\[31m↳\x1b\[0m\s*")


class SinkError(Exception):
    """The job cannot continue."""

    def __init__(self, message: str) -> None:
        super().__init__(in_one_line(message))


class Refused(SinkError):
    """Raised if continuing would lose rows or land them twice."""


# Spark returns our own error in a batch as text with Python's traceback: the message is on the line of its class.
OURS = re.compile(r"^log_shipper\.spark_sink\.errors\.(?:SinkError|Refused): (.+)$", re.MULTILINE)

# A pattern of Spark's text -> its meaning. The first match counts, so specific patterns come first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (r"AccessControlException|Permission denied|Mkdirs failed|mkdir of|AccessDenied", "no permission to write"),
    (r"No space left on device", "the disk is full"),
    (r"UnsupportedFileSystem|No FileSystem for scheme", "Spark has no file system for this kind of path"),
    (r"DELTA_MISSING_TRANSACTION_LOG|is not a Delta table", "the directory is not empty, and is not a Delta table"),
    (
        r"DELTA_FAILED_TO_MERGE_FIELDS|DELTA_METADATA_MISMATCH|schema mismatch|DELTA_CREATE_TABLE_SCHEME_MISMATCH",
        "the table's columns are incompatible",
    ),
    (
        r"Failed to find data source|ClassNotFoundException",
        "a jar is missing: add its package by --packages (spark-submit), or by spark.jars.packages",
    ),
    (
        r"NoSuchMethodError|NoSuchFieldError|AbstractMethodError|NoClassDefFoundError",
        "a jar was built for another Spark version; Delta's jar fits one minor version only (docs/guides/cluster.md)",
    ),
    (
        r"ModuleNotFoundError",
        "an executor's Python lacks a package: pass the archive of the sink's packages by --archives, or install the "
        "packages on each machine (docs/guides/cluster.md)",
    ),
    (
        r"JAVA_GATEWAY_EXITED|Java gateway process exited",
        "Java did not start; the lines above have the reason. For an unresolved dependency, check "
        "spark.jars.packages; otherwise check spark.driver.memory and spark.driver.extraJavaOptions",
    ),
    (
        r"Python worker exited unexpectedly",
        "a Python process of the sink was killed, probably out of memory: check the kernel log, and lower "
        "max_offsets_per_trigger",
    ),
    (r"OutOfMemoryError", "the JVM is out of memory: lower max_offsets_per_trigger, or raise spark.driver.memory"),
)


def in_one_line(text: str) -> str:
    """Return the text in one line. deltalake's errors with a cause have several lines and colours, and the first line
    alone does not say what happened."""
    if not _CAUSE.search(text):
        return text
    return re.sub(r"\s*\n\s*", " ", re.sub(r"\s+(?=\.|$)", "", _CAUSE.sub(": ", text)))


def enumerated(names: Iterable[str], max_shown: int = 5) -> str:
    """Return names for a message: "a, b and 7 more"."""
    known = list(names)
    return ", ".join(known[:max_shown]) + (f" and {len(known) - max_shown} more" if len(known) > max_shown else "")


def translate(text: str, doing: str) -> SinkError:
    """Return an error with `doing` ("writing to /data/logs"), the meaning of Spark's text and its root cause; if the
    text contains an error of ours, only with that error's message."""
    if ours := OURS.findall(text):
        parts = [ours[-1]]
    else:
        parts = [
            next((meaning for pattern, meaning in MEANINGS if re.search(pattern, text, re.IGNORECASE)), ""),
            root_cause(text),
        ]
    return SinkError(": ".join(part for part in (doing, *parts) if part))


def root_cause(text: str) -> str:
    """Return the innermost cause in a Java stack trace; without one, the first line."""
    causes = re.findall(r"^\s*Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(("JVM stacktrace", "An error occurred"))), "")
    return (causes[-1] if causes else re.sub(r"^: ", "", first))[:400]
