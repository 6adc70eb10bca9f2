"""The whole way in one directory: a program that logs, the shipper, a broker and the sink, each a process."""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer
from confluent_kafka.cimpl import NewPartitions, TopicPartition

from demo.broker import Broker
from tests.e2e.chaos_truth import INODE, differences, in_table, landed_ends, on_disk, rows_of
from tests.e2e.running import Agent, await_true
from tests.e2e.sinking import PATIENCE, SinkProcess

TOPIC = "chaos"
PARTITIONS = 3
OPTIONS = f"columns: [{{name: {INODE}, path: log.file.inode}}]\n"
LOOK = 0.5


class Site:
    """`report` gets a line for each fault. A context manager: nothing is left running."""

    def __init__(self, directory: Path, report: Callable[[str], None]) -> None:
        self.report = report
        self.directory = directory
        self.broker = Broker(directory / "broker", heap="256m")
        self.agent = Agent(directory, self.broker.bootstrap, TOPIC)
        self.agent.configure([str(self.agent.logs / "*.log*")])
        self.sink = SinkProcess(directory, self.broker, TOPIC, OPTIONS)
        self.partitions = PARTITIONS
        self.broker_faults = 0  # how often it stopped or came back
        self.broker_away = False
        self.sink_may_end = False  # it was asked to
        self.batch_rows = 3000  # of a sink that is started from now on
        self._start = "earliest"
        self._excused = 0  # faults of the broker when the sink was started
        self._lives = 0

    def __enter__(self) -> "Site":
        try:
            self.broker.start(PATIENCE)
            self.broker.create_topic(TOPIC, self.partitions)
            self.start_sink()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.agent.end()
        self.sink.kill()
        self.broker.kill()

    def start_sink(self) -> None:
        """Start the sink, and keep the log of its last run."""
        if self.sink.log.exists():
            self.sink.log.rename(self.directory / f"sink-{self._lives}.log")
        self._lives += 1
        self.sink_may_end = False
        self._excused = self.broker_faults
        self.sink.start("-E", f"start={self._start}", "-E", f"max_offsets_per_trigger={self.batch_rows}")

    def lose_checkpoint(self) -> None:
        """Lose the checkpoint of a sink that is not running."""
        if self.sink.checkpoint.exists():
            self.sink.checkpoint.rename(self.directory / f"checkpoint-{self._lives}")
        self._start = "table"

    def grow(self) -> None:
        """Add a partition, so that keys go to other partitions from now on."""
        self.partitions += 1
        admin = self.broker.admin()  # a variable, or it is destroyed before it has asked
        admin.create_partitions([NewPartitions(TOPIC, self.partitions)])[TOPIC].result(PATIENCE)

    def watch(self) -> None:
        """Start the sink again where it ended because of the broker, as a service manager does.

        Raises AssertionError if a program ended for any other reason.
        """
        assert self.agent.process.poll() is None, f"the shipper ended by itself:\n{self.agent.log[-2000:]}"
        self._watch_sink()

    def verify_table(self) -> int:
        """Wait until all has landed, stop the shipper, and compare the table with the files; return how many lines.

        Raises AssertionError with what differs.
        """
        files = on_disk(self.agent.logs)
        count = sum(len(lines) for _, lines in files.values())
        self._await_lines(count)
        assert self.agent.stop() == 0, self.agent.log[-2000:]
        ends = self._ends()  # behind all that the shipper has sent twice
        await_true(lambda: self._is_landed(ends), f"the marks are {ends}", PATIENCE)
        problems = differences(files, in_table(self.sink.lines))
        if bad := rows_of(self.directory / "lines_dead_letter"):
            problems.append(f"{bad} lines are in the dead-letter table")
        assert not problems, "\n".join(["the table differs from the files:", *problems])
        return count

    def _await_lines(self, count: int) -> None:
        """Wait for so many lines, or until none has come for long: then the comparison shows what is missing."""
        landed, deadline = 0, time.monotonic() + PATIENCE
        while landed < count and time.monotonic() < deadline:
            self.watch()
            time.sleep(LOOK)
            before, landed = landed, len({(row.inode, row.offset) for row in in_table(self.sink.lines)})
            if landed > before:
                deadline = time.monotonic() + PATIENCE

    def _watch_sink(self) -> None:
        if (code := self.sink.code) is not None and not self.sink_may_end:
            last_line = self.sink.log_text().splitlines()[-1:]
            assert self.broker_faults > self._excused, f"the sink ended by itself, code {code}: {last_line}"
            self.report(f"the sink ended, code {code}, and is started again: {' '.join(last_line)[:300]}")
            self.start_sink()

    def _is_landed(self, ends: dict[int, int]) -> bool:
        self._watch_sink()
        return landed_ends(self.directory / "lines_marks") == ends

    def _ends(self) -> dict[int, int]:
        """Return the end offsets of the partitions that have any records."""
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "chaos"})
        try:
            parts = [TopicPartition(TOPIC, number) for number in range(self.partitions)]
            ends = {part.partition: consumer.get_watermark_offsets(part, PATIENCE)[1] for part in parts}
            return {partition: end for partition, end in ends.items() if end}
        finally:
            consumer.close()
