"""The harvester of standard input on a pipe of the test; then the real agent behind a real pipe."""

import json
import logging
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.process import SHIPPER_PROGRAM
from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.stdin import StdinSource, StreamWatcher, harvester_of
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.reader.base import ParserConfig
from tests.builders import AGENT, multiline, source_context
from tests.memory_registry import memory_store

ROOT = Path(__file__).parents[4]
LONG = 60.0  # seconds; what takes so long has failed


class Pipe:
    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        self.noted: list[object] = []
        self.harvester = self.open()

    def open(self, *parsers: ParserConfig, encoding: str = "utf-8") -> Harvester:
        config = InputConfig(type="stdin", id="stdin", paths=(), parsers=parsers, encoding=encoding)
        self.harvester = harvester_of(self._reader, Input(config, AGENT, {}, 1000, SystemClock(), self.noted.append))
        return self.harvester

    def write(self, data: bytes) -> None:
        os.write(self.writer, data)

    def end(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def batches(self) -> list[Batch]:
        """All that can be had now."""
        batches = []
        while (batch := self.harvester.read()) is not None:
            batches.append(batch)
        return batches

    def close(self) -> None:
        self.end()
        if self.harvester.is_open:
            os.close(self._reader)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def texts(batches: list[Batch]) -> list[str]:
    return [text for batch in batches for text in batch.messages.texts]


def test_it_is_read_to_its_end_and_then_finished(pipe: Pipe) -> None:
    pipe.write(b"one\ntw")
    assert texts(pipe.batches()) == ["one"]
    assert not pipe.harvester.finished
    pipe.write(b"o")
    pipe.end()
    assert texts(pipe.batches()) == ["two"]
    assert pipe.harvester.finished


def test_an_empty_pipe_is_not_finished_before_its_end(pipe: Pipe) -> None:
    assert pipe.batches() == []
    assert not pipe.harvester.finished
    pipe.end()
    pipe.batches()
    assert pipe.harvester.finished


def test_a_message_of_several_lines_is_decoded_without_a_look_back(pipe: Pipe) -> None:
    pipe.open(multiline(r"^\s"), encoding="utf-16-bom")
    pipe.write("\ufeffone\n +\ntwo\n".encode("utf-16-le"))
    assert [text for batch in pipe.batches() for text in batch.messages.texts] == ["one\n +"]


def test_a_message_of_several_lines_is_whole_at_the_end(pipe: Pipe) -> None:
    pipe.open(multiline(r"^\s"))
    pipe.write(b"trace\n  at line 1\n")
    assert texts(pipe.batches()) == []
    assert pipe.harvester.message_deadline is not None
    pipe.end()
    assert texts(pipe.batches()) == ["trace\n  at line 1"]
    assert pipe.harvester.finished


def test_the_registry_hears_nothing_of_it(pipe: Pipe) -> None:
    pipe.write(b"one\ntwo\n")
    for batch in pipe.batches():
        batch.resolve()
    assert pipe.harvester.state.position == 8
    assert pipe.noted == []


def test_it_is_named_as_filebeat_names_it_and_each_run_has_an_id_of_its_own(pipe: Pipe) -> None:
    first, second = pipe.harvester.source, pipe.open().source
    assert first.path == second.path == "-"
    assert first.file_id != second.file_id


class Watched:
    """Replaces `Wake`: calls back when the test wants it."""

    def __init__(self) -> None:
        self.ready: dict[int, Callable[[], None]] = {}

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        self.ready[fd] = ready

    def unwatch(self, fd: int) -> None:
        self.ready.pop(fd, None)

    def report(self, fd: int) -> None:
        """Once: it is not watched any more."""
        self.ready.pop(fd)()


def source_of(harvester: Harvester, watched: Watched, metrics: Metrics | None = None) -> StdinSource:
    watcher = StreamWatcher(watched.watch, watched.unwatch)
    registrar = Registrar(memory_store())  # nothing is written to it
    return StdinSource(harvester, watcher, source_context(registrar, SystemClock(), metrics))


def read_all(source: StdinSource) -> list[Batch]:
    """As the loop does it."""
    batches = list(source.read(1000))
    while not source.next_wake(reading=True):
        batches += source.read(1000)
    return batches


def test_it_is_watched_when_nothing_is_left_to_read_and_woken_when_something_comes(pipe: Pipe) -> None:
    watched = Watched()
    source = source_of(pipe.harvester, watched)
    assert read_all(source) == []
    assert list(watched.ready) == [pipe.harvester.fd]
    for line in ("one", "two"):
        pipe.write(f"{line}\n".encode())
        watched.report(pipe.harvester.fd)
        source.step()
        assert texts(read_all(source)) == [line]


def test_the_end_which_is_always_ready_wakes_no_one(pipe: Pipe) -> None:
    watched = Watched()
    source = source_of(pipe.harvester, watched)
    pipe.end()
    for batch in read_all(source):
        batch.resolve()
    for fd in list(watched.ready):
        watched.report(fd)
    source.step()
    assert source.next_wake(reading=True) > 0
    assert source.finished
    assert watched.ready == {}


@pytest.mark.parametrize(("unresolved", "lost"), [("", 0), ("two\nthr", 7)])
def test_what_was_read_and_is_not_acknowledged_is_counted_and_reported(
    pipe: Pipe, caplog: pytest.LogCaptureFixture, unresolved: str, lost: int
) -> None:
    metrics = Metrics()
    source = source_of(pipe.harvester, Watched(), metrics)
    pipe.write(b"one\n")
    (batch,) = pipe.batches()
    batch.resolve()
    pipe.write(unresolved.encode())
    if unresolved:
        pipe.batches()
    source.stop()
    assert metrics.bytes_lost == lost
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [
        f"standard input (file id {pipe.harvester.state.id}): {lost} bytes from offset 4 on were not acknowledged. "
        "Some or all of them are lost, because standard input cannot be read again"
    ] * bool(lost)


Run = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Run the real agent, from standard input to standard output."""
    config = tmp_path / "shipper.yml"
    config.write_text("shipper.inputs: [{type: stdin}]\noutput.console: {}\nshipper.shutdown_timeout: 200ms\n")
    config.chmod(0o600)
    command = [*SHIPPER_PROGRAM, "run", "-c", str(config), "--path.data", str(tmp_path / "data")]
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, before: tuple[str, ...] = (), stdin: int = subprocess.PIPE) -> "subprocess.Popen[bytes]":
        with (tmp_path / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [*before, *command, *arguments], cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def messages(written: bytes) -> list[str]:
    return [json.loads(line)["message"] for line in written.splitlines()]


def next_line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], LONG)[0], "nothing comes"
    return process.stdout.readline()


@pytest.mark.parametrize("once", [(), ("--once",)])
def test_the_agent_ends_with_0_when_its_input_has_ended_and_all_is_delivered(run: Run, once: tuple[str, ...]) -> None:
    lines = [f"line {number} " + "x" * 100 for number in range(20_000)]
    process = run(*once)
    written, _ = process.communicate("\n".join(lines).encode(), LONG)
    assert messages(written) == lines
    assert process.returncode == 0


def test_an_agent_with_nothing_to_read_ends_with_0(run: Run) -> None:
    process = run(stdin=subprocess.DEVNULL)
    written, _ = process.communicate(timeout=LONG)
    assert (written, process.returncode) == (b"", 0)


def test_a_line_arrives_at_once_also_after_a_pause(run: Run) -> None:
    process = run()
    assert process.stdin is not None
    assert process.stdout is not None
    delays = list[float]()
    while min(delays[1:], default=1.0) >= 0.1:  # not the first one, which waits for the start; others, if it is busy
        number, began = len(delays), time.monotonic()
        process.stdin.write(b"line %d\n" % number)
        process.stdin.flush()
        assert messages(next_line(process)) == [f"line {number}"]
        delays.append(time.monotonic() - began)
        select.select([process.stdout], [], [], 0.2)  # nothing comes: the loop sleeps by then
        assert number < 50, delays


def test_a_stopped_agent_ends_with_0_although_its_input_continues(run: Run, tmp_path: Path) -> None:
    process = run()
    assert process.stdin is not None
    process.stdin.write(b"whole\nnot yet")
    process.stdin.flush()
    assert messages(next_line(process)) == ["whole"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONG) == 0
    assert ": 7 bytes from offset 6 on were not acknowledged" in (tmp_path / "stderr").read_text()


def test_a_closed_input_is_refused_in_words(run: Run, tmp_path: Path) -> None:
    process = run(before=("sh", "-c", 'exec "$@" <&-', "sh"))
    assert process.wait(LONG) == 1
    assert "type: stdin: standard input is closed" in (tmp_path / "stderr").read_text()
