"""A Kafka with transactions that a test drives: the producers of Transactions, and what they committed."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from log_shipper.shipper.output.kafka_records import Report
from log_shipper.shipper.output.positions_topic import Committed, Owner

POSITIONS = "positions"


def failure(code: int, *, retriable: bool = False, abort: bool = False, fatal: bool = False) -> KafkaException:
    return KafkaException(KafkaError(code, "as the test says", fatal, retriable, abort))


@dataclass(frozen=True)
class Written:
    topic: str
    key: str
    value: Any
    report: Report
    partition: int | None = None


class NoAnswer(KafkaException):
    """A planned failure of a call that does not return before `answer`."""

    def __init__(self) -> None:
        super().__init__(KafkaError(KafkaError._FAIL))
        self._answered = threading.Event()

    def answer(self) -> None:
        self._answered.set()

    def wait(self) -> None:
        self._answered.wait()


@dataclass
class TransactionalKafka:
    """A cluster. `committed` has the records of committed transactions, in order; `transactions` how many of them each
    had. `refuses` returns the code with which the records of a request are refused. `failing` are raised by the next
    calls, by the name of the call; with `lost_answers` a commit succeeds all the same."""

    committed: list[Written] = field(default_factory=list)
    transactions: list[list[Written]] = field(default_factory=list)
    aborted: int = 0
    refuses: Callable[[list[Written]], int | None] = lambda request: None
    failing: dict[str, deque[Exception]] = field(default_factory=dict)
    lost_answers: bool = False
    refused: dict[str, KafkaError] = field(default_factory=dict)
    answer_after: float = 0.0  # real seconds that a look-up of topics takes
    producers: list[FakeTransactionalProducer] = field(default_factory=list)
    offsets: list[tuple[list[Any], object]] = field(default_factory=list)  # of groups, in the order of their sending

    def connect(self, on_error: Callable[[KafkaError], None]) -> FakeTransactionalProducer:
        planned = self.next_failure("connect")
        if planned is not None:
            raise planned
        return FakeTransactionalProducer(self)

    def fail(self, call: str, *failures: Exception) -> None:
        self.failing.setdefault(call, deque()).extend(failures)

    def next_failure(self, call: str) -> Exception | None:
        planned = self.failing.get(call)
        return planned.popleft() if planned else None

    @property
    def has_open_positions(self) -> bool:
        """True if positions are in the open transaction of the producer that was initialised last: readers with
        read_committed stop there."""
        return any(record.topic == POSITIONS for producer in self.producers[-1:] for record in producer.open or ())

    @property
    def landed(self) -> list[str]:
        """What a consumer with read_committed sees."""
        return [record.value for record in self.committed if record.topic != POSITIONS]

    @property
    def positions(self) -> dict[str, bytes]:
        """The latest value of each key of the positions' topic."""
        values = {record.key: record.value for record in self.committed if record.topic == POSITIONS}
        return {key: value for key, value in values.items() if value is not None}


class FakeTransactionalProducer:
    """The `TransactionalProducer` of output/transactional_id.py, with the habits of librdkafka: the last one that was
    initialised fences those before, and only failed records are reported."""

    def __init__(self, kafka: TransactionalKafka) -> None:
        self._kafka = kafka
        self.open: list[Written] | None = None
        self._queue: list[Written] = []
        self._reports: list[tuple[Written, int]] = []
        self._must_abort = False
        self.paused = False

    def init_transactions(self, timeout: float) -> None:
        self._raise_planned("init_transactions")
        self._kafka.producers.append(self)

    def begin_transaction(self) -> None:
        self._check("begin_transaction")
        assert self.open is None, "a transaction is open"
        self.open, self._must_abort = [], False

    def commit_transaction(self) -> None:
        self.flush(0)
        planned = self._kafka.next_failure("commit_transaction")
        if planned is not None and (not self._kafka.lost_answers or planned.args[0].txn_requires_abort()):
            raise _when_answered(planned)
        self._check("")
        if self._must_abort:
            raise failure(KafkaError._STATE, abort=True)
        if self.open is not None:  # else a call before, whose answer was lost, has committed it
            self._kafka.committed += self.open
            self._kafka.transactions.append([record for record in self.open if record.topic != POSITIONS])
        self.open = None
        if planned is not None:
            raise _when_answered(planned)

    def abort_transaction(self) -> None:
        self._check("abort_transaction")
        if self.open is None:  # it was committed
            raise failure(KafkaError.INVALID_TXN_STATE, fatal=True)
        self.purge()
        self._serve()
        self._kafka.aborted += 1
        self.open = None

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: object, timeout: float) -> None:
        assert self.open is not None, "no transaction is open"
        self._raise_planned("send_offsets_to_transaction")
        self._kafka.offsets.append((positions, group_metadata))

    def produce_batch(
        self, topic: str, messages: list[dict[str, Any]], *, callback: Report, partition: int = -1
    ) -> int:
        assert self.open is not None, "no transaction is open"
        self._raise_planned("produce_batch")
        self._queue += [
            Written(topic, message["key"], message["value"], callback, message.get("partition")) for message in messages
        ]
        return len(messages)

    def produce(self, topic: str, *, callback: Report, **record: Any) -> None:
        self.produce_batch(topic, [record], callback=callback)

    def poll(self, timeout: float) -> int:
        if not self.paused and self.open is not None and self._queue:
            queue, self._queue = self._queue, []
            request = [record for record in queue if record.topic != POSITIONS]
            code = self._kafka.refuses(request) if request else None
            if code is None:
                self.open += queue
            else:
                self._must_abort = True
                self._reports += [(record, code) for record in request]
        return self._serve()

    def take(self, records: int) -> None:
        """Let the broker take so many records of a producer that is paused."""
        assert self.open is not None
        self.open += self._queue[:records]
        self._queue = self._queue[records:]

    def _serve(self) -> int:
        reports, self._reports = self._reports, []
        for record, code in reports:
            record.report(KafkaError(code), Message(topic=record.topic))
        return len(reports)

    def purge(self) -> None:
        self._reports += [(record, int(KafkaError._PURGE_QUEUE)) for record in self._queue]
        self._queue = []

    def flush(self, timeout: float) -> int:
        self.poll(0)
        return len(self)

    def __len__(self) -> int:
        return len(self._queue) + len(self._reports)

    def _check(self, call: str) -> None:
        self._raise_planned(call)
        if self._kafka.producers[-1] is not self:
            raise failure(KafkaError._FENCED, fatal=True)

    def _raise_planned(self, call: str) -> None:
        planned = self._kafka.next_failure(call)
        if planned is not None:
            raise _when_answered(planned)


def _when_answered(planned: Exception) -> Exception:
    if isinstance(planned, NoAnswer):
        planned.wait()
    return planned


class MemoryPositions:
    """The `PositionStore` of a TransactionalKafka."""

    topic = POSITIONS

    def __init__(self, kafka: TransactionalKafka, transactional_id: str = "web-1") -> None:
        self._kafka = kafka
        self._id = transactional_id

    def prepare(self) -> None:
        pass

    def refused(self, topics: Collection[str], timeout: float) -> dict[str, KafkaError] | None:
        time.sleep(self._kafka.answer_after)
        return {topic: error for topic, error in self._kafka.refused.items() if topic in topics}

    def read(self, *, past_open: bool = True) -> Committed:
        if past_open and self._kafka.has_open_positions:
            raise failure(KafkaError._TIMED_OUT)
        entries = self._kafka.positions
        owner: Any = entries.pop(self._id, None)
        own = {
            key.removeprefix(f"{self._id} "): value for key, value in entries.items() if key.startswith(f"{self._id} ")
        }
        return Committed(None if owner is None else Owner(**owner), own)

    def records(self, owner: Owner, entries: Mapping[str, bytes | None]) -> list[dict[str, Any]]:
        positions = [{"key": f"{self._id} {file_id}", "value": entry} for file_id, entry in entries.items()]
        return [{"key": self._id, "value": asdict(owner)}, *positions]


@dataclass
class PlannedPositions:
    """Prepares the positions of batches that have no files: the entry is where the batch ends. It is those of every
    transaction, too."""

    has_groups: bool = False
    prepared: list[list[Any]] = field(default_factory=list)
    entries: dict[str, bytes] = field(default_factory=dict)
    commits: int = 0
    added: int = 0
    drops: int = 0
    refuse: Callable[[Any], None] = lambda producer: None

    def prepare(self, batches: Any) -> PlannedPositions:
        self.prepared.append(list(batches))
        self.entries = {batch.source.file_id: b"%d" % batch.messages.end for batch in self.prepared[-1]}
        return self

    def commit(self) -> None:
        self.commits += 1

    def add_offsets(self, producer: Any) -> None:
        self.added += 1
        self.refuse(producer)

    def drop_lost(self) -> None:
        self.drops += 1
