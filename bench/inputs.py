"""Rate and CPU of each input, compared with rsyslog, `script/bench --inputs`.

The agent writes events to a pipe, so that only receiving, processing and encoding are measured, from the first event to
the last. rsyslog parses the header of every message, the shipper only in the syslog input.
"""

import multiprocessing
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from confluent_kafka import Producer

from bench.input_agents import Agent, rsyslog, running, shipper, wait_for_port
from bench.input_senders import MESSAGE, post, send_counted, send_datagrams, send_from_many, send_lines
from bench.runs import broker, report
from bench.table import Sheet
from demo.broker import Broker
from demo.ports import free_ports
from tests.real_journald import RealJournal

BURST = 100_000  # datagrams in one second
LINES = 1_000_000
ENTRIES = 200_000
REQUESTS = 10_000
IDLE = 2.0  # seconds without an event that end a run
PARTITIONS = 4
AT_ONCE = 10_000  # records
AIMS = {
    "udp, 100,000 in one second: dropped": "0",
    "tcp, one connection: k/s": "200",
}
UDP = 'type: udp, host: "127.0.0.1:{port}", read_buffer: 4MiB'
TCP = 'type: tcp, host: "127.0.0.1:{port}"'
SYSLOG = 'type: syslog, format: rfc5424, protocol.udp: {{host: "127.0.0.1:{port}", read_buffer: 4MiB}}'
HTTP = 'type: http, listen_address: 127.0.0.1, listen_port: {port}, url: /, prefix: "."'
JOURNALD = 'type: journald, paths: ["{journal}"], seek: head'
KAFKA = 'type: kafka, hosts: ["{bootstrap}"], topics: [{topic}], group_id: {group}, initial_offset: oldest'
IMUDP = (
    'module(load="imudp")',
    'input(type="imudp" address="127.0.0.1" port="{port}" rcvbufSize="4m" ruleset="out")',
)
IMPTCP = 'module(load="imptcp")', 'input(type="imptcp" address="127.0.0.1" port="{port}" ruleset="out")'
IMJOURNAL = (
    'module(load="imjournal" StateFile="state" IgnorePreviousMessages="off" Ratelimit.Interval="0")',
    "call out",
)
IMKAFKA = (
    'module(load="imkafka")',
    'input(type="imkafka" broker="{bootstrap}" topic="{topic}" consumergroup="{group}" ruleset="out"'
    ' confParam=["auto.offset.reset=earliest"])',
)


@dataclass(frozen=True, slots=True)
class Case:
    """One row. `rsyslog`: modules and statement, None if Debian's rsyslog has no such input; `send` is called with port
    and count in a separate process, None if the input's data exists before."""

    name: str
    options: str
    rsyslog: tuple[str, str] | None
    count: int
    send: Callable[[int, int], None] | None = None


CASES = (
    Case("udp, 100,000 in one second", UDP, IMUDP, BURST, partial(send_datagrams, seconds=1.0)),
    Case("udp, 100,000 in one second, 200 senders", UDP, IMUDP, BURST, partial(send_from_many, senders=200)),
    Case("udp, 400,000 at full speed of one sender", UDP, IMUDP, 4 * BURST, partial(send_datagrams, seconds=0.001)),
    Case(
        "udp, syslog (RFC 5424), 50,000 in one second",
        SYSLOG,
        IMUDP,
        BURST // 2,
        partial(send_datagrams, seconds=1.0),
    ),
    Case("tcp, one connection", TCP, IMPTCP, LINES, partial(send_lines, connections=1)),
    Case("tcp, 500 connections", TCP, IMPTCP, LINES, partial(send_lines, connections=500)),
    Case("tcp, octet counting", f"{TCP}, framing: rfc6587", IMPTCP, LINES, partial(send_counted, connections=1)),
    Case("http, 1 event per request", HTTP, None, REQUESTS, partial(post, events=1)),
    Case("http, 100 events per request", HTTP, None, 30 * REQUESTS, partial(post, events=100)),
    Case("journald", JOURNALD, IMJOURNAL, ENTRIES),
    Case("kafka", KAFKA, IMKAFKA, LINES),
)


class Places:
    """The sources of inputs that do not listen: created on first use, closed with `stack`."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack
        self._broker: Broker | None = None
        self._journal: RealJournal | None = None

    def kafka(self) -> Broker:
        """Return a broker with a topic `bench`."""
        if self._broker is None:
            self._broker = self._stack.enter_context(broker(self._directory))
            report("filling a topic")
            self._broker.create_topic("bench", PARTITIONS)
            _produce(self._broker.bootstrap, "bench", LINES)
        return self._broker

    def journal(self) -> RealJournal:
        if self._journal is None:
            report("filling a journal")
            self._journal = self._stack.enter_context(closing(RealJournal()))
            fields = {"PRIORITY": 6, "SYSLOG_IDENTIFIER": "bench", "CODE_FILE": "bench.c", "REQUEST": "0" * 32}
            self._journal.log(*(f"{number:06} {'x' * 193}" for number in range(ENTRIES)), **fields)
        return self._journal


def table(directory: Path, rounds: int, words: Iterable[str]) -> str:
    """Measure the cases with one of `words` in their names, or all."""
    chosen = [case for case in CASES if not words or any(word in case.name for word in words)]
    sheet = Sheet(AIMS)
    with_rsyslog = shutil.which("rsyslogd", path="/usr/sbin") is not None
    with ExitStack() as stack:
        places = Places(directory / "broker", stack)
        for number in range(rounds):
            for case in chosen:
                for name in ("shipper", "rsyslog") if with_rsyslog and case.rsyslog is not None else ("shipper",):
                    report(f"{case.name}, {name}, round {number + 1}")
                    _measure(case, name, directory / f"{number}-{CASES.index(case)}-{name}", places, sheet)
    return sheet.show("input to pipe")


def _measure(case: Case, name: str, directory: Path, places: Places, sheet: Sheet) -> None:
    directory.mkdir(parents=True)
    (port,) = free_ports(1)
    with running(_command(case, name, directory, port, places), directory) as agent:
        before = 0.0
        if case.send is not None:
            wait_for_port(agent, port)
            time.sleep(IDLE)
            before = agent.cpu()
        _wait(case, agent, port)
        received = agent.received
        cpu = agent.cpu() - (before if case.send is not None else received.cpu)
    seconds = max(received.last - received.first, 1e-9)
    sheet.add(f"{case.name}: k/s", name, received.count / seconds / 1000, ".0f")
    sheet.add(f"{case.name}: CPU µs per event", name, cpu / max(received.count, 1) * 1e6, ".1f")
    if "udp" in case.name:
        sheet.add(f"{case.name}: dropped", name, case.count - received.count, ".0f")
    elif received.count < case.count:  # more is correct: journald adds entries
        raise RuntimeError(f"{case.name}: {name} sent {received.count} of {case.count} events: see {directory}/log")


def _wait(case: Case, agent: Agent, port: int) -> None:
    """Send the messages of a case, and wait for its events."""
    began = time.perf_counter()
    if case.send is not None:
        sender = multiprocessing.Process(target=case.send, args=(port, case.count))
        sender.start()
        sender.join()
        if sender.exitcode:
            raise RuntimeError(f"{case.name}: the sender failed")
    agent.wait_until_idle(IDLE, began, case.count)


def _command(case: Case, name: str, directory: Path, port: int, places: Places) -> list[str]:
    words: dict[str, object] = {"port": port, "topic": "bench", "group": f"{directory.name}"}
    prefix: list[str] = []
    if case.name == "kafka":
        words["bootstrap"] = places.kafka().bootstrap
    if case.name == "journald":
        words["journal"] = places.journal().directory
        # imjournal reads only the machine's journal: here that of the namespace
        prefix = ["nsenter", "--mount", "--target", str(places.journal().pid)]
    if name == "shipper":
        return shipper(directory, case.options.format(**words))
    assert case.rsyslog is not None
    modules, listening = case.rsyslog
    return [*prefix, *rsyslog(directory, modules, listening.format(**words))]


def _produce(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "compression.type": "lz4"})
    for start in range(0, count, AT_ONCE):
        values: list[dict[str, object]] = [{"value": MESSAGE} for _ in range(min(AT_ONCE, count - start))]
        producer.produce_batch(topic, values)
        producer.flush()
