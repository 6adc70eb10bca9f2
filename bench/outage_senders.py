"""Senders at full speed: each numbers its messages, and counts the accepted ones."""

import http.client
import json
import random
import socket
import time
from collections.abc import Callable
from ctypes import c_long
from dataclasses import dataclass, field
from multiprocessing import Event, Process, RawValue
from multiprocessing.synchronize import Event as EventType
from typing import Any

AT_ONCE = 100
PADDING = 150  # bytes, compressible to half at most
DATAGRAMS = 20_000  # per second
RETRY = 0.2
TIMEOUT = 30.0


def message(number: int, dice: random.Random) -> str:
    """Return a message with the number at its beginning."""
    return f"{number:09d} {dice.randbytes(PADDING // 2).hex()}"


@dataclass(slots=True)
class Sender:
    """`sent`: messages accepted by the kernel, or by the agent's HTTP response."""

    send: "Callable[[int, Any, EventType], None]"
    port: int
    sent: Any = field(default_factory=lambda: RawValue(c_long, 0))
    stopping: EventType = field(default_factory=Event)
    process: Process | None = None

    def start(self) -> None:
        self.process = Process(target=self.send, args=(self.port, self.sent, self.stopping), daemon=True)
        self.process.start()

    def join(self) -> int:
        """Wait until the current messages are accepted. Return the number of accepted messages."""
        assert self.process is not None, "started"
        self.process.join()
        if self.process.exitcode:
            raise RuntimeError(f"{self.send.__name__} failed")
        return int(self.sent.value)


def send_lines(port: int, sent: Any, stopping: EventType) -> None:
    dice = random.Random(port)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while not stopping.is_set():
            lines = [message(sent.value + index, dice) for index in range(AT_ONCE)]
            connection.sendall("".join(f"{line}\n" for line in lines).encode())  # blocks while the agent does not read
            sent.value += AT_ONCE


def send_datagrams(port: int, sent: Any, stopping: EventType) -> None:
    dice = random.Random(port)
    began = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        while not stopping.is_set():
            while sent.value < (time.monotonic() - began) * DATAGRAMS:
                sender.send(message(sent.value, dice).encode())
                sent.value += 1
            time.sleep(0.001)


def post(port: int, sent: Any, stopping: EventType) -> None:
    """Repeat each request until its status is 200."""
    dice = random.Random(port)
    headers = {"Content-Type": "application/x-ndjson"}
    while not stopping.is_set():
        events = [{"message": message(sent.value + index, dice)} for index in range(AT_ONCE)]
        body = "".join(f"{json.dumps(event)}\n" for event in events).encode()
        while not _is_accepted(port, body, headers):
            time.sleep(RETRY)
        sent.value += AT_ONCE


def _is_accepted(port: int, body: bytes, headers: dict[str, str]) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200
    except OSError:
        return False
    finally:
        connection.close()
