"""What comes over sockets, `script/bench --sockets`: how fast it is received, at which cost, and what is dropped.

The agent writes its events to /dev/null, so that nothing but receiving, processing and encoding is measured. Senders
are processes of their own, on the same machine: on two cores they take what the agent leaves.
"""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.runs import report
from bench.table import Sheet

SIZE = 200  # bytes of a message
BURST = 100_000  # datagrams in a second
LINES = 1_000_000
LINES_AT_ONCE = 300
SLOT = 0.001  # seconds: a paced sender sends so often
SETTLE = 1.0
PATIENCE = 60.0
BUSY = 0.015  # seconds of CPU that an agent takes that is not idle
IDLE = 1.0  # seconds without as many
AIMS = {
    "udp, 100,000 in a second: dropped": "0",
    "tcp, one connection: k/s": "200",
}
SHIPPER = """\
shipper.inputs:
  - {{id: bench, {options}}}
output.console: {{}}
path.data: {directory}/data
http.socket: false
"""
SYSLOG = b"<165>1 2026-10-11T22:14:15.003Z web-1.example app 4711 ID47 - "


@dataclass(frozen=True, slots=True)
class Agent:
    """`stop` returns the totals of its summary, and the CPU seconds that it took."""

    process: "subprocess.Popen[str]"
    port: int

    def stop(self) -> tuple[dict[str, int], float]:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.stderr is not None
        lines = [json.loads(line) for line in self.process.stderr if line.startswith("{")]
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        last = next(line for line in reversed(lines) if "summary.total.events_read" in line)
        prefix = "summary.total."
        totals = {name.removeprefix(prefix): value for name, value in last.items() if name.startswith(prefix)}
        return totals, usage.ru_utime + usage.ru_stime


@contextmanager
def agent(directory: Path, options: str) -> Iterator[Agent]:
    directory.mkdir(parents=True)
    config = directory / "shipper.yml"
    config.write_text(SHIPPER.format(options=options, directory=directory))
    command = [sys.executable, "-m", "shipper", "run", "-c", str(config)]
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        listening = next(line for line in process.stderr if "listening at" in line)
        yield Agent(process, int(listening.partition("listening at ")[2].partition('"')[0].rpartition(":")[2]))
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()


def send_datagrams(port: int, count: int, seconds: float) -> None:
    """Send so many in about so many seconds, evenly."""
    message = SYSLOG + b"x" * (SIZE - len(SYSLOG))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        began, sent = time.perf_counter(), 0
        while sent < count:
            due = min(int((time.perf_counter() - began) / seconds * count) + 1, count)
            for _ in range(due - sent):
                sender.send(message)
            sent = max(sent, due)
            time.sleep(SLOT)


def send_from_many(port: int, count: int, senders: int) -> None:
    """Send in about a second, in turns from so many senders."""
    message = SYSLOG + b"x" * (SIZE - len(SYSLOG))
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(senders)]
    began = time.perf_counter()
    for sent in range(count):
        made[sent % senders].sendto(message, ("127.0.0.1", port))
        if sent % 100 == 0:
            time.sleep(max(began + sent / count - time.perf_counter(), 0))


def send_lines(port: int, count: int, connections: int) -> None:
    line = SYSLOG + b"x" * (SIZE - 1 - len(SYSLOG)) + b"\n"
    _send_blocks(port, line, count, connections)


def send_counted(port: int, count: int, connections: int) -> None:
    message = SYSLOG + b"x" * (SIZE - 4 - len(SYSLOG))
    _send_blocks(port, b"%d " % len(message) + message, count, connections)


def _send_blocks(port: int, message: bytes, count: int, connections: int) -> None:
    """Send so many messages, in turns over so many connections."""
    senders = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    at_once = max(min(LINES_AT_ONCE, count // connections // 10), 1)
    sent = 0
    while sent < count:
        for sender in senders:
            share = min(at_once, count - sent)
            sender.sendall(message * share)
            sent += share
    for sender in senders:
        sender.close()


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    options: str
    send: Callable[..., None]
    count: int
    argument: float


UDP = 'type: udp, host: "127.0.0.1:0", read_buffer: 4MiB'
TCP = 'type: tcp, host: "127.0.0.1:0"'
CASES = (
    Case("udp, 100,000 in a second", UDP, send_datagrams, BURST, 1.0),
    Case("udp, as fast as one sends", UDP, send_datagrams, 4 * BURST, 0.001),
    Case("udp, 200 senders", UDP, send_from_many, BURST, 200),
    Case("tcp, one connection", TCP, send_lines, LINES, 1),
    Case("tcp, 500 connections", TCP, send_lines, LINES, 500),
    Case("tcp, octet counting", f"{TCP}, framing: rfc6587", send_counted, LINES, 1),
    Case(
        "syslog (RFC 5424) over udp",
        'type: syslog, format: rfc5424, protocol.udp: {host: "127.0.0.1:0", read_buffer: 4MiB}',
        send_datagrams,
        BURST // 2,
        1.0,
    ),
)


def table(directory: Path, rounds: int) -> str:
    sheet = Sheet(AIMS)
    for number in range(rounds):
        for index, case in enumerate(CASES):
            report(f"{case.name}, round {number + 1}")
            _measure(case, directory / f"{number}-{index}", sheet)
    return sheet.show("over sockets, to /dev/null")


def _measure(case: Case, directory: Path, sheet: Sheet) -> None:
    with agent(directory, case.options) as running:
        time.sleep(SETTLE)
        idle = _cpu(running.process.pid)
        sender = multiprocessing.Process(target=case.send, args=(running.port, case.count, case.argument))
        began = time.perf_counter()
        sender.start()
        seconds = _until_idle(running.process.pid, began, sender)
        totals, cpu = running.stop()
    received = totals["events_read"]
    sheet.add(f"{case.name}: k/s", "shipper", received / seconds / 1000, ".0f")
    sheet.add(f"{case.name}: µs of CPU an event", "shipper", (cpu - idle) / max(received, 1) * 1e6, ".1f")
    sheet.add(f"{case.name}: dropped", "shipper", case.count - received, ".0f")


def _cpu(pid: int) -> float:
    """Return the CPU seconds that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _until_idle(pid: int, began: float, sender: multiprocessing.Process) -> float:
    """Wait until all is sent, and the process does nothing any more. Return the seconds until then."""
    before, ended = _cpu(pid), time.perf_counter()
    while time.perf_counter() - ended < IDLE or sender.is_alive():
        sender.join(0.1)
        now = _cpu(pid)
        # A sender may be done while all that it sent is still in the buffers of the system.
        if now - before >= BUSY or sender.is_alive():
            before, ended = now, time.perf_counter()
        if ended - began > PATIENCE:
            break
    return ended - began
