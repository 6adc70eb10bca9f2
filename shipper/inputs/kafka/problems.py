"""Describe what keeps the input from reading: for the log, /status and /health."""

import logging
from collections.abc import Callable, Collection, Iterable

from confluent_kafka import KafkaError

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.inputs.kafka.brokers_away import LONG, BrokersAway
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Place

logger = logging.getLogger(__name__)

QUIET = 10.0  # seconds after which a problem without a further report is over
AWAY = (
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError.REQUEST_TIMED_OUT,
)
UNKNOWN = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
# These come with a rebalance, and pass with it.
REBALANCING = (
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError._NO_OFFSET,
    KafkaError._WAIT_COORD,
    KafkaError._ASSIGNMENT_LOST,
    KafkaError._DESTROY,
)
COORDINATOR = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
# The problem and the action, by the code of the error; {group}, {topic} and {hosts} are filled in.
WORDS = {
    **dict.fromkeys(
        AWAY, "a broker is not responding; check hosts ({hosts}), and that all brokers are running. Retrying"
    ),
    KafkaError._ALL_BROKERS_DOWN: "no broker responds at {hosts}; check hosts, and that a broker is running. Retrying",
    **dict.fromkeys(
        UNKNOWN, "topic {topic} does not exist; create it, or remove it from topics. It is read once it exists"
    ),
    **dict.fromkeys(
        COORDINATOR,
        "the coordinator of group {group} is moving to another broker or starting; retrying",
    ),
    KafkaError._AUTHENTICATION: "authentication failed; check username, password and sasl.mechanism",
    KafkaError.SASL_AUTHENTICATION_FAILED: "the broker rejected the user; check username, password and sasl.mechanism",
    KafkaError._SSL: (
        "TLS handshake failed at {hosts}; check ssl.certificate_authorities, and that the port is a TLS port"
    ),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "no permission to read topic {topic}; allow the user Read and Describe on it"
    ),
    KafkaError.GROUP_AUTHORIZATION_FAILED: "no permission to join group {group}; allow the user Read on it",
    KafkaError.OFFSET_METADATA_TOO_LARGE: (
        "the brokers' limit on offset metadata is too small for the joined messages of group {group}, which are not "
        "committed until it is raised; set offset.metadata.max.bytes of the brokers to 4096, its default"
    ),
    KafkaError.UNSTABLE_OFFSET_COMMIT: (
        "the committed offsets of group {group} are unavailable, usually because a member died with an open "
        "transaction; retrying. If this lasts more than a minute, end the transaction with kafka-transactions.sh "
        '(docs/guides/kafka-input-failures.md, "Transactions that never end")'
    ),
    KafkaError.LEADER_NOT_AVAILABLE: (
        "a partition has no leader because its brokers are down, and its start offset is unknown until it has one: "
        "nothing is read. Start these brokers; kafka-topics.sh --describe --unavailable-partitions shows where the "
        "replicas are"
    ),
    KafkaError.FENCED_INSTANCE_ID: (
        "another member of group {group} has the same group_instance_id; give each member its own"
    ),
    KafkaError.INCONSISTENT_GROUP_PROTOCOL: (
        "the members of group {group} use another rebalance.strategy; set the same one for all"
    ),
}
# For errors without a topic.
NOT_THERE = "a topic or partition does not exist; create it, or remove it from topics. It is read once it exists"
# For a regular expression in `topics`, which the client reports like a topic.
NO_MATCH = "no topic matches {topic}; create one, or remove it from topics. Matching topics are read once they exist"

LEADERLESS = (
    "{partitions}: no leader, because their brokers are down; these partitions are not read, the others are. Start "
    "these brokers; kafka-topics.sh --describe --topic {topic} shows where the replicas are"
)


class MemberProblems:
    """The current problems. Written by the member's thread; any thread may call `now`."""

    def __init__(self, config: KafkaInputConfig, monotonic: Callable[[], float]) -> None:
        self._config = config
        self._monotonic = monotonic
        self._now: dict[str, str] = {}
        self._throttles: dict[str, Throttle] = {}
        self._reported: dict[str, float] = {}  # when each was last reported
        self._is_passing = False  # problems of all topics are over once brokers respond
        self._brokers_away = BrokersAway(monotonic)
        self._brokers_throttle = Throttle(monotonic)
        self._leaderless = Leaderless(monotonic)

    @property
    def now(self) -> dict[str, str]:
        return self._now.copy()

    @property
    def group(self) -> str:
        """Return the name of problems that concern all topics."""
        return f"kafka group {self._config.group_id}"

    @property
    def _brokers(self) -> str:
        return f"kafka brokers of group {self._config.group_id}"

    def report(self, error: KafkaError, topic: str = "") -> None:
        """Show an error of the client, until `clear`."""
        if error.code() in AWAY and self.group in self._now:
            return  # the client reports it also if a broker responds and refuses: the reason is shown already
        if not topic:
            self._is_passing = error.code() in AWAY + COORDINATOR
        self.show(f"kafka topic {topic}" if topic else self.group, self.words(error, topic))

    def connection_failed(self, error: KafkaError) -> None:
        """Note that the client cannot connect to a broker. Other brokers may soon lead its partitions."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.code() not in AWAY or self.group in self._now:
            self._brokers_away.clear()
            self.report(error)
        elif self._brokers_away.report(error.str()):
            self.show(self._brokers, self.words(error))
        elif self._brokers_throttle.is_due():
            logger.warning(
                "input %s: broker not responding: %s. Partitions led by other brokers are still consumed",
                self._config.id,
                error.str(),
            )

    def note_leaders(self, partitions: Collection[Place], leaderless: Collection[Place]) -> None:
        """Note which partitions this member reads now, and which of them have no leader."""
        before = self._leaderless.for_long
        self._leaderless.update(leaderless)
        now = self._leaderless.for_long
        for topic in sorted({topic for topic, _ in before | now}):
            name, places = f"kafka partitions of topic {topic}", {place for place in now if place[0] == topic}
            if places:
                self.show(name, LEADERLESS.format(partitions=list_partitions(places), topic=topic))
            else:
                self.forget(name)
        again = (before - now).intersection(partitions)  # but not those of another member
        if again:
            logger.info(
                "input %s: partitions have a leader again and are read: %s", self._config.id, list_partitions(again)
            )

    def note_awaited_leader(self, place: Place) -> None:
        """Log once that a leader is awaited: with --once everything may be over before it is a problem."""
        if place not in self._leaderless.now:
            self._leaderless.update(self._leaderless.now | {place})
            logger.warning(
                "input %s: partition %s has no leader, because its brokers are down. --once waits for a leader, then "
                "reads the partition; only --once-timeout limits the wait. Start the brokers",
                self._config.id,
                list_partitions([place]),
            )

    def note_received(self, place: Place) -> None:
        """Note that a partition is fully received: it needs no leader any more."""
        if place in self._leaderless.for_long:
            self.note_leaders({place}, self._leaderless.now - {place})

    def words(self, error: KafkaError, topic: str = "") -> str:
        """Return the problem and the action."""
        words = WORDS.get(_cause(error), "Kafka reported an error; retrying")
        if topic.startswith("^") and error.code() in UNKNOWN:
            words = NO_MATCH
        elif not topic and error.code() in UNKNOWN:
            words = NOT_THERE
        text = words.format(group=self._config.group_id, topic=topic, hosts=",".join(self._config.hosts))
        return f"{text} ({error.str()})"

    def show(self, name: str, words: str) -> None:
        """Show a problem, and log it, at most once a minute."""
        self._now = {**self._now, name: words}
        self._reported[name] = self._monotonic()
        if self._throttles.setdefault(name, Throttle(self._monotonic)).is_due():  # a new problem always is
            logger.error("input %s: %s: %s", self._config.id, name, words)

    def forget(self, name: str) -> bool:
        """Remove a problem. Return True if it was shown."""
        is_there = name in self._now
        if is_there:
            self._now = {other: words for other, words in self._now.items() if other != name}
            self._throttles.pop(name, None)
            self._reported.pop(name, None)
        return is_there

    def note_records(self, topics: Collection[str]) -> None:
        """Note that records of these topics arrived: problems of all topics are over. A problem of one topic may
        concern another of its partitions, and is over if it was not reported again for a while."""
        self.clear()
        over = self._monotonic() - QUIET
        for topic in topics:
            if self._reported.get(f"kafka topic {topic}", over) < over:
                self.clear(topic)

    def note_response(self) -> None:
        """Note that brokers respond: that they did not is over if it was not reported again for a while."""
        now = self._monotonic()
        if self._is_passing and now - self._reported.get(self.group, now) >= QUIET:
            self.clear()
        if self._brokers_away.are_back:
            self.forget(self._brokers)

    def clear(self, topic: str = "") -> None:
        """Remove the problems of all topics, and of this one."""
        for name in (self.group, f"kafka topic {topic}"):
            if self.forget(name):
                logger.info("input %s: reading %s again", self._config.id, name)


def _cause(error: KafkaError) -> int:
    """Return the code of an error; for a generic fatal one, the code in its text."""
    if error.code() != KafkaError._FATAL:
        return error.code()
    return next((code for code in WORDS if KafkaError(code).str() in error.str()), KafkaError._FATAL)


MAX_NAMES = 20  # in a message


class Leaderless:
    """The partitions without a leader. `for_long`: as of the last note."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since: dict[Place, float] = {}  # when each was first seen without a leader
        self.for_long: frozenset[Place] = frozenset()

    @property
    def now(self) -> frozenset[Place]:
        return frozenset(self._since)

    def update(self, places: Collection[Place]) -> None:
        """Note which partitions have no leader now; all others have one, or are of no concern to this member."""
        now = self._monotonic()
        self._since = {place: self._since.get(place, now) for place in places}
        self.for_long = frozenset(place for place, since in self._since.items() if now - since >= LONG)


def list_partitions(places: Iterable[Place]) -> str:
    """Return the names of partitions, shortened if they are many."""
    names = [f"{topic}[{number}]" for topic, number in sorted(places)]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
