"""How long the loop waits, and for what."""

import base64
import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import pytest

from log_shipper.shipper.agent.loop import BYTES_A_STEP, Loop
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.options.queues import DiskQueueConfig
from log_shipper.shipper.pipeline.pieces import PIECE_BYTES
from log_shipper.shipper.processor.one_field import OneFieldConfig
from log_shipper.shipper.processors.decode_base64_field import DecodeBase64FieldConfig
from log_shipper.shipper.processors.decompress_gzip_field import DecompressGzipFieldConfig
from log_shipper.shipper.processors.dns import DnsConfig
from log_shipper.shipper.reader.log_file import READ_SIZE
from log_shipper.shipper.wake import Wake
from tests.builders import batch, source_context
from tests.lab import CHECK_INTERVAL, LONG, READ_INTERVAL, Lab
from tests.name_servers import NameServer


def test_while_the_queue_is_full_a_hot_file_does_not_keep_the_loop_busy(lab: Lab) -> None:
    lab.append("hot.log", "one\n")
    lab.append("big.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.running.metrics.events_read == 2)
    lab.append("hot.log", "two\n")
    lab.wait_until(lambda: lab.running.metrics.events_read == 3, seconds=0)
    lab.append("hot.log", "three\n")
    lab.wait_until(lambda: lab.running.metrics.events_read == 4, seconds=0.001)
    lab.append("big.log", ("x" * 99 + "\n") * 70_000)
    lab.wait_until(lambda: lab.running.metrics.events_read > 25_000, seconds=0)
    for _ in range(10):
        lab.step(seconds=0)
    assert lab.running.metrics.events_read < 40_000
    lab.step(seconds=10 * READ_INTERVAL, wait=0.01)
    assert lab.destination.last_timeout == 0.01


@dataclass
class Sharing:
    """A source that gives six batches of one event, whatever its share. `id`: as if it was its own input, too."""

    id: str
    turns: list[tuple[str, int]]
    finished = False

    def step(self) -> None: ...

    def read(self, share: int) -> Iterator[Batch]:
        self.turns.append((self.id, share))
        for _ in range(6):
            yield batch([self.id])

    def next_wake(self, *, reading: bool) -> float:
        return 0.0


@pytest.fixture
def wake() -> Iterator[Wake]:
    with closing(Wake()) as made:
        yield made


def test_sources_are_read_in_turn_each_with_its_share_while_there_is_room(lab: Lab, wake: Wake) -> None:
    lab.queue_events = 10
    lab.start()
    app, turns = lab.running, list[tuple[str, int]]()
    files, feed = Sharing("files", turns), Sharing("feed", turns)
    sources = BatchSources(cast("Any", files), [cast("Any", feed)], lambda: lambda made: cast("Any", made), lab.clock)
    loop = Loop(sources, app.pipeline, source_context(app.registrar, lab.clock, app.metrics), wake, READ_INTERVAL)
    lab.destination.holding = True
    loop.step(wait=0)
    loop.step(wait=0)
    share = BYTES_A_STEP // 2
    assert (turns, app.metrics.events_read) == ([("feed", share), ("files", share)], 10)
    lab.destination.holding = False
    loop.step(wait=0)
    loop.step(wait=0)
    assert turns[2:] == [("files", share), ("feed", share)]


def seconds_of_step(lab: Lab, *, append_after: float = 0.0) -> float:
    """Return how long a step took that could wait for long, while a line is appended after so many seconds."""
    writer = threading.Timer(append_after, lab.append, ("a.log", "more\n")) if append_after else None
    if writer is not None:
        writer.start()
    started = time.monotonic()
    lab.running.loop.step(wait=LONG)
    taken = time.monotonic() - started
    if writer is not None:
        writer.join()
    lab.clock.advance(taken)
    return taken


@pytest.fixture
def slow_rhythm(lab: Lab) -> Lab:
    """A Lab whose agent has read a line, which was a moment ago, and has nothing to do."""
    lab.read_interval = 0.5
    lab.ship("a.log", "one")
    lab.calm_down()
    return lab


def test_a_line_after_a_pause_is_read_at_once(slow_rhythm: Lab) -> None:
    assert seconds_of_step(slow_rhythm, append_after=0.05) < LONG / 2
    slow_rhythm.step()
    assert slow_rhythm.messages[-1] == "more"


def test_what_comes_soon_after_a_read_waits_for_the_next_turn_and_leaves_with_what_came_meanwhile(
    slow_rhythm: Lab,
) -> None:
    slow_rhythm.append("a.log", "two\n")
    seconds_of_step(slow_rhythm)  # notices it, or reads it already
    slow_rhythm.append("a.log", "three\n")
    assert seconds_of_step(slow_rhythm, append_after=0.05) >= 0.4
    slow_rhythm.append("a.log", "four\n")
    batches = len(slow_rhythm.records)
    slow_rhythm.step()
    assert slow_rhythm.messages[batches:] == ["more", "four"]


def test_while_records_are_in_flight_reports_are_taken_in_once_an_interval(lab: Lab) -> None:
    lab.read_interval = 0.2
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    assert 0.15 < max(seconds_of_step(lab) for _ in range(3)) < LONG / 2


def test_while_the_queue_on_disk_is_written_to_the_loop_waits_for_that_and_not_for_the_output(lab: Lab) -> None:
    lab.disk_queue, lab.queue_events = DiskQueueConfig(max_size=1), 10
    lab.append("a.log", "one\n" * 100)
    lab.append("b.log", "one\n" * 100)
    lab.start()
    lab.destination.holding = True
    pipeline = lab.running.pipeline
    assert pipeline.disk is not None
    figures = pipeline.disk.figures  # the first batch is larger than the queue may be
    lab.wait_until(lambda: (now := figures()) is not None and now.is_full and not pipeline.has_room)
    lab.step(wait=0.01)
    assert (pipeline.is_writing, pipeline.output.in_flight > 0) == (True, True)
    assert lab.destination.last_timeout == 0
    lab.destination.holding = False
    lab.wait_until(lambda: len(lab.records) == 200)


def test_an_acknowledgement_is_taken_in_also_while_files_are_read(lab: Lab) -> None:
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.destination.holding = False
    lab.append("a.log", "two\n" * 100_000)
    lab.step()
    assert lab.running.metrics.events_acked > 0


def test_a_step_ends_after_one_large_read_so_that_others_get_their_turn(lab: Lab) -> None:
    for name in ("a.log", "b.log", "c.log"):
        lab.append(name, (b"x" * 99 + b"\n") * 20_000)
    lab.start()
    read = [0]

    def all_of_it() -> bool:
        read.append(lab.running.metrics.bytes_read)
        return read[-1] == 6_000_000

    lab.wait_until(all_of_it)
    assert max(after - before for before, after in pairwise(read)) < 2 * READ_SIZE


@pytest.fixture
def slow_names(lab: Lab) -> Iterator[NameServer]:
    """A name server that is silent at first, and asked for the name of each message that is an address."""
    server = NameServer({("4.3.2.1.in-addr.arpa.", "PTR"): ["web.example."]}, silent=True)
    dns = DnsConfig(kind="PTR", fields={"message": "name"}, nameservers=(server.address,), timeout=1e6)
    lab.input["processors"] = (dns,)
    yield server
    server.close()


def test_events_that_wait_for_an_answer_hold_up_no_other_file(lab: Lab, slow_names: NameServer) -> None:
    lab.append("slow.log", "1.2.3.4\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read == 1)
    lab.append("slow.log", "is no address\n")
    lab.append("other.log", "neither\n")
    lab.expect_lines("other.log", "neither")
    lab.wait_until(lambda: lab.running.metrics.events_read == 3)
    assert lab.lines(lab.inode("slow.log")) == []
    assert position(lab, "slow.log") == 0
    slow_names.may_answer.set()
    lab.expect_lines("slow.log", "1.2.3.4", "is no address")
    assert [json.loads(record).get("name") for record in lab.records] == [None, "web.example", None]
    lab.wait_until(lambda: position(lab, "slow.log") == 22)


def test_a_file_of_which_much_waits_is_not_read_on_and_others_are(lab: Lab, slow_names: NameServer) -> None:
    lab.append("slow.log", "1.2.3.4\n" + "no address\n" * 60_000)
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read > 1)
    lab.append("other.log", "neither\n")
    lab.expect_lines("other.log", "neither")
    assert lab.running.metrics.events_read < 40_000
    slow_names.may_answer.set()
    before = lab.clock.monotonic()
    lab.wait_until(lambda: len(lab.records) == 60_002, seconds=0.0001)
    assert lab.clock.monotonic() - before < CHECK_INTERVAL / 2  # no scan was needed


def test_what_waits_when_the_agent_is_killed_is_sent_by_the_next(lab: Lab, slow_names: NameServer) -> None:
    lab.append("slow.log", "1.2.3.4\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read == 1)
    lab.kill()
    slow_names.may_answer.set()
    lab.start()
    lab.expect_lines("slow.log", "1.2.3.4")
    assert len(lab.records) == 1


def test_with_once_it_waits_for_answers(lab: Lab, slow_names: NameServer) -> None:
    lab.append("slow.log", "1.2.3.4\n")
    lab.start(once=True)
    lab.wait_until(lambda: lab.running.metrics.events_read == 1)
    for _ in range(10):
        lab.step()
    assert not lab.running.loop.finished
    assert not lab.running.pipeline.drained
    slow_names.may_answer.set()
    lab.wait_until(lambda: lab.running.loop.finished)
    assert len(lab.records) == 1


def test_at_its_end_it_continues_with_what_waits(lab: Lab, slow_names: NameServer) -> None:
    lab.append("slow.log", "1.2.3.4\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read == 1)
    slow_names.may_answer.set()
    lab.stop()
    assert len(lab.records) == 1


def test_without_answers_events_continue_after_the_timeout(lab: Lab, slow_names: NameServer) -> None:
    dns = DnsConfig(
        kind="PTR",
        fields={"message": "name"},
        nameservers=(slow_names.address,),
        timeout=30.0,
        tag_on_failure=("_no_name",),
    )
    lab.input["processors"] = (dns,)
    lab.append("slow.log", "1.2.3.4\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read == 1)
    before = lab.clock.monotonic()
    lab.wait_until(lambda: lab.records, seconds=1)
    assert 29.9 < lab.clock.monotonic() - before < 33
    assert json.loads(lab.records[0])["tags"] == ["_no_name"]


def test_it_wakes_up_by_itself_when_it_is_too_late_for_answers(lab: Lab, slow_names: NameServer) -> None:
    lab.append("slow.log", "1.2.3.4\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read == 1, seconds=0)
    lab.clock.advance(1e6 - 0.01)
    started = time.monotonic()
    lab.running.loop.step(reading=False, wait=LONG)
    assert time.monotonic() - started < LONG / 2


def test_one_step_decompresses_a_bounded_part_of_what_was_read_and_other_files_continue(lab: Lab) -> None:
    packed = base64.b64encode(gzip.compress(b"x" * 1024**2)).decode()
    field = OneFieldConfig(source="message")
    lab.input["processors"] = (DecodeBase64FieldConfig(source=field), DecompressGzipFieldConfig(source=field))
    lab.append("other.log", "no base64\n")
    lab.start()
    lab.expect_lines("other.log", "no base64")
    lab.append("packed.log", f"{packed}\n" * 150)
    lab.wait_until(lambda: lab.running.metrics.events_read == 151)  # in two reads
    arrived = [len(lab.records)]
    assert arrived[-1] < 100
    lab.append("other.log", "nor is this\n")
    while len(lab.records) < 152:
        lab.step(seconds=0.005)
        arrived.append(len(lab.records))
    assert max(after - before for before, after in pairwise(arrived)) <= 2 * PIECE_BYTES // 1024**2
    messages = [json.loads(record)["message"] for record in lab.records]
    assert messages.index("nor is this") < 151
    assert messages.count("x" * 1024**2) == 150
    lab.wait_until(lambda: position(lab, "packed.log") == 150 * (len(packed) + 1))


def position(lab: Lab, name: str) -> int:
    inode = lab.inode(name)
    return next(each.state.position for each in lab.crawler.running.values() if each.state.inode == inode)
