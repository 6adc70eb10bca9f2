"""Run the thread of a group member: it opens a session with the brokers, and another one when that has failed."""

import logging
import threading
from collections.abc import Callable

from confluent_kafka import KafkaException

from log_shipper.runtime.kafka.renewal import never
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.kafka.client import Clients
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.session import Session

logger = logging.getLogger(__name__)

FAILED_RETRY = 30.0  # seconds


class Member:
    """The group member. Any thread may read `partitions`, `assignment`, `has_ended`, `records_lost` and `metadata`; the
    rest is for the reading thread."""

    def __init__(self, clients: Clients, context: MemberContext, are_renewed: Callable[[], bool] = never) -> None:
        self._clients = clients
        self._context = context
        self._are_renewed = are_renewed
        self._backoff = Backoff(1.0, 30.0)
        self._attempts = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"kafka {context.config.group_id}")
        # The session, and the number of records lost in earlier ones: together, for readers of another thread.
        self._now: tuple[Session | None, int] = None, 0
        self.has_ended = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Hand over nothing more. The thread ends when what is in flight is delivered, or after `wait_close`."""
        self._stopping.set()
        self.has_room()

    def has_room(self) -> None:
        """Note that there is room again."""
        session, _ = self._now
        if session is not None:
            session.has_room()

    @property
    def partitions(self) -> dict[Place, Partition]:
        session, _ = self._now
        return session.rebalances.partitions if session is not None else {}

    @property
    def assignment(self) -> dict[Place, Partition] | None:
        """Return what there is to read; None while unknown."""
        session, _ = self._now
        return session.assignment if session is not None else None

    @property
    def records_lost(self) -> int:
        session, before = self._now
        return before + (session.rebalances.records_lost if session is not None else 0)

    def metadata(self) -> object:
        """Return the metadata with which a transaction proves that this member still has its partitions."""
        session, _ = self._now
        return session.rebalances.metadata if session is not None else None

    def _is_stopping(self) -> bool:
        # This thread outlives the main one only until it has committed and left the group.
        return self._stopping.is_set() or not threading.main_thread().is_alive()

    def _run(self) -> None:
        while not self._is_stopping():
            try:
                self._hold_session()
            except KafkaException as error:
                self._retry_later(self._context.problems.words(error.args[0]))
            except StartError as error:
                self._retry_later(str(error))
            except Exception as error:
                logger.exception(
                    "input %s: reading from Kafka failed unexpectedly; retrying. Report this traceback",
                    self._context.config.id,
                )
                self._retry_later(repr(error))
        self.has_ended = True
        self._context.wake()

    def _hold_session(self) -> None:
        """Read with one consumer until the input stops, the consumer has failed or is outdated, or its certificates
        were renewed."""
        session = Session(self._clients, self._context, self._is_stopping)
        self._now = session, self.records_lost
        try:
            session.begin()
            while not (self._is_stopping() or session.is_over or self._are_renewed()):
                session.step()
                if session.rebalances.assignment is not None:
                    self._attempts = 0
            session.finish()
        finally:
            session.close()
            # Until there is another one, it is not known what there is to read: with --once that is not the end.
            self._now = None, self.records_lost
        if session.failure and not self._is_stopping():
            # Not soon: two members with one group_instance_id would take the partitions from each other all the time.
            self._retry_later(session.failure, FAILED_RETRY)

    def _retry_later(self, reason: str, min_delay: float = 0.0) -> None:
        self._attempts += 1
        delay = max(self._backoff.delay(self._attempts), min_delay)
        problems = self._context.problems
        problems.show(problems.group, f"{reason}; creating a new consumer in {delay:.0f} s")
        self._stopping.wait(delay)
