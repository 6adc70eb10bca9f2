"""The Kafka output with `delivery: exactly_once`: a consumer with read_committed sees each record once, whatever is
killed.

Batches are sent as they come. After `interval`, or when half the queue is in the transaction, it ends: rejected events
are saved, the future positions of the files are written into the same transaction (`positions_topic`), and it is
committed. Only then are the batches resolved. Later batches wait for the next transaction.

- *A failed transaction* is aborted, and the same batches are sent again in a new one. Once the positions are prepared
  (`Positions.prepare`) no batch is added or removed.
- *A refused request* says nothing about single records: its batches are sent in smaller and smaller parts, each in its
  own request, and a record that is refused alone is rejected.
- *A permanently failed producer*, one whose commit or abort does not return, or one with old certificates, is
  replaced. Whether its last transaction was committed is shown by the number in the positions topic, after
  `init_transactions` has ended that transaction.
- *A second shipper with the same transactional id* fences this one, which ends: `Fenced` names the other
  (`transactional_id`).

Calls that wait for the broker run in the background. Reports of records are processed before: in a second thread each
would wait for the interpreter lock. Successful ones are not passed to Python at all (`delivery.report.only.error`),
because the commit is the proof.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from log_shipper.shipper.errors import Fenced, StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.background import Background
from log_shipper.shipper.output.base import PreparesPositions, SingleDestination, TransactionDeliveries
from log_shipper.shipper.output.kafka import KafkaContext
from log_shipper.shipper.output.kafka_errors import POISON, PURGED
from log_shipper.shipper.output.silent_topics import SilentTopics
from log_shipper.shipper.output.transaction import SentInParts, Transaction, TransactionLimits
from log_shipper.shipper.output.transactional_id import TransactionalId, TransactionalProducer

logger = logging.getLogger(__name__)

STOP_CHECK = 0.2  # seconds
CLOSING = 1.0  # seconds


class Transactions(SingleDestination):
    """`start` is called first. `limits`: when a transaction ends."""

    def __init__(
        self,
        transactional_id: TransactionalId,
        kafka: KafkaContext,
        deliveries: TransactionDeliveries,
        prepares: PreparesPositions,
        limits: TransactionLimits,
    ) -> None:
        self._id = transactional_id
        self._kafka = kafka
        self.errors = kafka.errors
        self._limits = limits
        self._prepares = prepares
        self._had_groups = prepares.has_groups
        self._make = partial(Transaction, prepares, deliveries)
        self._transaction = self._make()
        self._waiting: deque[SentInParts] = deque()  # for the next one
        self._forgotten: dict[str, None] = {}  # entries to remove from the topic
        self._is_alone = False  # the last part sent must be the only one in its request
        self._attempts = 0
        self._is_open = self._failed = self._is_renewed = False
        self._ends_at = self._retry_at = 0.0
        self._silent_topics = SilentTopics(transactional_id.refused, kafka.clock)
        self._background: Background | None = None
        self._then: Callable[[], None] = self._committed

    @property
    def in_flight(self) -> int:
        return len(self._waiting) + len(self._transaction)

    def start(self, stopping: Callable[[], bool]) -> Mapping[str, bytes] | None:
        """Take over the transactional id, and return the entries committed under it, by file id. Waits for Kafka; None
        if `stopping` meanwhile. Raises StartError."""
        while not stopping():
            taking = self._run(lambda: self._id.take_over(self._on_error), self._committed, self._delay)
            while not taking.wait(STOP_CHECK):
                if stopping():
                    return None
            self._background = None
            try:
                taking.check()
            except KafkaException as error:
                self._attempts += 1
                self._report(error.args[0])
                continue
            self._attempts = 0
            self._kafka.errors.report_recovery()
            committed = self._id.committed
            if committed.owner is not None:
                logger.info("the transactional id was last used by %s", committed.owner)
            return committed.entries
        return None

    @property
    def _client(self) -> TransactionalProducer:
        return self._id.producer

    def forget(self, file_id: str) -> None:
        """Remove the entry of a file from the topic, with the next transaction."""
        self._forgotten[file_id] = None

    def publish(self, batch: Batch) -> bool:
        self._waiting.append(SentInParts(batch, self._kafka.topics(batch), self._kafka.records.sets_times))
        self._continue()
        return True

    def poll(self, timeout: float) -> None:
        self._is_renewed |= self._then != self._replaced and (self._kafka.are_renewed() or self._groups_began())
        if self._background is None:
            self._continue(timeout if self.in_flight else 0.0)
        elif self._background.wait(timeout):
            self._take_result(self._background)
            self._continue()

    def _groups_began(self) -> bool:
        """Return True once after a reload has added the first input that reads from a group: offsets need a producer
        with other settings."""
        had, self._had_groups = self._had_groups, self._prepares.has_groups
        return self._had_groups and not had

    def reach(self, timeout: float) -> bool:
        return self._id.has_producer and self._kafka.probe.reach(timeout)

    def close(self) -> None:
        """End an open transaction: otherwise it would hold up readers of the topic until it times out."""
        may_end = self._then == self._looked_up  # soon; any other call ends the transaction itself
        if self._background is not None and not (may_end and self._background.wait(CLOSING)):
            return
        if not self._id.has_producer:
            return
        Background(partial(self._id.stop_sending, self._is_open), "transaction").wait(CLOSING)

    def _continue(self, timeout: float | None = None) -> None:
        """Do what can be done without waiting. `timeout`: first process reports for this many seconds."""
        try:
            if timeout is not None:
                self._client.poll(timeout)
            self._proceed()
        except KafkaException as exception:  # the producer has failed, for example because another one has its id
            self._then = self._replaced
            self._call_failed(exception.args[0])

    def _proceed(self) -> None:
        if self._background is not None or (not self._is_open and self._kafka.clock.monotonic() < self._retry_at):
            return
        if self._is_renewed:
            self._run(lambda: self._id.replace_producer(self._on_error), self._replaced)
        elif self._failed:
            self._run(self._id.abort, self._aborted)
        elif self.in_flight:
            if not self._is_open:
                self._begin()
            self._send_waiting()
            if not self._failed and self._is_due:
                self._end()
            if not self._failed and self._background is None and len(self._client) and self._silent_topics.are_due:
                self._run(self._look_up, self._looked_up)

    def _run(self, call: Callable[[], None], then: Callable[[], None], delay: float = 0.0) -> Background:
        def wait_and_call() -> None:
            self._kafka.clock.sleep(delay)
            call()

        self._then = then
        self._background = Background(wait_and_call if delay else call, "transaction")
        return self._background

    def _take_result(self, background: Background) -> None:
        self._background = None
        try:
            background.check()
        except KafkaException as exception:
            self._call_failed(exception.args[0])
        except Fenced:
            raise
        except StartError as error:  # no client can be created, for example during a renewal of certificates
            self._call_failed(KafkaError(KafkaError._FAIL, str(error)))
        else:
            self._then()

    def _call_failed(self, error: KafkaError) -> None:
        self._report(error)
        delay = self._delay
        self._attempts += 1
        if self._is_renewed or self._then == self._replaced or not (error.retriable() or error.txn_requires_abort()):
            self._run(lambda: self._id.replace_producer(self._on_error), self._replaced, delay)
        elif error.txn_requires_abort():
            self._failed = True
        elif self._then == self._aborted:
            self._run(self._id.abort, self._aborted, delay)
        else:
            self._commit(delay)

    @property
    def _delay(self) -> float:
        """Return the seconds to wait before the next attempt; none before the first."""
        return self._kafka.backoff.delay(self._attempts) if self._attempts else 0.0

    def _begin(self) -> None:
        self._id.begin()
        self._is_open = True
        self._is_alone = False
        self._ends_at = self._kafka.clock.monotonic() + self._limits.interval
        self._silent_topics.wait_from(self._ends_at)
        self._transaction.send_all()

    def _send_waiting(self) -> None:
        transaction = self._transaction
        while self._waiting and not transaction.is_prepared and not self._is_full:
            transaction.add(self._waiting.popleft())
        while transaction.unsent and not self._failed:
            sending, part = transaction.unsent[0]
            if (sending.alone or self._is_alone) and len(self._client):
                return  # one at a time: a refusal of two parts in one request would not show which is meant
            if not self._kafka.knows_partitions(sending.topics):
                return  # they are checked again at the next poll
            transaction.unsent.popleft()
            self._is_alone = sending.alone
            self._send(sending, part)

    def _send(self, sending: SentInParts, part: int) -> None:
        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                sending.fail(part, error)
                self._record_failed(error, message.topic() or "", has_times=sending.has_times)

        indices = sending.parts[part]
        whole = len(indices) == sending.batch.events
        for index, error in self._kafka.send(self._client, sending, None if whole else indices, lambda _: report):
            sending.refuse(index, error)
            self._record_failed(error, sending.topics.topic_of(index))

    def _record_failed(self, error: KafkaError, topic: str, has_times: bool = False) -> None:
        self._failed = True
        self._kafka.errors.report_failed_record(error, topic, has_times=has_times)

    @property
    def _is_full(self) -> bool:
        return self._transaction.events >= self._limits.events or self._transaction.bytes >= self._limits.bytes

    @property
    def _is_due(self) -> bool:
        return self._is_full or self._transaction.is_prepared or self._kafka.clock.monotonic() >= self._ends_at

    def _end(self) -> None:
        """Write the positions, and commit once all reports have arrived."""
        transaction = self._transaction
        if transaction.unsent:
            return
        self._failed |= transaction.has_lost  # the rest is sent in the next one
        if not transaction.is_written and not self._failed:
            if not transaction.save_rejected():
                return
            self._id.produce_positions(transaction.prepare(self._forgotten), self._position_failed)
            transaction.is_written = True
            self._client.poll(0)
        if not len(self._client) and not self._failed:
            self._commit()

    def _commit(self, delay: float = 0.0) -> None:
        self._run(partial(self._id.commit, self._transaction.positions.add_offsets), self._committed, delay)

    def _look_up(self) -> None:
        self._silent_topics.look_up(self._transaction.topics | {self._id.topic})

    def _looked_up(self) -> None:
        self._is_renewed |= self._silent_topics.is_producer_stuck(len(self._client))
        for topic, error in self._silent_topics.refused.items():
            self._report(error, topic)

    def _position_failed(self, error: KafkaError) -> None:
        self._failed = True
        if error.code() not in PURGED:  # otherwise caused by our own abort
            self._report(error, self._id.topic)

    def _committed(self) -> None:
        committed, self._transaction = self._transaction, self._make()
        self._attempts = 0
        self._is_open = self._failed = False
        for file_id in committed.removed:
            self._forgotten.pop(file_id, None)
        self._silent_topics.reset()
        self._kafka.metrics.transactions_committed += 1
        self._kafka.errors.report_recovery()
        committed.commit()

    def _aborted(self) -> None:
        """Have the same batches sent again; at once, unless something other than a record was refused."""
        self._kafka.metrics.transactions_aborted += 1
        self._kafka.metrics.batches_retried += len(self._transaction)
        codes = self._transaction.codes
        if codes - PURGED and codes <= POISON | PURGED:
            self._attempts, self._retry_at = 0, 0.0
        else:
            self._attempts += 1
            self._retry_at = self._kafka.clock.monotonic() + self._delay
        self._again()

    def _again(self) -> None:
        self._transaction.abort()
        self._is_open = self._failed = False

    def _replaced(self) -> None:
        self._is_renewed = False
        self._silent_topics.reset()
        logger.warning("the Kafka producer was replaced: uncommitted events are sent again")
        if self._transaction.is_written and self._id.is_committed:
            self._committed()
        else:
            self._again()

    def _report(self, error: KafkaError, topic: str = "") -> None:
        self._kafka.errors.report(error.code(), error.str(), topic)

    def _on_error(self, error: KafkaError) -> None:
        if not error.fatal():  # otherwise the next call of the producer fails
            self._report(error)
