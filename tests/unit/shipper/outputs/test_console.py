import errno
import fcntl
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import pytest

from demo.process import SHIPPER_PROGRAM
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.event import Rejection
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.output.styled import StyledEncoder
from log_shipper.shipper.outputs.console import PIECE, PIPE_WAIT, ConsoleOutput
from log_shipper.shipper.processor.formatting import Formatter
from tests.builders import RecordedDeliveries, batch, encoder
from tests.processing import batch_of

ROOT = Path(__file__).parents[4]
LONG = 60.0  # seconds; what takes so long has failed


@pytest.fixture(autouse=True)
def nothing_waits_for_ever() -> Iterator[None]:
    """What is tested here is that a write returns: one that does not is a failure, and not the end of all tests."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"still waiting after {2 * LONG} seconds")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, 2 * LONG)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_each_record_is_a_line() -> None:
    stream, deliveries = io.BytesIO(), RecordedDeliveries()
    output = ConsoleOutput(encoder(), deliveries, SystemClock(), stream=stream)
    assert output.publish(batch(["a", "ü"]))
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["a", "ü"]
    assert deliveries.texts == ["a", "ü"]


def test_an_event_without_a_text_is_rejected_and_the_others_are_written() -> None:
    stream, deliveries = io.BytesIO(), RecordedDeliveries()
    events = batch_of([{"message": "a", "user": "u"}, {"message": "b"}, {"message": "c", "user": "v"}])
    codec = FormatCodec(Formatter("%{[user]}: %{[message]}").texts, 2**31)
    assert ConsoleOutput(codec, deliveries, SystemClock(), stream=stream).publish(events)
    assert stream.getvalue() == b"u: a\nv: c\n"
    assert deliveries.rejections == {events: [Rejection(1, "the event has no field user")]}


def test_pretty_spreads_a_record_over_lines() -> None:
    stream = io.BytesIO()
    codec = StyledEncoder(encoder(), 2**31, pretty=True)
    ConsoleOutput(codec, RecordedDeliveries(), SystemClock(), stream=stream).publish(batch(["a"]))
    lines = stream.getvalue().decode().splitlines()
    assert lines[0] == "{"
    assert json.loads("".join(lines))["message"] == "a"


class Pipe:
    """Standard output as a pipe of 64 KiB, and its reader."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.stream: BinaryIO = os.fdopen(writer, "wb")
        self.deliveries = RecordedDeliveries()
        self.output = ConsoleOutput(encoder(), self.deliveries, SystemClock(), stream=self.stream)

    def read(self) -> bytes:
        """Return the current content of the pipe."""
        found = b""
        while select.select([self.reader], [], [], 0)[0] and (data := os.read(self.reader, 65536)):
            found += data
        return found

    def read_all(self) -> bytes:
        """Let the output work, and read, until nothing is in flight."""
        found = b""
        deadline = time.monotonic() + LONG
        while self.output.in_flight:
            found += self.read()
            self.output.poll(0.01)
            assert time.monotonic() < deadline
        return found + self.read()

    def close(self) -> None:
        self.output.close()
        self.stream.close()
        if self.reader >= 0:
            os.close(self.reader)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


LINES = [f"{number:05} " + "x" * 100 for number in range(1000)]


def messages(written: bytes) -> list[str]:
    return [json.loads(line)["message"] for line in written.splitlines()]


def test_a_full_pipe_does_not_block_and_the_batch_is_written_later(pipe: Pipe) -> None:
    began = time.monotonic()
    sent = batch(LINES)
    assert pipe.output.publish(sent)
    pipe.output.poll(0)
    assert (pipe.output.in_flight, pipe.deliveries.batches) == (1, [])
    assert time.monotonic() - began < LONG / 2
    assert messages(pipe.read_all()) == LINES
    assert pipe.deliveries.batches == [sent]


def test_batches_that_come_while_the_pipe_is_full_wait_for_their_turn(pipe: Pipe) -> None:
    sent = [batch(LINES), batch(["later"]), batch(["last"])]
    assert all(pipe.output.publish(each) for each in sent)
    assert pipe.output.in_flight == 3
    assert messages(pipe.read_all()) == [*LINES, "later", "last"]
    assert pipe.deliveries.batches == sent


def test_what_a_full_pipe_has_taken_is_whole_records(pipe: Pipe) -> None:
    pipe.output.publish(batch(LINES))
    taken = pipe.read()
    assert taken.endswith(b"}\n")
    assert messages(taken) == LINES[: len(messages(taken))]


def test_a_record_that_no_pipe_takes_at_once_arrives_whole(pipe: Pipe) -> None:
    texts = ["before", "y" * 40 * PIECE, "after"]
    pipe.output.publish(batch(texts))
    assert messages(pipe.read_all()) == texts


def test_a_poll_waits_a_little_for_the_reader_and_not_longer_than_asked(pipe: Pipe) -> None:
    pipe.output.publish(batch(LINES))
    for asked in (0.0, 3 * PIPE_WAIT):
        began = time.monotonic()
        pipe.output.poll(asked)
        assert max(asked, PIPE_WAIT) * 0.9 <= time.monotonic() - began < LONG / 2


def test_a_descriptor_that_others_share_keeps_its_flags(pipe: Pipe) -> None:
    pipe.output.publish(batch(LINES))
    assert os.get_blocking(pipe.stream.fileno())


def test_a_closed_reader_is_reported_in_words(pipe: Pipe) -> None:
    pipe.output.publish(batch(LINES))
    os.close(pipe.reader)
    pipe.reader = -1
    with pytest.raises(BrokenPipeError) as raised:
        pipe.output.poll(0)
    assert raised.value.filename == "standard output"
    assert raised.value.strerror is not None
    assert "its reader closed it" in raised.value.strerror
    assert pipe.deliveries.batches == []


def test_a_full_device_is_reported_in_words() -> None:
    with Path("/dev/full").open("wb") as full, pytest.raises(OSError, match="standard output") as raised:
        ConsoleOutput(encoder(), RecordedDeliveries(), SystemClock(), stream=full).publish(batch(["a"]))
    assert raised.value.errno == errno.ENOSPC


def test_a_terminal_without_a_reader_does_not_block() -> None:
    """It has room for a part of a piece in the end, and would wait with the rest of it."""
    master, terminal = pty.openpty()
    modes = termios.tcgetattr(terminal)
    modes[1] &= ~termios.OPOST  # or each newline would be read as two characters
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    deliveries = RecordedDeliveries()
    with os.fdopen(terminal, "wb") as stream:
        output = ConsoleOutput(encoder(), deliveries, SystemClock(), stream=stream)
        began = time.monotonic()
        output.publish(batch(LINES[:300]))
        output.poll(0)
        assert output.in_flight == 1
        assert time.monotonic() - began < LONG / 2
        found, deadline = b"", time.monotonic() + LONG
        while output.in_flight or found.count(b"\n") < len(LINES[:300]):
            # The kernel makes room a little after a read; until then there may be nothing to read, either.
            if select.select([master], [], [], PIPE_WAIT)[0]:
                found += os.read(master, 65536)
            output.poll(0)
            assert time.monotonic() < deadline
        output.close()
    os.close(master)
    assert messages(found) == LINES[:300]


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The real agent, writing to a full pipe without a reader."""
    (tmp_path / "app.log").write_text("".join(f"{line}\n" for line in LINES))
    config = tmp_path / "shipper.yml"
    inputs = [{"type": "filestream", "id": "a", "paths": [str(tmp_path / "app.log")]}]
    config.write_text(json.dumps({"shipper.inputs": inputs, "output.console": {}, "shipper.shutdown_timeout": "200ms"}))
    config.chmod(0o600)
    command = [*SHIPPER_PROGRAM, "run", "-c", str(config), "--path.data", str(tmp_path / "data")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + LONG
        pipe = process.stdout.fileno()
        before = 0
        while (unread := waiting(pipe)) < 50_000 or unread != before:  # it is full, and it was full a moment ago
            before = unread
            assert time.monotonic() < deadline
            select.select([], [], [], 0.05)
        yield process
        process.kill()


def waiting(pipe: int) -> int:
    """Bytes in a pipe."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def test_the_first_sigterm_ends_an_agent_whose_reader_does_not_read(stuck: "subprocess.Popen[bytes]") -> None:
    stuck.send_signal(signal.SIGTERM)
    assert stuck.wait(LONG) == 0
    assert stuck.stderr is not None
    assert b"stopped with unacknowledged events" in stuck.stderr.read()
    assert stuck.stdout is not None
    written = stuck.stdout.read()
    assert messages(written) == LINES[: len(messages(written))]


def test_a_reader_that_goes_ends_the_agent_with_1_and_without_a_traceback(stuck: "subprocess.Popen[bytes]") -> None:
    assert stuck.stdout is not None
    stuck.stdout.close()
    assert stuck.wait(LONG) == 1
    assert stuck.stderr is not None
    errors = stuck.stderr.read().decode()
    assert "standard output: Broken pipe: its reader closed it" in errors
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors
