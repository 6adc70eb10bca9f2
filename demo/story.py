"""The demo from start to end; begin reading at `Story.run`."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from demo.ask import show
from demo.broker import Broker
from demo.checkpoint import committed_offsets
from demo.compare import Compared, lines_arrived, lines_on_disk
from demo.files import Key, LogFiles
from demo.keep import how_to_look, write_scripts
from demo.programs import DemoFailed, Programs
from demo.provoke import provocations, send
from demo.screen import Screen
from demo.site import PARTITIONS, TOPIC, Site
from demo.table import TableReader
from demo.topic import TopicReader
from log_shipper.registry.load import read as read_registry

LIVE = 20.0  # seconds of writing
RATE = 5_000.0  # lines per second
ROTATE_EVERY = 6.0
TIMEOUT = 90.0  # seconds
TICK = 0.2


@dataclass(slots=True)
class Times:
    """Times of the monotonic clock."""

    started: float = 0.0
    stopped: float = 0.0
    acknowledged: float = 0.0
    landed: float = 0.0


class Story:
    """One run. `stop` ends all processes, at any time, and may be called twice."""

    def __init__(self, site: Site, screen: Screen, keep: bool) -> None:
        self._site = site
        self._screen = screen
        self._keep = keep
        self._broker = Broker(site.kafka, heap="384m", outlives=keep)
        self._programs = Programs(site, outlive=keep)
        self._files = LogFiles(site.logs)
        self._times = Times()
        self._open = ExitStack()
        self._provocations = provocations()
        self._provoked = 0.0

    def run(self) -> bool:
        """Return True if disk, topic and table agree. Raises DemoFailed, BrokerFailed, KafkaException."""
        self._start()
        self._live()
        sizes = self._stop_writers()
        self._wait_until(lambda: self._acknowledged(sizes), "not all lines are acknowledged")
        self._times.acknowledged = time.monotonic()
        self._end_unless_kept("shipper")
        ends = self._topic.read_to_end()
        self._wait_until(lambda: self._landed(ends), "not all lines have landed")
        self._times.landed = time.monotonic()
        self._end_unless_kept("sink")
        equal = self._compare(sizes, ends)
        if self._keep:
            self._keep_running()
        else:
            self._screen.write("\nTo inspect everything, and to search the lines on a page: script/demo --keep")
        return equal

    def stop(self) -> None:
        self._open.close()
        self._programs.end_all()
        self._broker.stop()
        self._files.close()

    def _start(self) -> None:
        self._screen.write(f"Starting Apache Kafka (one node, KRaft) in {self._site.folder}")
        self._broker.start()
        self._broker.create_topic(TOPIC, PARTITIONS)
        self._site.make(self._broker.bootstrap)
        self._topic = TopicReader(self._broker.bootstrap, TOPIC, PARTITIONS)
        self._open.callback(self._topic.close)
        self._screen.write(f"Kafka listens at {self._broker.bootstrap}; starting sink, shipper and log writers")
        self._programs.start("sink", self._site.sink_command())
        self._programs.start("shipper", self._site.shipper_command())
        self._programs.start("writer", self._site.writer_command(RATE, 2, ROTATE_EVERY))
        self._programs.start("shop", self._site.shop_command())
        self._times.started = time.monotonic()

    def _live(self) -> None:
        while time.monotonic() - self._times.started < LIVE:
            self._provoke()
            self._step()

    def _step(self) -> None:
        self._programs.check()
        self._files.scan()
        self._topic.read(TICK)
        counts = self._files.counts(read_registry(self._site.registry))
        landed_lines = self._topic.lines(committed_offsets(self._site.checkpoint, TOPIC))
        elapsed = time.monotonic() - self._times.started
        landed = (
            f"landed {landed_lines:,}  lag {counts.written - landed_lines:,}" if landed_lines else "Spark is starting"
        )
        self._screen.progress(
            f"{elapsed:4.0f} s   lines written {counts.written:,}  read {counts.read:,}  "
            f"acknowledged {counts.acknowledged:,}  {landed}"
        )

    def _provoke(self) -> None:
        """Send a malformed request every second, so that the broker logs stack traces."""
        if time.monotonic() - self._provoked >= 1:
            self._provoked = time.monotonic()
            with suppress(TimeoutError):
                send(self._broker.bootstrap, next(self._provocations))

    def _stop_writers(self) -> dict[Key, int]:
        """Stop the writers, and return the file sizes to compare: the broker keeps logging."""
        self._programs.end("writer")
        self._programs.end("shop")
        self._times.stopped = time.monotonic()
        self._files.scan()
        return {key: file.whole_lines() for key, file in self._files.by_key.items()}

    def _wait_until(self, reached: Callable[[], bool], problem: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not reached():
            if time.monotonic() > deadline:
                raise DemoFailed(f"{problem} after {TIMEOUT:.0f} s")
            self._step()

    def _acknowledged(self, sizes: dict[Key, int]) -> bool:
        states = read_registry(self._site.registry).values()
        positions = {(state.device, state.inode): state.position for state in states}
        return all(positions.get(key, 0) >= size for key, size in sizes.items())

    def _landed(self, ends: dict[int, int]) -> bool:
        done = committed_offsets(self._site.checkpoint, TOPIC)
        return all(done.get(number, 0) >= end for number, end in ends.items())

    def _end_unless_kept(self, name: str) -> None:
        if not self._keep:
            self._programs.end(name)

    def _compare(self, sizes: dict[Key, int], ends: dict[int, int]) -> bool:
        self._screen.write(
            "Everything has landed; comparing the lines of each file, and querying the table with DuckDB"
        )
        table = TableReader(self._site)
        in_kafka = lines_arrived(self._topic.messages(ends), sizes)
        in_delta = lines_arrived(table.messages(ends), sizes)
        files = sorted(self._files.by_key.items(), key=lambda item: str(item[1].path))
        compared = [
            Compared(file.path.name, lines_on_disk(file.head(sizes[key])), in_kafka[key], in_delta[key])
            for key, file in files
        ]
        self._show(compared)
        show(table, self._screen, ())
        self._rates(sum(file.on_disk.total() for file in compared), sum(ends.values()))
        return all(file.equal for file in compared)

    def _show(self, compared: list[Compared]) -> None:
        rows = [
            (
                file.name,
                file.on_disk.total(),
                file.in_kafka.total(),
                file.in_delta.total(),
                "equal" if file.equal else "DIFFERS",
            )
            for file in compared
        ]
        self._screen.write()
        self._screen.table(("file", "lines on disk", "in Kafka", "in Delta", "content"), rows)
        for file in compared:
            for difference in file.differences():
                self._screen.write(difference)

    def _rates(self, lines: int, messages: int) -> None:
        times = self._times
        wrote = times.stopped - times.started
        self._screen.write()
        self._screen.write(
            f"{lines:,} lines in {messages:,} messages; {lines / wrote:,.0f} lines/s for {wrote:.0f} s; "
            f"{times.acknowledged - times.stopped:.1f} s from the last line to the last acknowledgement, "
            f"{times.landed - times.stopped:.1f} s until all lines have landed."
        )

    def _keep_running(self) -> None:
        """Start a slow writer and the search page, and write the scripts to query and to stop."""
        self._programs.start("writer", self._site.writer_command(20.0, 0, 0.0, "--flush"))
        self._programs.start("search", self._site.search_command())
        announced = self._site.log_of("search")
        self._wait_until(lambda: b"http://" in announced.read_bytes(), "the search page is not served")
        broker = [self._broker.pid] if self._broker.pid is not None else []
        write_scripts(self._site.folder, [*reversed(self._programs.pids), *broker])
        self._programs.leave_running()
        self._broker.leave_running()
        self._screen.write()
        self._screen.write(how_to_look(self._site, self._broker.bootstrap))
