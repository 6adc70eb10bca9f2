"""An agent that reads an input and writes its events to a pipe; this process counts them."""

import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import cpu_seconds
from demo.process import SHIPPER_PROGRAM

PIPE = 1024**2  # bytes: the agent should not wait for this process
TIMEOUT = 120.0
STOP_TIMEOUT = 15.0
SHIPPER = """\
shipper.inputs:
  - {{id: bench, {options}}}
output.console: {{}}
path.data: {directory}/data
http.socket: false
"""
RSYSLOG = """\
global(workDirectory="{directory}" maxMessageSize="64k")
{modules}
template(name="record" type="list" option.jsonf="on") {{
  property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="from" name="fromhost-ip" format="jsonf")
  property(outname="program" name="programname" format="jsonf")
  property(outname="pid" name="procid" format="jsonf")
  property(outname="severity" name="syslogseverity" format="jsonf")
  property(outname="facility" name="syslogfacility" format="jsonf")
}}
{input}
ruleset(name="out" queue.type="LinkedList" queue.size="500000" queue.dequeueBatchSize="4096") {{
  action(type="omfile" file="/dev/stdout" template="record" ioBufferSize="256k" flushOnTXEnd="on")
}}
"""


@dataclass(slots=True)
class Received:
    """The events of an agent: `first` and `last` are their times (perf_counter), `cpu` its CPU seconds before."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0
    cpu: float = 0.0


@dataclass(slots=True)
class Agent:
    process: "subprocess.Popen[bytes]"
    received: Received = field(default_factory=Received)

    def count(self) -> None:
        """Count lines until the agent exits."""
        assert self.process.stdout is not None
        descriptor, received = self.process.stdout.fileno(), self.received
        while data := os.read(descriptor, PIPE):
            received.last = time.perf_counter()
            if not received.count:
                received.first, received.cpu = received.last, self.cpu()
            received.count += data.count(b"\n")

    def cpu(self) -> float:
        """Return the CPU seconds of the process and its children so far, or 0 if it has exited."""
        with suppress(OSError):
            return cpu_seconds(self.process.pid)
        return 0.0

    def wait_until_idle(self, seconds: float, began: float, count: int) -> None:
        """Return when `count` events have arrived, or none for `seconds`."""
        while self.received.count < count and time.perf_counter() - began < TIMEOUT:
            time.sleep(0.05)
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.process.args!r} exited with status {self.process.returncode}")
            if self.received.count and time.perf_counter() - self.received.last > seconds:
                return


@contextmanager
def running(command: Sequence[str], directory: Path) -> Iterator[Agent]:
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert process.stdout is not None
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE)
    agent = Agent(process)
    counting = threading.Thread(target=agent.count, daemon=True)
    counting.start()
    try:
        yield agent
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with suppress(ProcessLookupError):  # a remaining child would keep the pipe open
            os.killpg(process.pid, signal.SIGKILL)
        counting.join()
        process.stdout.close()


def shipper(directory: Path, options: str) -> list[str]:
    """Return the command; `options` of the input are in YAML's flow style."""
    config = directory / "shipper.yml"
    config.write_text(SHIPPER.format(options=options, directory=directory))
    config.chmod(0o600)
    return [*SHIPPER_PROGRAM, "run", "-c", str(config)]


def rsyslog(directory: Path, modules: str, listening: str) -> list[str]:
    """Return the command; `modules` are those of the statement `listening`, which feeds the ruleset `out`."""
    config = directory / "rsyslog.conf"
    config.write_text(RSYSLOG.format(modules=modules, input=listening, directory=directory))
    return ["/usr/sbin/rsyslogd", "-n", "-f", str(config), "-i", str(directory / "rsyslogd.pid")]


def wait_for_port(agent: Agent, port: int) -> None:
    """Wait until the agent listens. Raises RuntimeError if it does not."""
    deadline = time.monotonic() + TIMEOUT
    while not _is_bound(port):
        if agent.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{agent.process.args!r} does not listen")
        time.sleep(0.02)


def _is_bound(port: int) -> bool:
    tables = [Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "udp", "tcp6", "udp6")]
    closed = "06"  # TIME_WAIT, of an earlier run
    return any(
        fields[1].endswith(f":{port:04X}") and fields[3] != closed
        for lines in tables
        for fields in (line.split() for line in lines)
    )
