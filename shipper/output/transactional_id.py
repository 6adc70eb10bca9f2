"""The transactional id, which one producer of one process has at a time."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.errors import Fenced
from log_shipper.shipper.output.background import Background
from log_shipper.shipper.output.kafka_records import Producer
from log_shipper.shipper.output.positions_topic import Committed, Owner, PositionStore

TIMEOUT = 5.0  # seconds per attempt to get it
OFFSETS_PATIENCE = Backoff(5.0, 300.0)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, in seconds, calls are awaited that may never return if a coordinator was away. `offsets`, for those of
    groups: librdkafka 2.16 ignores its timeout (its issue 5456); longer after each one, as with several brokers another
    producer finds the new coordinator at once. `end`, for a commit or an abort: the coordinator rolls the transaction
    back after about as long."""

    offsets: Backoff = OFFSETS_PATIENCE
    end: float = 60.0


PATIENCE = Patience()


class TransactionalProducer(Producer, Protocol):
    """The used part of confluent_kafka.Producer. Methods without a result block, and raise KafkaException."""

    def init_transactions(self, timeout: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def commit_transaction(self) -> None: ...

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: object, timeout: float) -> None: ...

    def abort_transaction(self) -> None: ...

    def __len__(self) -> int: ...


MakeProducer = Callable[[Callable[[KafkaError], None]], TransactionalProducer]


class TransactionalId:
    """Creates the producers of an id. Methods block, and raise KafkaException, and StartError if no client can be
    created."""

    def __init__(
        self, make_producer: MakeProducer, store: PositionStore, owner: Owner, patience: Patience = PATIENCE
    ) -> None:
        self.topic = store.topic
        self._make_producer = make_producer
        self._store = store
        self._owner = owner
        self._patience = patience
        self._late = 0  # consecutive timeouts of offsets
        self._producer: TransactionalProducer | None = None
        self.committed = Committed()  # as read from the topic
        self._number = 0  # of the last attempted commit
        self._has_offsets = False  # the transaction has offsets of consumer groups

    @property
    def producer(self) -> TransactionalProducer:
        assert self._producer is not None, "started"
        return self._producer

    @property
    def has_producer(self) -> bool:
        return self._producer is not None

    def refused(self, topics: Collection[str]) -> dict[str, KafkaError] | None:
        """Return the error of each topic that the broker refuses; None without a response. Blocks, and raises
        nothing."""
        return self._store.refused(topics, TIMEOUT)

    def take_over(self, on_error: Callable[[KafkaError], None]) -> None:
        """Take over the id; `committed` is the state committed under it. Raises StartError."""
        self._store.prepare()
        self._renew(on_error)
        self.committed = self._store.read()
        producer = self.producer
        producer.begin_transaction()
        producer.produce_batch(self.topic, self.records({}), callback=_ignore)
        self._commit()

    def replace_producer(self, on_error: Callable[[KafkaError], None]) -> None:
        """Replace a permanently failed producer. Raises Fenced if another process has taken over the id."""
        # Before `_renew`, which would fence another process in turn. A process that took over the id has ended our
        # transaction. Otherwise it is open, perhaps with positions, and only `_renew` ends it: so this check does not
        # wait.
        self._check_owner(past_open=False)
        self._renew(on_error)
        self._check_owner()

    def _renew(self, on_error: Callable[[KafkaError], None]) -> None:
        """End whatever another process, or an earlier producer, has begun under the id."""
        if self._producer is not None:
            self._producer.purge()
        self._producer = None
        producer = self._make_producer(on_error)
        try:
            producer.init_transactions(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
            words = f"no response to init_transactions within {TIMEOUT:g} s"
            raise KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE, words)) from error
        self._producer = producer

    def _check_owner(self, *, past_open: bool = True) -> None:
        self.committed = self._store.read(past_open=past_open)
        owner = self.committed.owner
        if owner is not None and owner.instance != self._owner.instance:
            raise Fenced(
                f"output.kafka: another shipper uses the same transactional id: {owner}. This one stops; "
                "nothing is lost or sent twice. Stop one of them, or give each its own "
                "output.kafka.transaction.id (a copied path.data contains the id of the original)"
            )

    def begin(self) -> None:
        self.producer.begin_transaction()
        self._has_offsets = False

    def stop_sending(self, is_open: bool) -> None:
        """Stop sending, and abort an open transaction."""
        self.producer.purge()
        if is_open:
            self.producer.abort_transaction()

    def commit(self, add_offsets: Callable[[TransactionalProducer], None]) -> None:
        """Commit the transaction, with the offsets of consumer groups, which are added once: a retried commit accepts
        nothing more."""
        if not self._has_offsets:
            patience = self._patience.offsets.delay(self._late + 1)
            self._late += 1
            adding = _awaited(partial(add_offsets, self.producer), patience, "the offsets of consumer groups")
            self._late = 0
            adding.check()
            self._has_offsets = True
        self._commit()

    def _commit(self) -> None:
        _awaited(self.producer.commit_transaction, self._patience.end, "the commit").check()

    def abort(self) -> None:
        _awaited(self.producer.abort_transaction, self._patience.end, "the abort").check()

    def produce_positions(self, entries: Mapping[str, bytes | None], failed: Callable[[KafkaError], None]) -> None:
        """Write the positions into the transaction."""
        records = self.records(entries)

        def report(error: KafkaError | None, message: object = None) -> None:
            if error is not None:
                failed(error)

        self.producer.produce_batch(self.topic, records, callback=report)
        for record in records:
            report(record.get("_error"))

    def records(self, entries: Mapping[str, bytes | None]) -> list[dict[str, Any]]:
        """Return the position records of a further transaction."""
        self._number += 1
        return self._store.records(self._owner.numbered(self._number), entries)

    @property
    def is_committed(self) -> bool:
        """Return True if the last transaction was committed, which a replaced producer did not report."""
        return self.committed.owner == self._owner.numbered(self._number)


def _awaited(call: Callable[[], None], patience: float, name: str) -> Background:
    """Return the ended call. After `patience` seconds it is abandoned, which keeps a thread and its producer, and the
    raised KafkaException has the producer replaced."""
    calling = Background(call, "transaction call")
    if not calling.wait(patience):
        words = f"no response to {name} within {patience:g} s"
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, words))
    return calling


def _ignore(error: KafkaError | None, message: object) -> None:
    """Ignore a failure, after which the commit fails too."""
