"""An outage of the broker with every input at full speed, `script/bench --outage`: memory must stay constant, and all
accepted events must be delivered afterwards.

A file, a journal and the topic of another broker are filled before; messages over TCP, UDP and HTTP arrive as fast as
they are accepted. The queue on disk is small, so that it fills early.
"""

import json
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.measure import cpu_seconds, resident_mb
from bench.outage_senders import Sender, message, post, send_datagrams, send_lines
from bench.runs import broker, report
from bench.table import show
from demo.ports import free_ports
from demo.process import SHIPPER_PROGRAM
from tests.real_journald import RealJournal

TOPIC = "out"
PARTITIONS = 4
EVERY = 1.0  # seconds between samples
DRAINED = 10.0  # seconds without a new record that end the run
STARTING = 60.0
COUNTS = {"file": 1_000_000, "kafka": 1_000_000, "journald": 100_000}
CONFIG = """\
shipper.inputs:
  - {{type: filestream, id: file, paths: ["{directory}/big.log"]}}
  - {{type: tcp, id: tcp, host: "127.0.0.1:{ports[0]}"}}
  - {{type: udp, id: udp, host: "127.0.0.1:{ports[1]}", read_buffer: 4MiB}}
  - {{type: http, id: http, listen_address: 127.0.0.1, listen_port: {ports[2]}, url: /, prefix: "."}}
  - {{type: journald, id: journald, paths: ["{journal}"], seek: head}}
  - {{type: kafka, id: kafka, hosts: ["{source}"], topics: [in], group_id: bench, initial_offset: oldest}}
output.kafka: {{hosts: ["{bootstrap}"], topic: {topic}}}
queue.disk: {{max_size: 128MiB}}
http: {{enabled: true, port: {ports[3]}}}
path.data: {directory}/data
"""


@dataclass(slots=True)
class OutageSample:
    """`moment`: seconds since the start; MB of memory and of the queue on disk; CPU seconds so far."""

    moment: float
    memory_mb: float
    disk_mb: float
    cpu: float


@dataclass(slots=True)
class Delivered:
    """The records of one input in the topic: numbers of its messages, and the count of repeats."""

    numbers: set[int] = field(default_factory=set)
    repeated: int = 0


class Outage:
    """The agent, its sources, and the broker, which is down at first."""

    def __init__(self, directory: Path, seconds: float) -> None:
        self._directory = directory
        self._seconds = seconds
        self._ports = free_ports(4)
        self._stack = ExitStack()
        self._source = self._stack.enter_context(broker(directory / "source"))
        self._target = broker(directory / "target")
        self._journal = RealJournal()
        self._stack.callback(self._journal.close)
        self.samples: list[OutageSample] = []

    def run(self) -> tuple[dict[str, int], dict[str, Delivered], float]:
        """Return by input the accepted messages and the delivered ones, and the datagrams that the kernel dropped
        according to the agent."""
        with self._stack:
            self._fill()
            senders = dict(zip(("tcp", "udp", "http"), (send_lines, send_datagrams, post), strict=True))
            made = {name: Sender(send, self._ports[index]) for index, (name, send) in enumerate(senders.items())}
            with self._agent() as process:
                report(f"sending for {self._seconds:.0f} s without a broker")
                for sender in made.values():
                    sender.start()
                self._watch(process.pid)
                for sender in made.values():
                    sender.stopping.set()
                report("starting the broker")
                self._target.start()
                self._stack.callback(self._target.stop)
                self._target.create_topic(TOPIC, PARTITIONS)
                taken = {name: sender.join() for name, sender in made.items()}
                self._await_drained()
                dropped = self._metric('shipper_socket_problems_total{kind="datagrams_dropped"}')
            return taken | COUNTS, self._delivered(), dropped

    def _fill(self) -> None:
        report("filling a file, a topic and a journal")
        dice = Random(1)
        with (self._directory / "big.log").open("w") as file:
            file.writelines(f"{message(number, dice)}\n" for number in range(COUNTS["file"]))
        self._source.create_topic("in", PARTITIONS)
        producer = Producer({"bootstrap.servers": self._source.bootstrap, "linger.ms": 50})
        for number in range(COUNTS["kafka"]):
            producer.produce("in", message(number, dice).encode())
            if number % 10_000 == 0:
                producer.flush()
        producer.flush()
        self._journal.log(*(message(number, dice) for number in range(COUNTS["journald"])), PRIORITY=6)

    @contextmanager
    def _agent(self) -> Iterator["subprocess.Popen[bytes]"]:
        config = self._directory / "shipper.yml"
        config.write_text(
            CONFIG.format(
                directory=self._directory,
                ports=self._ports,
                journal=self._journal.directory,
                source=self._source.bootstrap,
                bootstrap=self._target.bootstrap,
                topic=TOPIC,
            )
        )
        config.chmod(0o600)
        with (self._directory / "log").open("wb") as log:
            process = subprocess.Popen([*SHIPPER_PROGRAM, "run", "-c", str(config)], stderr=log)
        try:
            self._await_listening(process)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def _await_listening(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + STARTING
        log = self._directory / "log"
        while log.read_text().count("listening at") < 3:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the agent is not listening:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)

    def _watch(self, pid: int) -> None:
        began = time.monotonic()
        while (moment := time.monotonic() - began) < self._seconds:
            segments = (self._directory / "data" / "diskqueue").glob("*.seg")
            disk = sum(path.stat().st_size for path in segments) / 1e6
            self.samples.append(OutageSample(moment, resident_mb(pid), disk, cpu_seconds(pid)))
            time.sleep(EVERY)

    def _metric(self, name: str) -> float:
        url = f"http://127.0.0.1:{self._ports[3]}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
        match = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(match[1]) if match else 0.0

    def _await_drained(self) -> None:
        count, since = -1.0, time.monotonic()
        while time.monotonic() - since < DRAINED:
            now = self._metric("shipper_events_acked_total")
            if now != count:
                count, since = now, time.monotonic()
            time.sleep(EVERY)

    def _delivered(self) -> dict[str, Delivered]:
        report("reading the delivered records")
        delivered: dict[str, Delivered] = {}
        consumer = Consumer({"bootstrap.servers": self._target.bootstrap, "group.id": "bench"})
        partitions = [TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
        ends = [consumer.get_watermark_offsets(partition)[1] for partition in partitions]
        consumer.assign(partitions)
        left = sum(ends)
        while left:
            for record in consumer.consume(10_000, 5.0):
                left -= 1
                document = json.loads(record.value() or b"{}")
                number = document["message"].partition(" ")[0]
                if number.isdigit():  # not an entry of journald itself
                    known = delivered.setdefault(document["input"]["id"], Delivered())
                    known.repeated += int(number) in known.numbers
                    known.numbers.add(int(number))
        consumer.close()
        return delivered


def tables(directory: Path, seconds: float) -> list[str]:
    outage = Outage(directory, seconds)
    taken, delivered, dropped = outage.run()
    rows = [
        _row(f"{moment:.0f} s", outage.samples, moment)
        for moment in (seconds / 10, seconds / 4, seconds / 2, seconds - EVERY)
    ]
    memory = show(("outage", "memory MB", "queue on disk MB", "CPU until the end, % of a core"), rows)
    lines = []
    for name, count in taken.items():
        records = delivered.get(name, Delivered())
        missing = f"{count - len(records.numbers & set(range(count)))}"
        missing += f", dropped by the kernel: {dropped:.0f}" if name == "udp" else ""
        lines.append((name, f"{count}", missing, f"{records.repeated}"))
    return [memory, show(("input", "accepted", "missing", "repeated"), lines)]


def _row(title: str, samples: list[OutageSample], moment: float) -> tuple[str, ...]:
    sample = next((sample for sample in samples if sample.moment >= moment), samples[-1])
    last = samples[-1]
    seconds = last.moment - sample.moment
    share = f"{(last.cpu - sample.cpu) / seconds * 100:.0f}" if seconds else ""
    return title, f"{sample.memory_mb:.0f}", f"{sample.disk_mb:.0f}", share
