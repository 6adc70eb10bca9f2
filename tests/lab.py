"""The Lab: the real parts of the agent, as the composition root connects them, driven step by step by a test.

Files and registry are real, time and destination are the test's. What arrived is kept over restarts, as in a topic.
"""

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from log_shipper.shipper.agent.app import App, build
from log_shipper.shipper.agent.environment import Environment, Threads
from log_shipper.shipper.inputs.files.crawler import Crawler
from log_shipper.shipper.options.model import (
    CloseConfig,
    InputConfig,
    MemQueue,
    OutputConfig,
    ProspectorConfig,
    QueueConfig,
    RegistryConfig,
    ScannerConfig,
    ShipperConfig,
    StateChangeConfig,
)
from log_shipper.shipper.options.queues import DiskQueueConfig, WatermarkConfig
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.outputs.base import OutputContext
from log_shipper.shipper.outputs.console import ConsoleOutputConfig
from log_shipper.shipper.reader.base import ParserConfig
from log_shipper.shipper.wake import Wake
from tests.arrivals import Arrived, Destination
from tests.awaited_registrar import AwaitedRegistrar
from tests.descriptors import open_files
from tests.fakes import ManualClock
from tests.killed import copy_at_an_instant

CHECK_INTERVAL = 10.0
CLOSE_INACTIVE = 60.0
READ_INTERVAL = 0.025
SHUTDOWN_TIMEOUT = 30.0
LATE = 1.0  # real seconds that threads may take on a loaded machine,
LOOKS = 200  # and no fewer steps: the machine may have stood still meanwhile
LONG = 60.0  # real seconds; what has not happened by then never will


def _on_any_disk(queue: DiskQueueConfig | None) -> DiskQueueConfig | None:
    """Return the queue without its usual marks, which the disk below the tests may have passed: then it would not grow,
    and the clock of a Lab does not wait for room."""
    if queue is None or queue.watermark != WatermarkConfig():
        return queue
    return replace(queue, watermark=WatermarkConfig(low=1.0, high=1.0, flood=1.0))


class Lab:
    """`scanner` and `input` are options of the input beyond the Lab's own; `flush` is the registry's, in seconds;
    `queue_events` is the queue's room, 0 for the default; `disk_queue` its section of that name.

    `bytes_lost` and `files_missed` are what the agents that have ended counted, all of them together.
    """

    def __init__(self, directory: Path) -> None:
        self.logs = directory / "logs"
        self.logs.mkdir()
        self.clock = ManualClock()
        self.parsers: tuple[ParserConfig, ...] = ()
        self.paths: tuple[str, ...] = (f"{self.logs}/*.log*",)
        self.scanner: dict[str, Any] = {}
        self.input: dict[str, Any] = {}
        self.flush = 1.0
        self.read_interval = READ_INTERVAL
        self.queue_events = 0
        self.disk_queue: DiskQueueConfig | None = None
        self.bytes_lost = 0
        self.files_missed = 0
        self.records: list[str] = []
        self.refuse: str | None = None  # a message that the destination will never take
        self.data = directory / "data-0"
        self.app: App | None = None
        self.threads = Threads(AwaitedRegistrar)
        self.output: Destination | None = None
        self._lives = 0
        self._stack = ExitStack()
        self._kept_open: dict[int, int] = {}

    def append(self, name: str, content: str | bytes) -> None:
        with (self.logs / name).open("ab") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        self.keep(self.logs / name)

    def keep(self, path: Path) -> int:
        """Keep a file open: an inode that is never free is never used again, so it is the name of one file forever."""
        inode = path.stat().st_ino
        if inode not in self._kept_open:
            self._kept_open[inode] = os.open(path, os.O_RDONLY)
        return inode

    def release(self, path: Path) -> None:
        """Its inode may be used again as soon as no one else has the file open."""
        fd = self._kept_open.pop(path.stat().st_ino, None)
        if fd is not None:
            os.close(fd)

    def opened_by_agent(self) -> set[int]:
        """Return the inodes of the files that the agent has open, according to the system."""
        logs = self.logs.stat().st_dev
        return {inode for device, inode in open_files(leave_out=set(self._kept_open.values())) if device == logs}

    def rotate(self, name: str, to: str) -> None:
        (self.logs / name).rename(self.logs / to)

    def truncate(self, name: str, size: int = 0) -> None:
        os.truncate(self.logs / name, size)

    def copy(self, name: str, to: str) -> None:
        shutil.copy(self.logs / name, self.logs / to)

    def copytruncate(self, name: str, to: str) -> None:
        self.copy(name, to)
        self.truncate(name)

    def remove(self, name: str) -> None:
        (self.logs / name).unlink()

    def inode(self, name: str) -> int:
        return (self.logs / name).stat().st_ino

    def content(self, inode: int) -> bytes:
        """Return the whole content of a file, under whatever name it is now."""
        fd = self._kept_open[inode]
        return os.pread(fd, os.fstat(fd).st_size, 0)

    @property
    def inodes(self) -> list[int]:
        return list(self._kept_open)

    def start(self, *, once: bool = False) -> None:
        wake = Wake()
        self._stack.callback(wake.close)
        environment = Environment(self.data, wake, self.clock, once=once, connect=self._connect, threads=self.threads)
        self.app = build(self._config(), environment, self._stack)

    def _config(self) -> ShipperConfig:
        return ShipperConfig(
            inputs=(
                InputConfig(
                    id="app",
                    paths=self.paths,
                    prospector=ProspectorConfig(scanner=ScannerConfig(check_interval=CHECK_INTERVAL, **self.scanner)),
                    close=CloseConfig(on_state_change=StateChangeConfig(inactive=CLOSE_INACTIVE)),
                    **{"parsers": self.parsers, **self.input},
                ),
            ),
            output=OutputConfig(console=ConsoleOutputConfig()),
            registry=RegistryConfig(flush=self.flush),
            read_interval=self.read_interval,
            queue=QueueConfig(
                mem=MemQueue(events=self.queue_events) if self.queue_events else MemQueue(),
                disk=_on_any_disk(self.disk_queue),
            ),
            name="lab",
        )

    def _connect(self, config: ShipperConfig, context: OutputContext) -> Destination:
        self.output = Destination(Encoder(2**31), context.deliveries)
        self.output.records = self.records
        self.output.refuse = lambda text: "refused permanently" if text == self.refuse else None
        return self.output

    @property
    def running(self) -> App:
        assert self.app is not None, "not started"
        return self.app

    @property
    def destination(self) -> Destination:
        assert self.output is not None, "not started"
        return self.output

    @property
    def crawler(self) -> Crawler:
        crawler = self.running.sources.files
        assert isinstance(crawler, Crawler), "the Lab reads files"
        return crawler

    def step(self, seconds: float = 0.005, wait: float = 0.0) -> None:
        """`seconds` pass for the agent; it really waits for other threads for at most `wait`. With a `wait`, what it
        saves at once is on disk afterwards, however slow the disk is: else much of its time could pass meanwhile."""
        self.clock.advance(seconds)
        self.running.loop.step(wait=wait)
        if wait and isinstance(registrar := self.running.registrar, AwaitedRegistrar):
            registrar.await_saves(LONG)

    def take_steps(self, count: int = 10) -> None:
        """Hardly any time passes: no scan is due."""
        for _ in range(count):
            self.step(wait=0.002)

    def scan(self, times: int = 20) -> None:
        """So much time passes that the agent scans so often. Then wait for threads that a loaded machine delays."""
        for _ in range(times):
            self.step(seconds=CHECK_INTERVAL, wait=0.002)
        deadline, looks = time.monotonic() + LATE, 0
        while not self.destination.holding and self._has_work() and (looks < LOOKS or time.monotonic() < deadline):
            self.step(wait=0.002)
            looks += 1

    def wait_until(self, happened: Callable[[], object], seconds: float = 0.005) -> None:
        deadline = time.monotonic() + LONG
        while not happened():
            assert time.monotonic() < deadline, "does not happen"
            self.step(seconds, wait=0.002)

    def ship(self, name: str, *lines: str) -> None:
        """Write the lines, start the agent, and wait until they have arrived."""
        self.append(name, "".join(f"{line}\n" for line in lines))
        self.start()
        self.expect_lines(name, *lines)

    def start_with_an_unproven(self, name: str, added: str) -> None:
        """Start the agent with a known file to which this was added, and which a full queue keeps from being proven."""
        self.queue_events = 10
        older = self.logs / "older.log"  # is read first, and fills the queue
        self.append(older.name, "zero\n")
        os.utime(older, (1, 1))
        self.ship(name, "one", "two")
        self.scan()
        self.stop()
        self.append(name, added)
        self.append(older.name, "x\n" * 20)
        os.utime(older, (1, 1))
        self.start()
        self.destination.holding = True
        self.wait_until(lambda: not self.running.pipeline.has_room)

    def kill(self) -> None:
        """As SIGKILL: the next run resumes with the registry as it is on disk at this instant."""
        left_behind = self.leave_behind()
        self._end()
        self.data = left_behind

    def leave_behind(self) -> Path:
        """Return a copy of the data directory, as a kill at this instant would leave it."""
        self._lives += 1
        return copy_at_an_instant(self.data, self.data.parent / f"data-{self._lives}")

    def stop(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """As SIGTERM: stop reading, wait for what is in flight, save. `meanwhile` is called after each step while files
        are read to their end."""
        self.read_to_end(meanwhile)
        deadline = time.monotonic() + LONG
        while not self.running.pipeline.drained:
            self.running.loop.step(reading=False, wait=0.001)
            assert time.monotonic() < deadline, "does not drain"
        self._end()

    def read_to_end(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Read what `read_until_eof` asks for."""
        give_up = self.clock.monotonic() + SHUTDOWN_TIMEOUT
        while not self.running.sources.read_to_end(give_up - self.clock.monotonic()):
            self.step(seconds=0.05, wait=0.001)
            meanwhile()

    def _end(self) -> None:
        app, self.app = self.running, None
        if app.pipeline.disk is not None:
            app.pipeline.disk.close(LONG)
        if self.output is not None:
            self.output.close()
        app.sources.stop()
        assert app.registrar.close(LONG)
        self._stack.close()
        self.bytes_lost += app.metrics.bytes_lost
        self.files_missed += app.metrics.files_missed

    def close(self) -> None:
        if self.app is not None:
            self._end()
        self._stack.close()  # what a start that failed left open
        for fd in self._kept_open.values():
            os.close(fd)

    @property
    def arrived(self) -> list[Arrived]:
        events = []
        for record in map(json.loads, self.records):
            log = record["log"]
            place = (log["file"]["id"], int(log["file"]["inode"]), log["offset"], log["length"])
            events.append(Arrived(*place, record["message"]))
        return events

    @property
    def messages(self) -> list[str]:
        return [event.message for event in self.arrived]

    @property
    def file_ids(self) -> set[str]:
        return {event.file_id for event in self.arrived}

    def lines(self, inode: int) -> list[str]:
        """Return the messages of a file that have arrived, in order, without repeats."""
        events = dict.fromkeys(
            (event.file_id, event.offset, event.message) for event in self.arrived if event.inode == inode
        )
        return [message for _, _, message in events]

    def expect_lines(self, name: str, *lines: str) -> None:
        """Let the agent work until these and no other lines of the file have arrived."""
        inode = self.inode(name)
        deadline = time.monotonic() + LONG
        while self.lines(inode) != list(lines) and time.monotonic() < deadline:
            self.step(seconds=1, wait=0.002)
        assert self.lines(inode) == list(lines)

    def calm_down(self) -> None:
        """Let the agent work until it has nothing left to do and all is acknowledged."""
        quiet = 0
        deadline = time.monotonic() + LONG
        while quiet < 3:
            before = replace(self.running.metrics)
            self.step(seconds=CHECK_INTERVAL, wait=0.002)
            app = self.running
            calm = before == app.metrics and not self._has_work()
            quiet = quiet + 1 if calm else 0
            assert time.monotonic() < deadline, "does not become idle"

    def _has_work(self) -> bool:
        running = self.crawler.running.values()
        return not self.running.pipeline.drained or any(
            os.fstat(harvester.fd).st_size != harvester.read_to + harvester.padding or not harvester.settled
            for harvester in running
        )

    def run_once(self) -> dict[str, str]:
        """As `shipper run --once`; return what keeps it from ending with 0, by path."""
        self.start(once=True)
        deadline = time.monotonic() + LONG
        while not self.running.loop.finished:
            self.step(wait=0.002)
            assert time.monotonic() < deadline, "does not finish"
        problems = self.crawler.problems.now
        self._end()
        return problems
