"""What keeps the input from reading, in words: for the log, /status and /health."""

import logging
from collections.abc import Callable, Collection, Iterable

from confluent_kafka import KafkaError

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.inputs.kafka.brokers_away import LONG, BrokersAway
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Place

logger = logging.getLogger(__name__)

QUIET = 10.0  # seconds, after which a problem that the client reports no more is over
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
# What is wrong, and what to do, by the code of the error; {group}, {topic} and {hosts} are put in.
WORDS = {
    **dict.fromkeys(AWAY, "a broker does not answer; check hosts ({hosts}), and that all run. It is tried again"),
    KafkaError._ALL_BROKERS_DOWN: "no broker answers at {hosts}; check hosts, and that one runs. It is tried again",
    **dict.fromkeys(
        UNKNOWN, "the topic {topic} does not exist; create it, or remove it from topics. It is read once it exists"
    ),
    **dict.fromkeys(
        COORDINATOR,
        "the coordinator of the group {group} moves to another broker, or starts; it is tried again",
    ),
    KafkaError._AUTHENTICATION: "the broker refuses to let the user in; check username, password and sasl.mechanism",
    KafkaError.SASL_AUTHENTICATION_FAILED: "the broker refuses the user; check username, password and sasl.mechanism",
    KafkaError._SSL: "TLS fails at {hosts}; check ssl.certificate_authorities, and that the port is one for TLS",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the user may not read the topic {topic}; allow it to Read and Describe",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "the user may not be in the group {group}; allow it to Read the group",
    KafkaError.OFFSET_METADATA_TOO_LARGE: "the brokers take less beside an offset than the group {group} has to keep "
    "of joined messages, which wait for it; set offset.metadata.max.bytes of the brokers to 4096, its default",
    KafkaError.UNSTABLE_OFFSET_COMMIT: "the brokers do not give the offsets of the group {group}: mostly because a "
    "transaction that has some of them is not ended yet, of a member that died. They are asked again. If it stays so "
    'for more than a minute, end it by kafka-transactions.sh (docs/guides/kafka-input.md, "Transactions that never '
    'end")',
    KafkaError.LEADER_NOT_AVAILABLE: "a partition has no leader, because the brokers that may lead it are away, and "
    "where it is read from is not known until it has: nothing is read. Start these brokers: kafka-topics.sh --describe "
    "--unavailable-partitions shows where the replicas are",
    KafkaError.FENCED_INSTANCE_ID: "another member of the group {group} has the same group_instance_id; give each its "
    "own",
    KafkaError.INCONSISTENT_GROUP_PROTOCOL: "the members of the group {group} have another rebalance.strategy; give all"
    " of them the same",
}
# Where the client names no topic.
NOT_THERE = (
    "a topic, or a partition of one, does not exist; create it, or remove it from topics. It is read once it exists"
)
# Where `topics` has a regular expression, the client says of that what it says of a topic.
NO_MATCH = "no topic matches {topic}; create one, or remove it from topics. Topics that match are read once they exist"

LEADERLESS = (
    "{partitions}: no leader, because the brokers that may lead them are away; nothing of them is read, also while "
    "others are. Start these brokers: kafka-topics.sh --describe --topic {topic} shows where the replicas are"
)


class Problems:
    """Written by the member's thread; any thread may ask for `now`."""

    def __init__(self, config: KafkaInputConfig, monotonic: Callable[[], float]) -> None:
        self._config = config
        self._monotonic = monotonic
        self._now: dict[str, str] = {}
        self._throttles: dict[str, Throttle] = {}
        self._reported: dict[str, float] = {}  # when each was reported last
        self._is_passing = False  # what concerns all topics is over once brokers answer
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
        """Show an error of the client, until `recovered`."""
        if error.code() in AWAY and self.group in self._now:
            return  # the client reports it also where a broker answers and refuses: the reason is shown already
        if not topic:
            self._is_passing = error.code() in AWAY + COORDINATOR
        self.show(f"kafka topic {topic}" if topic else self.group, self.words(error, topic))

    def connection_failed(self, error: KafkaError) -> None:
        """Note that the client cannot connect to a broker. There may be others, which have what this one had soon."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.code() not in AWAY or self.group in self._now:
            self._brokers_away.clear()
            self.report(error)
        elif self._brokers_away.report(error.str()):
            self.show(self._brokers, self.words(error))
        elif self._brokers_throttle.is_due():
            logger.warning(
                "input %s: a broker does not answer; what others have is read on, and what it had once they have taken "
                "over, or it is back (%s)",
                self._config.id,
                error.str(),
            )

    def note_leaders(self, partitions: Collection[Place], leaderless: Collection[Place]) -> None:
        """Note which partitions this member reads now, and which of them have no leader."""
        before = self._leaderless.for_long
        self._leaderless.note(leaderless)
        now = self._leaderless.for_long
        for topic in sorted({topic for topic, _ in before | now}):
            name, places = f"kafka partitions of topic {topic}", {place for place in now if place[0] == topic}
            if places:
                self.show(name, LEADERLESS.format(partitions=named(places), topic=topic))
            else:
                self.forget(name)
        again = (before - now).intersection(partitions)  # and not what belongs to another member now
        if again:
            logger.info("input %s: partitions have a leader, and are read again: %s", self._config.id, named(again))

    def awaits_leader(self, place: Place) -> None:
        """Log once that a partition without a leader is awaited: with --once all may be over before it is a problem."""
        if place not in self._leaderless.now:
            self._leaderless.note(self._leaderless.now | {place})
            logger.warning(
                "input %s: %s has no leader, because the brokers that may lead it are away; --once ends after it has "
                "one and is read",
                self._config.id,
                named([place]),
            )

    def received(self, place: Place) -> None:
        """All of a partition was received that is to be read: it needs no leader any more."""
        if place in self._leaderless.for_long:
            self.note_leaders({place}, self._leaderless.now - {place})

    def words(self, error: KafkaError, topic: str = "") -> str:
        """Return what is wrong, and what to do."""
        words = WORDS.get(_cause(error), "Kafka reports an error, and it is tried again")
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
        if self._throttles.setdefault(name, Throttle(self._monotonic)).is_due():  # a new problem is
            logger.error("input %s: %s: %s", self._config.id, name, words)

    def forget(self, name: str) -> bool:
        """Show a problem no longer; True if it was shown."""
        is_there = name in self._now
        if is_there:
            self._now = {other: words for other, words in self._now.items() if other != name}
            self._throttles.pop(name, None)
            self._reported.pop(name, None)
        return is_there

    def arrived(self, topics: Collection[str]) -> None:
        """Records of these topics have come: what concerned all topics is over. What concerned one of these may be true
        of another of its partitions, and is over if it was not reported again for a while."""
        self.recovered()
        over = self._monotonic() - QUIET
        for topic in topics:
            if self._reported.get(f"kafka topic {topic}", over) < over:
                self.recovered(topic)

    def answered(self) -> None:
        """Brokers answer: that they did not is over if it was not reported again for a while."""
        now = self._monotonic()
        if self._is_passing and now - self._reported.get(self.group, now) >= QUIET:
            self.recovered()
        if self._brokers_away.are_back:
            self.forget(self._brokers)

    def recovered(self, topic: str = "") -> None:
        """What concerned all topics is over, and what concerned this one."""
        for name in (self.group, f"kafka topic {topic}"):
            if self.forget(name):
                logger.info("input %s: %s is read again", self._config.id, name)


def is_fatal(error: KafkaError) -> bool:
    """True if the client does nothing more after it. The one that it gives instead of a record has no other mark."""
    return error.fatal() or error.code() == KafkaError._FATAL


def _cause(error: KafkaError) -> int:
    """Return the code of an error; of one that only says that it is fatal, the code that its text is of."""
    if error.code() != KafkaError._FATAL:
        return error.code()
    return next((code for code in WORDS if KafkaError(code).str() in error.str()), KafkaError._FATAL)


MAX_NAMES = 20  # in a message


class Leaderless:
    """`for_long`: as of the last note."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since: dict[Place, float] = {}  # when each was seen first without a leader
        self.for_long: frozenset[Place] = frozenset()

    @property
    def now(self) -> frozenset[Place]:
        return frozenset(self._since)

    def note(self, places: Collection[Place]) -> None:
        """Note which partitions have no leader now; all others have one, or are no concern of this member."""
        now = self._monotonic()
        self._since = {place: self._since.get(place, now) for place in places}
        self.for_long = frozenset(place for place, since in self._since.items() if now - since >= LONG)


def named(places: Iterable[Place]) -> str:
    """Return the names of partitions, of the first ones if they are many."""
    names = [f"{topic}[{number}]" for topic, number in sorted(places)]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
