"""Kafka's errors, classified once.

poison      the broker will never take this record:   rejected if it was refused alone in its request
fatal       the producer cannot continue:             replaced, everything unacknowledged is sent again
the others  someone can repair it, or it is temporary: paused and retried until it works, logged once a minute
"""

import logging
import re
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaError

from log_shipper.runtime.logs.folding import END
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Topics

logger = logging.getLogger(__name__)

# The topic limit that a request exceeds. Both apply to the whole compressed request of a partition.
LIMITS = {
    KafkaError.MSG_SIZE_TOO_LARGE: "max.message.bytes",
    KafkaError.RECORD_LIST_TOO_LARGE: "segment.bytes",
}
# The second means that another record of the request is invalid. INVALID_TIMESTAMP is not included: for records with
# the time of sending it means a wrong clock on this host, and all of them fail until it is corrected.
INVALID = frozenset({KafkaError.INVALID_RECORD, KafkaError._INVALID_DIFFERENT_RECORD})
# Errors about event times: if several records of a request have a refused time, it is INVALID_RECORD. They are sent
# again with the time of sending: one old event must not hold up its file.
MAY_BE_TIMES = INVALID | {KafkaError.INVALID_TIMESTAMP}
POISON = INVALID | LIMITS.keys()
# Reports of our own purge when a producer is replaced.
PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})

# Errors of one topic: others may work.
OF_ONE_TOPIC = frozenset(
    {
        KafkaError._UNKNOWN_TOPIC,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.POLICY_VIOLATION,
    }
)

_CREDENTIALS = (
    "authentication failed; check username, password and sasl.mechanism, or sasl.oauthbearer and its provider"
)
_NO_TOPIC = "the topic does not exist; create it, or let the broker create topics"
_CLOCK = (
    "the broker rejects the timestamps of the records; correct the clock of this host or of the broker, or "
    "raise the topic's message.timestamp.before.max.ms or message.timestamp.after.max.ms"
)
_TRANSACTIONAL_ID = (
    "not authorized for the transactional id; grant the user Write and Describe on it (output.kafka.transaction.id)"
)
_COORDINATOR = (
    "no transaction coordinator is available; check the brokers; with fewer than three of them, set "
    "transaction.state.log.replication.factor and transaction.state.log.min.isr to their number"
)
_NO_LEADER = (
    "a partition of the topic has no leader, or its broker is not responding; check kafka-topics.sh "
    "--describe, and restart that broker"
)
_REPLICAS = "too few in-sync replicas (min.insync.replicas); restart the missing brokers"

_IDEMPOTENCE = "not authorized for idempotent writes; grant the user IdempotentWrite on the cluster"
_COMPRESSION = "the broker does not support the compression; change output.kafka.compression"

# Advice for the operator.
ADVICE = {
    KafkaError._ALL_BROKERS_DOWN: "no broker is reachable; check output.kafka.hosts, the network and the brokers",
    KafkaError._TRANSPORT: "connection lost or refused; check output.kafka.hosts, the network and the broker",
    KafkaError._TIMED_OUT: "a broker is not responding; check output.kafka.hosts, the network and the brokers",
    KafkaError._RESOLVE: "cannot resolve a host name; check output.kafka.hosts and DNS",
    KafkaError._AUTHENTICATION: _CREDENTIALS,
    KafkaError.SASL_AUTHENTICATION_FAILED: _CREDENTIALS,
    KafkaError._SSL: "TLS handshake failed; check ssl.certificate_authorities, and whether the port uses TLS",
    KafkaError._UNKNOWN_TOPIC: _NO_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART: _NO_TOPIC,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "not authorized to write to the topic; grant the user Write on it",
    KafkaError.COORDINATOR_NOT_AVAILABLE: _COORDINATOR,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _TRANSACTIONAL_ID,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: _IDEMPOTENCE,
    KafkaError.LEADER_NOT_AVAILABLE: _NO_LEADER,
    KafkaError.NOT_ENOUGH_REPLICAS: _REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _REPLICAS,
    KafkaError.INVALID_TIMESTAMP: _CLOCK,
    KafkaError.POLICY_VIOLATION: "rejected by a policy of the cluster; ask its administrators",
    KafkaError.TOPIC_EXCEPTION: "the topic's name is invalid or reserved; set another topic",
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE: _COMPRESSION,
}
# TLS alerts that reject the client certificate; with TLS 1.3 they come after the handshake, and librdkafka reports a
# lost connection.
_CERTIFICATE_ALERT = re.compile(r"SSL alert number (4[2-8]|116)\b")


def advice(code: int, text: str, default: str) -> str:
    """Return the advice for an error; `text` is librdkafka's."""
    if _CERTIFICATE_ALERT.search(text):
        return (
            "the broker rejects the client certificate; check that ssl.certificate is set, has not expired, "
            "and is from an authority that the broker trusts"
        )
    return ADVICE.get(code, default)


MAX_THROTTLES = 1000  # events determine the number of topics
UNACKNOWLEDGED_AFTER = 30.0  # seconds, enough to elect a leader or restart a broker


class ErrorReporter:
    """Logs Kafka errors: immediately when new, then once a minute, and when events are delivered again.

    With one of several brokers down, failures and deliveries alternate; that must not flood the log.
    """

    def __init__(self, hosts: str, topic: str, clock: Clock) -> None:
        """`topic`: of all events; empty if it depends on the event."""
        self._hosts = hosts
        self._topic = topic
        self._clock = clock
        self._throttles: dict[tuple[int, str], Throttle] = {}  # by code and topic
        self._present: set[int] = set()
        self._reported: dict[str, str] = {}  # messages by topic, which is empty for other errors
        self._logged: set[str] = set()  # topics whose error was logged, so that its end is, too
        self._unacknowledged: dict[str, str] = {}  # topics with unacknowledged records, with a message
        self._unacknowledged_logged: set[str] = set()  # topics that were logged, so that the end is, too
        self._counts: dict[int, int] = {}  # by code
        # The latest report is an error of the whole output, and nothing was delivered since. With topics by event, a
        # rejecting topic does not count: a broker has responded, and other topics may work.
        self.failing = False
        self._last: tuple[int, str, str] | None = None  # code, text, topic of the last error

    def report(self, code: int, text: str, topic: str = "") -> None:
        """Report an error. `topic`: of the failed record, if the error concerns one."""
        self._count(code)
        self.failing = bool(self._topic) or code not in OF_ONE_TOPIC
        if code == KafkaError._ALL_BROKERS_DOWN and self._present - {code}:
            return  # also reported if brokers respond and refuse: the reason was logged already
        self._last = code, text, topic
        self._present.add(code)
        is_due = self._is_due(code, topic)
        if is_due or topic not in self._reported:
            self._reported[topic] = self._describe(code, text, topic)
        if is_due:
            self._logged.add(topic)
            logger.warning(
                "%s. Events are kept and sent when it works again; nothing is lost. (%s)", self._reported[topic], text
            )

    def report_failed_record(self, error: KafkaError, topic: str, *, has_times: bool, is_alone: bool = False) -> None:
        """Report that a record was refused or not sent. `has_times`: it had the time of its event; `is_alone`: it was
        the only one in its request."""
        code = error.code()
        if has_times and code in MAY_BE_TIMES:
            self.report_refused_times(error.str(), topic)
        elif code not in POISON | PURGED:
            self.report(code, error.str(), topic)
        if code in LIMITS and not is_alone:
            self.report_large_request(code, topic)

    def report_large_request(self, code: int, topic: str) -> None:
        self._count(code)
        if self._is_due(code, topic):
            logger.warning(
                "Kafka (%s): a request exceeds the topic's %s: resending it in smaller parts, which is slow. "
                "Raise the topic's limit, or lower output.kafka.max_message_bytes to it",
                self._where(topic),
                LIMITS[code],
            )

    def report_refused_times(self, text: str, topic: str) -> None:
        self._count(KafkaError.INVALID_TIMESTAMP)
        if self._is_due(KafkaError.INVALID_TIMESTAMP, topic):
            logger.warning(
                "Kafka (%s): timestamps of events are rejected: resending the records with the current "
                "time; @timestamp is unchanged. Raise message.timestamp.before.max.ms or "
                "message.timestamp.after.max.ms of the topic, or set output.kafka.timestamp: sent. (%s)",
                self._where(topic),
                text,
            )

    def report_unacknowledged(self, paths: Mapping[str, Sequence[str]]) -> None:
        """Set the topics with unacknowledged records, with the paths of their files; empty if there are none."""
        for topic in sorted(self._unacknowledged_logged - paths.keys()):
            logger.info("Kafka (%s): records are acknowledged again", self._where(topic), extra=END)
        self._unacknowledged_logged &= paths.keys()
        self._unacknowledged = {topic: self._describe_unacknowledged(topic, files) for topic, files in paths.items()}
        for topic, words in self._unacknowledged.items():
            if self._is_due(KafkaError._MSG_TIMED_OUT, topic):
                self._unacknowledged_logged.add(topic)
                logger.warning("%s. Events are kept and sent when it works again; nothing is lost", words)

    def _describe_unacknowledged(self, topic: str, paths: Sequence[str]) -> str:
        files = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else paths[0]
        late = f"records of {files} have been unacknowledged for {UNACKNOWLEDGED_AFTER:.0f} s"
        return f"Kafka ({self._where(topic)}): {late}; {_NO_LEADER}"

    @property
    def any_reported(self) -> bool:
        """Return True if `report_recovery` has something to do."""
        return self.failing or bool(self._present or self._reported)

    def report_recovery(self, topics: Topics | None = None) -> None:
        """Note that events of these topics were delivered; None: of all reported topics."""
        self._present.clear()
        self.failing = False
        if self._reported:
            delivered = set(self._reported) if topics is None else self._reported.keys() & {"", *topics.names}
            for topic in delivered:
                del self._reported[topic]
            for place in sorted({self._where(topic) for topic in delivered & self._logged}):
                logger.info("Kafka (%s): events are delivered again", place, extra=END)
            self._logged -= delivered

    @property
    def topics_waiting(self) -> int:
        """Return the number of topics that hold up records, by rejecting them or not responding."""
        return len(self.waiting())

    @property
    def problem(self) -> str:
        """Return the last error as a message with advice, even if it was not logged again; empty if there was none.
        Callable from any thread."""
        last = self._last
        return "" if last is None else self._describe(*last)

    def _describe(self, code: int, text: str, topic: str) -> str:
        return f"Kafka ({self._where(topic)}): {advice(code, text, 'Kafka reports an error')}"

    def counts(self) -> dict[str, int]:
        """Return how often each error was reported, by librdkafka's name. Callable from any thread."""
        return {KafkaError(code).name(): count for code, count in self._counts.copy().items()}

    def waiting(self) -> dict[str, str]:
        """Return topics that rejected records and accepted none since, and topics that do not respond, each with a
        message. Callable from any thread."""
        return self._unacknowledged | {topic: words for topic, words in self._reported.copy().items() if topic}

    def note_response(self) -> None:
        """Note that a broker responds, while nothing is in flight that would show it."""
        self.failing = bool(self._topic) and bool(self.waiting())

    def _count(self, code: int) -> None:
        self._counts[code] = self._counts.get(code, 0) + 1

    def _where(self, topic: str) -> str:
        name = topic or self._topic
        return f"topic {name} at {self._hosts}" if name else self._hosts

    def _is_due(self, code: int, topic: str) -> bool:
        if len(self._throttles) >= MAX_THROTTLES:
            self._throttles.clear()
        return self._throttles.setdefault((code, topic), Throttle(self._clock.monotonic)).is_due()
