"""`output.console`: writes records to standard output, one per line, for tests and inspection.

The reader of a pipe may pause for any time. A blocking write would block the one thread that also handles SIGTERM, so
nothing is written unless there is room for it; data that a full pipe does not accept waits here.
"""

import fcntl
import io
import os
import select
import stat
import sys
import termios
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.codec import CodecConfig, JsonCodec
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Deliveries, Output, SingleDestination
from log_shipper.shipper.output.encode import Codec, rejections, sendable
from log_shipper.shipper.outputs.base import CheckSteps, LineOutput, OutputContext

# How long `poll` waits for a full pipe, even with a smaller timeout: everything else waits for the destination then,
# and the loop polls it only once a round.
PIPE_WAIT = 0.02  # seconds
# A pipe with room accepts a write of this size completely or not at all: so a killed process leaves no partial record,
# unless the record is longer.
PIECE = select.PIPE_BUF
FILE_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOutputConfig(LineOutput):
    ignored: ClassVar = filebeat.CONSOLE_IGNORED
    is_stdout: ClassVar = True
    example: ClassVar = "output.console: {pretty: true}"
    pretty: bool = field(default=False, metadata={"doc": "Whether each record is written over several indented lines."})

    def remarks(self) -> Iterator[Finding]:
        if self.pretty and self.codec.format is not None:
            yield "pretty", "has no effect with codec.format"

    def converted(self) -> "ConsoleOutputConfig":
        """Return the output with a single option where Filebeat has two names."""
        if not self.pretty or self.codec.format is not None:
            return replace(self, pretty=False)
        json = replace(self.codec.json or JsonCodec(), pretty=True)
        return replace(self, pretty=False, codec=CodecConfig(json=json))

    def describe(self) -> str:
        return "console"

    def open(self, config: ShipperConfig, context: OutputContext) -> Output:
        return ConsoleOutput(self.make_codec(), context.deliveries, context.clock)

    def try_out(self, step: CheckSteps) -> bool:
        return step("console: standard output")


class ConsoleOutput(SingleDestination):
    """The running output. Delivered means written to the kernel.

    A closed pipe or a full disk raises OSError and ends the run, as there is no destination any more. Any number of
    batches may be in flight (the queue bounds them); a partly written one is completed first.
    """

    def __init__(
        self,
        codec: Codec,
        deliveries: Deliveries,
        clock: Clock,
        *,
        stream: BinaryIO | None = None,
    ) -> None:
        if stream is None and sys.stdout is None:
            raise StartError("output.console: standard output is closed; redirect it to a file, or use output.file")
        self._codec = codec
        self._deliveries = deliveries
        self._clock = clock
        self._target = _target(stream or sys.stdout.buffer)
        self._pending: deque[Batch] = deque()
        self._unwritten = memoryview(b"")  # the rest of the first batch

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    def publish(self, batch: Batch) -> bool:
        self._pending.append(batch)
        if len(self._pending) == 1:
            self._write_pending(0)
        return True

    def poll(self, timeout: float) -> None:
        """Write, waiting up to `PIPE_WAIT` for a full pipe, even if `timeout` is less."""
        if self._pending:
            self._write_pending(max(timeout, PIPE_WAIT))

    def close(self) -> None:
        self._target.close()

    def _write_pending(self, timeout: float) -> None:
        deadline = self._clock.monotonic() + timeout
        while self._pending:
            if not self._unwritten:
                self._unwritten = memoryview(self._encode(self._pending[0]))
            if not self._write(deadline):
                return
            batch = self._pending.popleft()
            self._deliveries.delivered(batch, rejections(self._codec.refused(batch)))

    def _encode(self, batch: Batch) -> bytes:
        records = self._codec.encode(sendable(batch, self._codec.refused(batch)))
        return "".join(f"{record}\n" for record in records).encode()

    def _write(self, deadline: float) -> bool:
        """Write as much of the batch as possible until the deadline. Return True if that was all of it."""
        try:
            while self._unwritten and self._target.has_room(max(deadline - self._clock.monotonic(), 0)):
                self._unwritten = self._unwritten[self._target.write(self._unwritten) :]
        except BlockingIOError:  # a terminal that reported room and accepted nothing
            return False
        except BrokenPipeError as error:
            words = f"{error.strerror}: its reader closed it; unread records are not delivered"
            raise OSError(error.errno, words, "standard output") from error
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error
        return not self._unwritten


class _Memory:
    """A stream in memory, without a descriptor: it always has room."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def has_room(self, timeout: float) -> bool:
        return True

    def write(self, data: memoryview) -> int:
        return self._stream.write(data)

    def close(self) -> None:
        pass


class _Descriptor:
    """Standard output, written only when it has room, without O_NONBLOCK: that flag belongs to the open file, which
    other programs share."""

    def __init__(self, fd: int) -> None:
        self._own = _open_terminal(fd) if os.isatty(fd) else None
        self._fd = fd if self._own is None else self._own
        mode = os.fstat(fd).st_mode
        self._piece = PIECE if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd) else FILE_PIECE
        self._capacity = fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) if stat.S_ISFIFO(mode) else 0
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLOUT)

    def has_room(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds. Return True if there is room, or an error that the next write reports."""
        return bool(self._poll.poll(timeout * 1000))

    def write(self, data: memoryview) -> int:
        """Write as much as there is room for, and return the number of bytes. Raises OSError."""
        # A pipe with room accepts a piece; an empty one, as with a fast reader, its whole capacity.
        size = self._capacity if self._capacity and self._is_empty() else self._piece
        return os.write(self._fd, _whole_lines(data[:size]))

    def _is_empty(self) -> bool:
        waiting = bytearray(4)
        fcntl.ioctl(self._fd, termios.FIONREAD, waiting)
        return not any(waiting)

    def close(self) -> None:
        if self._own is not None:
            os.close(self._own)


def _target(stream: BinaryIO) -> _Descriptor | _Memory:
    try:
        fd = stream.fileno()
    except io.UnsupportedOperation:
        return _Memory(stream)
    stream.flush()
    return _Descriptor(fd)


def _whole_lines(data: memoryview) -> memoryview:
    """Return the whole lines, or the start of a longer line if there are none."""
    return data[: bytes(data).rfind(b"\n") + 1] or data


def _open_terminal(fd: int) -> int | None:
    """Open the terminal again, so that O_NONBLOCK does not affect other programs: a terminal may have room for less
    than a piece, and would block. Return None if that is denied, because it belongs to another user or container."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
