"""Provide an input that listens as a source of batches. A stop first gives out what was received."""

import logging
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.event import Batch, Messages
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.inputs.feed import REFUSED_WAIT, FeedInput
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.intake import MessageIntake, Piece
from log_shipper.shipper.inputs.sockets.messages import Senders
from log_shipper.shipper.inputs.sockets.options import SocketConfig, SyslogInput
from log_shipper.shipper.inputs.sockets.setup import make_receiver
from log_shipper.shipper.pipeline.acks import Ledger
from log_shipper.shipper.reader import chain

logger = logging.getLogger(__name__)

NEVER = float("inf")


class RunReader:
    """The reader below the parsers: it returns one run that it was given."""

    pending_since: float | None = None

    def __init__(self) -> None:
        self.run: Messages | None = None

    def next(self) -> Messages | None:
        run, self.run = self.run, None
        return run

    def finish(self) -> Messages | None:
        return None


class SocketSource:
    """The source of an input that listens. Used by the reading thread only, except `status`. `addresses`: where it
    listens, including ports chosen by the system."""

    def __init__(self, feed_input: FeedInput, context: SourceContext, wake: Callable[[], None]) -> None:
        """Start listening. Raises StartError if it cannot listen."""
        config = feed_input.config
        assert isinstance(config, SocketConfig)
        self._context = context
        self._clock = context.clock
        self._ledger = Ledger(0)
        self._offset = 0
        self._ready: deque[Batch] = deque()
        self._counted = SocketCounts(), SocketCounts()  # the receiver's and intake's counts that are in the metrics
        self._is_ending = False  # the agent stops
        self._is_stopped = False
        self._id = config.id
        self._trims = isinstance(config, SyslogInput)
        path = ", ".join(config.listens.places)
        self._given = RunReader()
        shared = {"log": {"file": {"path": path}}}
        self._reader = chain.parse(self._given, config, feed_input.max_bytes, context.clock, shared, context.metrics)
        self._senders = Senders(partial(feed_input.source, uuid.uuid4().hex, path, repeatable=False))
        self._mailbox: Mailbox[Piece] = Mailbox(wake, config.pending_bytes)
        self.receiver = make_receiver(config, self._mailbox, context)
        self.addresses = self.receiver.addresses
        limit = config.listens.max_message_size
        report = PeerReporter(config.id, context.clock.monotonic)
        max_unfinished = max(config.pending_bytes, limit)
        self._intake = MessageIntake(self._senders, limit, max_unfinished, report, self.receiver.refuse)
        self.receiver.start()
        logger.info("input %s: listening at %s", config.id, ", ".join(self.addresses))

    @property
    def finished(self) -> bool:
        return self._is_stopped and not self._ledger.open_batches

    def step(self) -> None:
        for counts, counted in ((self.receiver.counts, self._counted[0]), (self._intake.counts, self._counted[1])):
            counts.add_to(self._context.metrics, counted)

    def read(self, budget: int) -> Iterator[Batch]:
        """Yield received events, sorted by sender."""
        while self._ready:
            yield self._ready.popleft()
        if self._takes_more and self._take(budget):
            self._prepare()
            while self._ready:
                yield self._ready.popleft()

    def next_wake(self, *, reading: bool) -> float:
        if not reading:
            return NEVER
        if self._ready or not self._mailbox.await_more():
            return 0.0 if self._takes_more else REFUSED_WAIT
        return NEVER

    def status(self) -> SourceStatus:
        waiting = self._mailbox.waiting
        return SourceStatus(
            files_open=self.receiver.open_sockets,
            reading=int(waiting > 0),
            unsettled=int(self._ledger.open_batches > 0),
            waiting=0,
            bytes_waiting=waiting,
            bytes_behind=self._offset - self._ledger.position,
            is_size_known=True,
            problems=self.receiver.problems,
        )

    def drain(self, seconds: float) -> bool:
        """Stop listening, and receive what the kernel has. Return True when all of it was given out."""
        self.receiver.end(seconds)
        return self._is_stopped or (self.receiver.is_done and not self._mailbox.waiting and not self._ready)

    def read_to_end(self, seconds: float) -> bool:
        self._is_ending = True
        return self.drain(seconds) or seconds <= 0

    def stop(self) -> None:
        self.receiver.close()
        self._is_stopped = True
        self.step()
        if self._is_ending:
            self._report_lost()

    def _report_lost(self) -> None:
        """Report received bytes that were neither delivered nor written to the queue on disk."""
        lost = self._offset - self._ledger.position
        while (piece := self._mailbox.pop()) is not None:
            lost += piece.size
        if lost:
            self._context.metrics.bytes_lost += lost
            logger.error(
                "input %s: about %d received bytes are lost: neither delivered in time (shipper.shutdown_timeout) "
                "nor written to the queue on disk (queue.disk)",
                self._id,
                lost,
                extra=EACH,
            )

    @property
    def _takes_more(self) -> bool:
        return self._context.pipeline.takes_more(self._senders.shared)

    def _take(self, budget: int) -> bool:
        """Take about `budget` waiting bytes. Return False if there were none."""
        before = self._mailbox.taken
        while self._mailbox.taken < before + budget and (piece := self._mailbox.pop()) is not None:
            self._intake.accept(piece)
        return self._mailbox.taken > before

    def _prepare(self) -> None:
        """Make batches of what was taken."""
        now, monotonic = self._clock.time(), self._clock.monotonic()
        for source, run in self._senders.runs(self._offset):
            self._offset = run.end
            if self._trims:
                run.texts = [text.rstrip("\n\0") for text in run.texts]
            self._given.run = run
            resolve = self._ledger.track(self._offset, monotonic)
            messages = self._reader.next()
            if messages is not None and messages.texts:
                self._ready.append(Batch(source, messages, now, resolve))
            else:
                resolve()  # empty messages are dropped
        self.receiver.resume()
