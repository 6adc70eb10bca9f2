"""An endpoint of the input `http` without sockets and threads: connections whose other end is the test."""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from log_shipper.shipper.event import Messages
from log_shipper.shipper.inputs.http.bodies import BodyReader
from log_shipper.shipper.inputs.http.conversation import Conversation
from log_shipper.shipper.inputs.http.deliveries import Delivery, Part, take_run
from log_shipper.shipper.inputs.http.endpoint import HttpEndpoint
from log_shipper.shipper.inputs.http.judging import InFlight, Judge
from log_shipper.shipper.inputs.http.limits import HttpLimits, Patience, patience_of
from log_shipper.shipper.inputs.http.options import HttpInputConfig
from log_shipper.shipper.inputs.http.placing import Placing
from log_shipper.shipper.inputs.mailbox import Mailbox
from tests.fakes import ManualClock

PATIENCE = Patience(idle=75, head=10, write=5, linger=1, head_bytes=1000, ahead_bytes=200, ignored_bytes=1000)


class Client(asyncio.Transport):
    """The client of a connection, as the server's end of it: `sent` is what it was sent and has not read yet."""

    def __init__(self, conversation: Conversation, *, tls: bool = False) -> None:
        super().__init__({"peername": ("10.0.0.7", 4711)})
        self.conversation = conversation
        self.sent = b""
        self.reads_on = True
        self.is_closed = self.is_aborted = self.is_half_closed = False
        self.is_reset = False
        self.unread = 0  # bytes that the client does not take
        self._tls = tls
        conversation.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.unread

    def can_write_eof(self) -> bool:
        return not self._tls

    def write_eof(self) -> None:
        if self.is_reset:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        self.is_half_closed = True

    def pause_reading(self) -> None:
        self.reads_on = False

    def resume_reading(self) -> None:
        self.reads_on = True

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.conversation.connection_lost(None)

    def abort(self) -> None:
        self.is_aborted = True
        self.close()

    def send(self, data: bytes | str) -> None:
        assert not self.is_closed
        self.conversation.data_received(data if isinstance(data, bytes) else data.encode())

    def leave(self) -> None:
        """Close the connection, as the client."""
        self.close()

    def end_sending(self) -> None:
        """Close the client's direction, and keep reading."""
        if not self.conversation.eof_received():
            self.close()

    def read(self) -> bytes:
        sent, self.sent = self.sent, b""
        return sent

    def statuses(self) -> list[int]:
        """Read the answers, and return their statuses."""
        answers = self.read().split(b"HTTP/1.1 ")
        return [int(answer[:3]) for answer in answers[1:]]


def post(
    body: bytes | str = '{"a":1}', *headers: str, path: str = "/", method: str = "POST", version: str = "1.1"
) -> bytes:
    data = body if isinstance(body, bytes) else body.encode()
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", "Content-Type: application/json"]
    if not any(header.lower().startswith(("content-length", "transfer-encoding")) for header in headers):
        lines.append(f"Content-Length: {len(data)}")
    return "\r\n".join([*lines, *headers, "", ""]).encode() + data


@dataclass
class Room:
    """`take` is the reading thread. `aside`: what the thread for large bodies has to do, if `defers`; else it is done
    at once."""

    config: HttpInputConfig = field(default_factory=lambda: HttpInputConfig(id="web", prefix="."))
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        config = self.config
        self.defers = False
        self.aside = list[Callable[[], Callable[[], None]]]()
        self.mailbox = Mailbox[Part](lambda: None)
        self.in_flight = InFlight(config)
        patience = patience_of(config, PATIENCE)
        reader = BodyReader(
            Placing(config.prefix, {}, expand_keys=False, keep_null=False), 1000, 10_000, originals=False
        )
        limits = HttpLimits(config.max_connections, config.retry_after, patience)
        judge = Judge(config, reader, self.in_flight, patience)
        self.endpoint = HttpEndpoint("http localhost:8000/", judge, self.mailbox, limits, _at_once, self._do_aside)
        self.endpoint.now = self.clock.monotonic

    def _do_aside(self, work: Callable[[], Callable[[], None]]) -> None:
        if self.defers:
            self.aside.append(work)
        else:
            work()()

    def connect(self, *, tls: bool = False) -> Client:
        return Client(Conversation(self.endpoint), tls=tls)

    def take(self) -> tuple[Messages, list[Delivery]]:
        taken = take_run(self.mailbox)
        assert taken is not None
        return taken

    def ship(self) -> list[str]:
        """Take and resolve all; return the texts."""
        texts = list[str]()
        while (taken := take_run(self.mailbox)) is not None:
            texts += taken[0].texts
            for delivery in taken[1]:
                delivery.resolve_part()
        return texts

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.endpoint.tick()


def _at_once(function: Callable[[], None]) -> None:
    function()
