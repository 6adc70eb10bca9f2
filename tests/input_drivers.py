"""A driver for each type of input: how a test gives it something to read. `InputLab` does what the loop does."""

import http.client
import os
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from demo.ports import free_ports
from log_shipper.config.yaml.load import load
from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.event import Batch, InputCounts, Rejection
from log_shipper.shipper.inputs.base import BatchSource, ReadsToEnd, SourceContext
from log_shipper.shipper.inputs.factory import FeedEntries, make
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.files.crawler import Crawler
from log_shipper.shipper.inputs.files.discovery.watch import Inotify, Watcher
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.kafka.feed import KafkaFeed
from log_shipper.shipper.inputs.stdin import StdinSource, StreamWatcher, harvester_of
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.feeds import AnyInput, FeedConfig
from log_shipper.shipper.options.model import INPUT_KINDS
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile
from log_shipper.shipper.wake import Wake
from tests.builders import AGENT, Surroundings, batch, source_context
from tests.fake_journalctl import Journal, installed
from tests.member_lab import PLACE
from tests.memory_registry import MemoryFiles, memory_store
from tests.memory_topics import MemoryTopics

PATIENCE = 60.0  # seconds; what takes so long has failed
LOOKS = 3000  # in vain
BUDGET = 128 * 1024


@dataclass(frozen=True, slots=True)
class Section:
    """A configuration with one input only."""

    inputs: tuple[AnyInput, ...] = field(metadata={"read_as": INPUT_KINDS})


@dataclass(frozen=True, slots=True)
class Parts:
    """What a driver makes a source of."""

    config: AnyInput
    context: SourceContext
    registrar: Registrar
    wake: Wake
    counts: InputCounts

    def feed_input(self) -> FeedInput:
        note = self.registrar.note
        limit = self.config.message_max_bytes
        return FeedInput(self.config, AGENT, {}, limit, SystemClock(), note, counts=self.counts)  # type: ignore[arg-type]  # a driver of a feed asks

    def files_input(self) -> Input:
        note = self.registrar.note
        return Input(self.config, AGENT, {}, 10**6, SystemClock(), note, counts=self.counts)  # type: ignore[arg-type]  # a driver of files asks


class Driver(Protocol):
    """`is_repeatable`: what was not acknowledged is read again by the next start. `waits`: it gives no more before what
    it gave is settled. `options`: the input's YAML, in braces."""

    is_repeatable: bool
    waits: bool
    options: str

    def make(self, parts: Parts) -> BatchSource:
        """Return the source, once that before has let go of what both need."""

    def write(self, *texts: str) -> None:
        """Give it events to read, in one piece. The source is there. Raises OSError where it takes no more now."""

    def close(self) -> None: ...


class OfFiles:
    is_repeatable, waits = True, False

    def __init__(self, directory: Path) -> None:
        self.options = f'type: filestream, paths: ["{directory}/*.log"], prospector.scanner.check_interval: 1s'
        self._path = directory / "app.log"
        self._watcher: Watcher | None = None

    def make(self, parts: Parts) -> BatchSource:
        self.close()
        self._watcher = Watcher(parts.wake, Inotify)
        return Crawler([parts.files_input()], self._watcher, parts.context)

    def write(self, *texts: str) -> None:
        with self._path.open("a") as file:
            file.write("".join(f"{text}\n" for text in texts))

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None


class OfStdin:
    """The pipe is the test's, and each start reads on in it."""

    is_repeatable, waits = False, False
    options = "type: stdin"

    def __init__(self, directory: Path) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def make(self, parts: Parts) -> BatchSource:
        watcher = StreamWatcher(parts.wake.watch, parts.wake.unwatch)
        return StdinSource(harvester_of(os.dup(self._reader), parts.files_input()), watcher, parts.context)

    def write(self, *texts: str) -> None:
        os.write(self._writer, "".join(f"{text}\n" for text in texts).encode())

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


class OfFeed:
    """What the drivers of feeds have in common."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def make(self, parts: Parts) -> BatchSource:
        entries = FeedEntries(parts.registrar)
        self.source: Any = make(parts.feed_input(), parts.context, entries.entries_of("in"), parts.wake)
        return self.source

    def close(self) -> None: ...


class OfTcp(OfFeed):
    is_repeatable, waits = False, False
    options = 'type: tcp, host: "127.0.0.1:0", pending_bytes: 64KiB'
    _connection: socket.socket | None = None

    def write(self, *texts: str) -> None:
        """Wait for the peer to take it for as long as one waits that is busy."""
        if self._connection is None:
            port = int(self.source.addresses[0].rpartition(":")[2])
            self._connection = socket.create_connection(("127.0.0.1", port))
            self._connection.settimeout(1.0)
        self._connection.sendall("".join(f"{text}\n" for text in texts).encode())

    def make(self, parts: Parts) -> BatchSource:
        self.close()
        return super().make(parts)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class OfHttp(OfFeed):
    is_repeatable, waits = False, False

    def __init__(self, directory: Path) -> None:
        (self._port,) = free_ports(1)
        self.options = (
            f"type: http, listen_address: 127.0.0.1, listen_port: {self._port}, url: /, prefix: '.', "
            "max_body_bytes: 64KiB, max_in_flight_bytes: 2MiB"
        )
        self._clients: list[http.client.HTTPConnection] = []

    def write(self, *texts: str) -> None:
        """Send a request without waiting for its answer, which comes when the events are resolved."""
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        self._clients.append(client)
        body = "".join(f'{{"message": "{text}"}}\n' for text in texts)
        client.request("POST", "/", body, {"Content-Type": "application/x-ndjson"})

    def close(self) -> None:
        for client in self._clients:
            client.close()


class OfJournal(OfFeed):
    is_repeatable, waits = True, False

    def __init__(self, directory: Path) -> None:
        self._journal = Journal(directory / "journal")
        program = installed(directory)
        self.options = f'type: journald, paths: ["{self._journal.directory}"], journalctl_path: {program}'

    def write(self, *texts: str) -> None:
        self._journal.log(*texts)


class OfKafka:
    is_repeatable, waits = True, False
    source: KafkaFeed | None = None
    options = "type: kafka, hosts: ['a:9092'], topics: [logs], group_id: g, initial_offset: oldest, wait_close: 10ms"

    def __init__(self, directory: Path) -> None:
        self._topics = MemoryTopics()
        self._topics.write(PLACE)

    def make(self, parts: Parts) -> BatchSource:
        if self.source is not None:
            _await(lambda: self.source is None or self.source.finished, parts.wake)
        number = len(self._topics.consumers)
        self.source = KafkaFeed(parts.feed_input(), parts.context, parts.wake.set_if_open, self._topics.clients)
        _await(lambda: len(self._topics.consumers) > number, parts.wake)
        self._topics.consumers[-1].plan_assignment(PLACE)
        return self.source

    def write(self, *texts: str) -> None:
        self._topics.write(PLACE, *(text.encode() for text in texts))

    def close(self) -> None: ...


class OfLetters(OfFeed):
    """It looks for letters once a second. A process that ends lets go of the file with its notes."""

    source: Any = None

    is_repeatable, waits = True, True

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.options = f"type: dead_letter, path: {directory}, interval: 1s"

    def make(self, parts: Parts) -> BatchSource:
        if self.source is not None and self.source._resending is not None:
            self.source._resending.close()
        return super().make(parts)

    def write(self, *texts: str) -> None:
        dice = random.Random(texts[0])  # each letter has a place of its own
        letters = batch(texts, start=dice.randrange(10**12))
        rejected = [Rejection(index, "refused", "logs") for index in range(len(texts))]
        DeadLetterFile(self.directory / FILE, SystemClock()).write(letters, rejected)


def _await(done: Callable[[], bool], wake: Wake) -> None:
    for _ in range(LOOKS):
        if done():
            return
        wake.wait(0.01)
    raise AssertionError("nothing has changed")


DRIVERS: dict[str, Callable[[Path], Driver]] = {
    "files": OfFiles,
    "stdin": OfStdin,
    "tcp": OfTcp,
    "http": OfHttp,
    "journald": OfJournal,
    "kafka": OfKafka,
    "dead_letter": OfLetters,
}


class InputLab:
    """`given` are the batches of the source that reads now; while not `takes_more`, the pipeline takes nothing."""

    def __init__(self, driver: Driver, directory: Path) -> None:
        self.driver = driver
        self.wake = Wake()
        self.counts = InputCounts()
        self.metrics = Metrics()
        self.takes_more = True
        self._around = Surroundings()
        self._around.takes_more = lambda source: self.takes_more  # type: ignore[method-assign]
        self._files = MemoryFiles()
        file = directory / "inputs.yml"
        file.write_text(f"inputs: [{{id: in, {driver.options}}}]\n")
        (self._config,) = load(file, Section, (), {}).inputs
        self.start()

    def start(self) -> None:
        """Begin with what the registry has, as another process does."""
        self.registrar = Registrar(memory_store(files=self._files))
        context = source_context(self.registrar, SystemClock(), self.metrics, around=self._around)
        self.given: list[Batch] = []
        self.source = self.driver.make(Parts(self._config, context, self.registrar, self.wake, self.counts))

    @property
    def is_feed(self) -> bool:
        """True for an input that reads no files."""
        return isinstance(self._config, FeedConfig)

    def write(self, *texts: str) -> None:
        """Give it something to read."""
        self.driver.write(*texts)

    def step(self) -> None:
        self.wake.clear()
        self.source.step()
        if self.takes_more:
            self.given += self.source.read(BUDGET)
        else:
            assert list(self.source.read(BUDGET)) == []
        self.registrar.step()

    def wait_until(self, done: Callable[[], bool]) -> None:
        for _ in range(LOOKS):
            self.step()
            if done():
                return
            if self.source.next_wake(reading=True) > 0:
                self.wake.wait(0.02)
        raise AssertionError(f"read only {self.texts[:20]}; {self.source.status()}")

    def read(self, *texts: str) -> list[Batch]:
        """Read until these are given; return their batches."""
        before = len(self.given)
        self.wait_until(lambda: sum(batch.events for batch in self.given[before:]) >= len(texts))
        assert sorted(self.texts_of(self.given[before:])) == sorted(texts)
        return self.given[before:]

    def write_and_read(self, *parts: list[str]) -> list[Batch]:
        """Give it these in turn, and read each before the next one is written, unless it waits for what it gave."""
        together = [[text for part in parts for text in part]] if self.driver.waits else list(parts)
        batches = []
        for part in together:
            self.write(*part)
            batches += self.read(*part)
        return batches

    @staticmethod
    def texts_of(batches: list[Batch]) -> list[str]:
        return [text for batch in batches for text in batch.messages.texts]

    @property
    def texts(self) -> list[str]:
        return self.texts_of(self.given)

    def stop(self) -> float:
        """Stop as the agent does; return the seconds that it took."""
        began = time.monotonic()
        if isinstance(self.source, ReadsToEnd):
            while not self.source.read_to_end(began + 1.0 - time.monotonic()):
                self.step()
        self.source.stop()
        self.registrar.close(PATIENCE)
        return time.monotonic() - began

    def resolve_all(self) -> None:
        """Acknowledge all batches, and read until the input is not behind."""
        for one in self.given:
            one.resolve()
        self.wait_until(lambda: self.source.status().bytes_behind == 0)

    def close(self) -> None:
        self.source.stop()
        for one in self.given:
            one.resolve()
        if self.is_feed:
            self.wait_until(lambda: self.source.finished)
        self.driver.close()
        self.wake.close()
