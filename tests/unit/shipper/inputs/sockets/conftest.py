"""An input that listens, driven by the test, with real sockets of this machine."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.clock import Clock, SystemClock
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.sockets.intake import OVERHEAD
from log_shipper.shipper.inputs.sockets.options import SocketConfig
from log_shipper.shipper.inputs.sockets.source import SocketSource
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import INPUT_KINDS
from tests.builders import AGENT, encoder, source_context

PATIENCE = 60.0  # seconds
LOOKS = 2000  # in vain, and no time: others may have the processors
LOOK_WITH_SUCCESS = 0.01  # of one in vain, as what comes piece by piece may take thousands
BUDGET = 128 * 1024


@dataclass(frozen=True, slots=True)
class Section:
    """A configuration with one input only."""

    inputs: tuple[SocketConfig, ...] = field(metadata={"read_as": INPUT_KINDS})


class Listening:
    """The source of one input. `options`: its YAML, in braces."""

    def __init__(self, directory: Path, options: str, *, once: bool = False, clock: Clock | None = None) -> None:
        file = directory / "shipper.yml"
        file.write_text(f"inputs: [{{id: in, {options}}}]\n")
        self.config = load(file, Section, (), {}).inputs[0]
        self.metrics = Metrics()
        self._woken = threading.Event()
        self._batches: list[Batch] = []
        self._came: list[dict[str, Any]] = []  # events that the test has not taken
        clock = clock or SystemClock()
        feed_input = FeedInput(self.config, AGENT, {}, self.config.message_max_bytes, clock, lambda state: None)
        registrar: Any = None  # nothing is noted of what cannot be read again
        context = source_context(registrar, clock, self.metrics, once=once)
        self.source = SocketSource(feed_input, context, self._woken.set)

    @property
    def port(self) -> int:
        return int(self.source.addresses[0].rpartition(":")[2])

    def connect(self, timeout: float = PATIENCE) -> socket.socket:
        place = self.source.addresses[0]
        if place.startswith("unix "):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(timeout)
            connection.connect(place.removeprefix("unix "))
            return connection
        return socket.create_connection(("localhost" if "[" not in place else "::1", self.port), timeout)

    def send(self, *datagrams: bytes, sender: socket.socket | None = None) -> None:
        made = sender or socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for datagram in datagrams:
            made.sendto(datagram, ("127.0.0.1", self.port))
        if sender is None:
            made.close()

    def send_all(self, *blocks: bytes) -> None:
        """Send these blocks over a connection, and close it."""
        with self.connect() as connection:
            for block in blocks:
                connection.sendall(block)

    def events(self, count: int) -> list[dict[str, Any]]:
        """Return the next events, once there are so many."""
        self._until(lambda: len(self._came) >= count)
        return self._taken()

    def _taken(self) -> list[dict[str, Any]]:
        events, self._came = self._came, []
        return events

    def texts(self, count: int) -> list[str]:
        return [event["message"] for event in self.events(count)]

    def await_count(self, counter: str, value: int) -> None:
        """Wait until a metric has this value."""
        self._until(lambda: getattr(self.metrics, counter) >= value)
        assert getattr(self.metrics, counter) == value

    def fill(self, datagram: bytes) -> int:
        """Send it until so much waits that nothing more is read. Return how often."""
        sent = 0
        while self.source.status().bytes_waiting < self.config.pending_bytes:
            self.send(datagram)
            sent += 1
            self._await_waiting(sent * len(datagram))
        return sent

    def await_received(self, *blocks: bytes) -> None:
        """Wait until these blocks of a closed connection wait, and its end."""
        self._await_waiting(len(b"".join(blocks)) + OVERHEAD * (1 + bool(blocks)))

    def await_full(self) -> None:
        """Wait until nothing is read any more."""
        self._await(lambda: self.source.receiver.is_waiting)

    def await_sockets(self, count: int) -> None:
        """Wait until so many are open, with the one that listens."""
        self._await(lambda: self.source.status().files_open == count)

    def rest(self) -> list[dict[str, Any]]:
        """Stop as the agent does. Return the events that were not taken before."""
        self._until(lambda: self.source.read_to_end(PATIENCE))
        self.source.stop()
        return self._taken()

    def end_by_reload(self) -> None:
        self._until(lambda: self.source.drain(PATIENCE))
        self.source.stop()

    def acknowledge(self) -> None:
        for batch in self._batches:
            batch.resolve()

    def _until(self, done: Callable[[], bool]) -> None:
        left = float(LOOKS)
        while left > 0:
            if done():
                return
            self._woken.clear()
            self.source.step()
            for batch in self.source.read(BUDGET):
                self._batches.append(batch)
                self._came += map(json.loads, encoder().encode(batch))
            waits = not done() and self.source.next_wake(reading=True) > 0
            left -= LOOK_WITH_SUCCESS if not waits or self._woken.wait(0.02) else 1
        raise AssertionError(f"only {len(self._came)} events came")

    def _await_waiting(self, size: int) -> None:
        self._await(lambda: self.source.status().bytes_waiting >= size)

    def _await(self, done: Callable[[], bool]) -> None:
        for _ in range(LOOKS):
            self._woken.clear()  # or the looks would follow each other at once
            if done():
                return
            self._woken.wait(0.005)
        raise AssertionError("nothing has changed")


class Listen(Protocol):
    def __call__(self, options: str, clock: Clock | None = None) -> Listening: ...


@pytest.fixture
def listen(tmp_path: Path) -> Iterator[Listen]:
    """Make an input listen by its options; it is stopped at the end."""
    made: list[Listening] = []

    def make(options: str, clock: Clock | None = None) -> Listening:
        made.append(Listening(tmp_path, options, clock=clock))
        return made[-1]

    yield make
    for listening in made:
        listening.source.stop()
