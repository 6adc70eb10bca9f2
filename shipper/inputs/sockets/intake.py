"""Split received data into the messages of each connection, and datagrams."""

from collections.abc import Callable
from dataclasses import dataclass

from log_shipper.shipper.inputs.sockets.connection import Connection
from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.framing import Frames
from log_shipper.shipper.inputs.sockets.messages import Senders
from log_shipper.shipper.inputs.sockets.system_calls import Datagrams

OVERHEAD = 100  # bytes of memory of a piece in addition to its content


@dataclass(frozen=True, slots=True)
class Piece:
    """An item of the mailbox: datagrams, or bytes of a connection; `data` is None at its end, `is_ours` if the shipper
    closed it."""

    datagrams: Datagrams | None = None
    connection: Connection | None = None
    data: bytes | None = None
    is_ours: bool = False

    @property
    def size(self) -> int:
        """Return the number of received bytes."""
        return len(self.data or b"") if self.datagrams is None else sum(map(len, self.datagrams.texts))


class MessageIntake:
    """The splitting of received data. `limit`: maximum length of a message that is kept whole; `max_unfinished`:
    maximum bytes of unfinished messages of all connections; `refuse` closes a connection. Used by the reading thread
    only."""

    def __init__(
        self,
        senders: Senders,
        limit: int,
        max_unfinished: int,
        report: PeerReporter,
        refuse: Callable[[Connection], None],
    ) -> None:
        self.counts = SocketCounts()
        self._senders = senders
        self._limit = limit
        self._max_unfinished = max_unfinished
        self._report = report
        self._refuse = refuse
        self._unfinished: dict[Connection, int] = {}  # kept bytes
        self._kept = 0  # their sum

    def accept(self, piece: Piece) -> None:
        if piece.datagrams is not None:
            self._note_oversized(self._senders.add_datagrams(piece.datagrams, self._limit))
        elif piece.connection is not None and not piece.connection.is_refused:
            if piece.data is None:
                self._end(piece.connection, is_ours=piece.is_ours)
            else:
                self._add(piece.connection, piece.data)

    def _add(self, connection: Connection, data: bytes) -> None:
        framing = connection.framing
        frames = framing.add(data)
        self._give(connection, frames)
        if framing.failure:
            self._fail(connection, framing.failure)
            return
        self._keep(connection, framing.pending)
        if self._kept > self._max_unfinished:
            self._relieve()

    def _give(self, connection: Connection, frames: Frames) -> None:
        if frames.texts:
            if max(frames.lengths) > self._limit:
                self._note_oversized(sum(length > self._limit for length in frames.lengths))
            self._senders.add_frames(connection, frames)

    def _end(self, connection: Connection, *, is_ours: bool) -> None:
        """Give out the rest, if its peer closed the connection: it will not send the rest of its last line."""
        self._keep(connection, 0)
        if is_ours:
            lost, reason = connection.framing.pending, "the shipper closed the connection"
        else:
            frames, lost = connection.framing.end()
            reason = "the sender closed the connection"
            self._give(connection, frames)
        if lost:
            self.counts.messages_unfinished += 1
            message = "%s: the last %d bytes of %s are lost: %s within a message"
            self._report.warn("unfinished", message, connection.place, lost, connection.peer, reason)

    def _fail(self, connection: Connection, failure: str) -> None:
        self._keep(connection, 0)
        self.counts.framing_errors += 1
        connection.is_refused = True
        self._refuse(connection)
        message = "%s: closed the connection of %s: its framing does not follow RFC 6587: %s"
        self._report.warn("framing", message, connection.place, connection.peer, failure)

    def _note_oversized(self, count: int) -> None:
        if count:
            self.counts.messages_oversized += count
            message = "a message longer than max_message_size (%d bytes) was truncated"
            self._report.warn("oversized", message, self._limit)

    def _keep(self, connection: Connection, size: int) -> None:
        before = self._unfinished.pop(connection, 0)
        if size:
            self._unfinished[connection] = size
        self._kept += size - before

    def _relieve(self) -> None:
        """Give out the longest unfinished message as it is, and drop its rest."""
        connection = max(self._unfinished, key=self._unfinished.__getitem__)
        self._keep(connection, 0)
        self._senders.add_frames(connection, connection.framing.cut())
        self.counts.messages_oversized += 1
        message = "%s: split a message of %s, because unfinished messages exceed pending_bytes"
        self._report.warn("pending", message, connection.place, connection.peer)
