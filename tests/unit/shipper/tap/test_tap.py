"""A tap sees a sample of what is sent, and changes nothing."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import TooManyTaps
from log_shipper.shipper.event import Batch
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.base import Sample
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.tap.tap import (
    ABANDONED,
    BYTES_A_SECOND,
    MAX_TAPS,
    QUEUE_BYTES,
    QUEUE_EVENTS,
    Subscription,
    Tap,
    Wanted,
)
from tests.builders import batch, encoder, source
from tests.fakes import ManualClock, MemoryOutput

ALL = Wanted([])


class NoLetters:
    place = "nowhere"

    def write(self, batch: Batch, rejected: object) -> None:
        raise AssertionError


@dataclass
class Desk:
    """A publisher with its output, and a tap that looks on."""

    clock: ManualClock
    queue: MemoryQueue = field(default_factory=lambda: MemoryQueue(10**9, 10**12))
    encoded: int = 0  # events that the tap has encoded

    def __post_init__(self) -> None:
        self.publisher = Publisher(self.queue, NoLetters(), Metrics(), self.clock)
        self.output = MemoryOutput(encoder(), self.publisher)
        self.tap = Tap(self.publisher, lambda: self.records, self.clock, Random(1))

    def records(self, batch: Batch) -> list[Sample]:
        self.encoded += batch.events
        return [Sample(batch.source.path, "t", "k", (), value) for value in Encoder(2**31).encode(batch)]

    def send(self, *texts: str) -> Batch:
        made = batch(texts, time=self.clock.time())
        self.queue.put(made)
        self.publisher.step(self.output)
        return made


@pytest.fixture
def desk(clock: ManualClock) -> Desk:
    return Desk(clock)


def taken(subscription: Subscription) -> list[str]:
    samples = iter(lambda: subscription.take(0), None)
    return [json.loads(sample.value)["message"] for sample in samples if sample is not None]


def test_while_no_one_taps_the_publisher_has_no_observer(desk: Desk) -> None:
    assert desk.publisher.observer is None
    subscription = desk.tap.subscribe(ALL, 10)
    assert desk.publisher.observer is not None
    desk.tap.unsubscribe(subscription)
    desk.send("unseen")
    assert (desk.publisher.observer, desk.encoded) == (None, 0)


def test_all_events_are_seen_as_they_are_sent_while_they_are_few(desk: Desk) -> None:
    subscription = desk.tap.subscribe(ALL, 10)
    desk.send("one", "two")
    desk.send("three")
    desk.output.poll(0)
    samples = [subscription.take(0) for _ in range(3)]
    assert [sample.value for sample in samples if sample] == desk.output.records
    assert subscription.take(0) is None


def test_of_many_events_as_many_are_encoded_as_the_rate_allows(desk: Desk) -> None:
    subscription = desk.tap.subscribe(ALL, 10)
    for _ in range(100):
        desk.clock.advance(0.1)
        desk.send(*[f"line {number}" for number in range(500)])
    assert 100 <= desk.encoded <= 110  # ten seconds, and what a new tap may see at once
    messages = taken(subscription)
    assert len(messages) == desk.encoded
    assert len(set(messages)) > 50, "any event of a batch, not always the first"
    assert subscription.counts.matching == 50_000


def test_a_batch_that_the_output_has_no_room_for_is_seen_when_it_is_taken(desk: Desk) -> None:
    desk.output.room = 0
    subscription = desk.tap.subscribe(ALL, 10)
    desk.send("a")
    assert taken(subscription) == []
    desk.output.room = 1
    desk.publisher.step(desk.output)
    assert taken(subscription) == ["a"]


def test_a_reader_that_does_not_read_costs_a_bounded_queue_and_nothing_else(desk: Desk) -> None:
    subscription = desk.tap.subscribe(ALL, 100)
    for number in range(10):
        desk.clock.advance(1)
        desk.send(*[f"{number}"] * 200)
    desk.output.poll(0)
    assert len(desk.output.records) == 2000
    assert desk.encoded == QUEUE_EVENTS
    assert subscription.counts.dropped == 1000 - QUEUE_EVENTS
    assert len(taken(subscription)) == QUEUE_EVENTS


def test_large_events_are_not_encoded_beyond_a_megabyte_a_second(desk: Desk) -> None:
    subscription = desk.tap.subscribe(ALL, 100)
    large = "x" * (BYTES_A_SECOND // 2)
    for _ in range(10):
        desk.clock.advance(1)
        desk.send(*[large] * 20)
        assert len(taken(subscription)) <= 3
    assert desk.encoded <= 22
    assert subscription.counts.dropped == 200 - desk.encoded


def test_what_waits_for_a_reader_is_bounded_in_bytes(desk: Desk) -> None:
    subscription = desk.tap.subscribe(ALL, 10)
    quarter = "x" * (QUEUE_BYTES // 4)
    for _ in range(3):
        for _ in range(10):
            desk.clock.advance(2)
            desk.send(quarter)
        assert len(taken(subscription)) == 4
    assert subscription.counts.dropped == 18


def test_a_tap_leaves_the_batch_as_it_is(desk: Desk) -> None:
    desk.tap.subscribe(ALL, 10)
    desk.output.holding = True
    made = batch(["a", "b", "c"])
    made.messages.flags = {1: ("truncated",)}
    made.messages.documents()[2]["user"] = {"name": "u"}
    before = copy.deepcopy(made.messages)
    desk.queue.put(made)
    desk.publisher.step(desk.output)
    assert desk.encoded == 3
    assert made.messages == before


@pytest.mark.parametrize(
    ("targets", "is_included"),
    [
        ([], True),
        (["app"], True),
        (["audit"], False),
        (["/var/log/app.log"], True),
        (["/var/log/*.log"], True),
        (["/var/**/app.log"], True),
        (["/var/log/other.log", "app"], True),
        (["/var/log"], False),
        (["/var/log/[.log"], False),
        (["app.log"], False),
    ],
)
def test_inputs_are_chosen_by_id_and_files_by_path_or_glob(targets: list[str], is_included: bool) -> None:
    origin = source()
    assert (origin.input_id, origin.path) == ("app", "/var/log/app.log")
    assert Wanted(targets).includes(origin.input_id, origin.path) == is_included


def test_a_file_whose_name_is_like_a_glob_is_chosen_by_its_name() -> None:
    assert Wanted(["/var/log/a[1].log"]).includes("app", "/var/log/a[1].log")


def test_events_of_others_are_counted_and_not_shown(desk: Desk) -> None:
    subscription = desk.tap.subscribe(Wanted(["audit"]), 10)
    desk.send("a", "b")
    assert (subscription.counts.matching, subscription.counts.others, desk.encoded) == (0, 2, 0)


def test_more_taps_than_may_be_are_refused_in_words(desk: Desk) -> None:
    taps = [desk.tap.subscribe(ALL, 10) for _ in range(MAX_TAPS)]
    with pytest.raises(TooManyTaps, match="taps are open, which is the most"):
        desk.tap.subscribe(ALL, 10)
    desk.tap.unsubscribe(taps[0])
    desk.tap.subscribe(ALL, 10)


def test_a_tap_that_no_one_reads_any_more_makes_room_for_another(desk: Desk) -> None:
    abandoned = [desk.tap.subscribe(ALL, 10) for _ in range(MAX_TAPS)]
    desk.clock.advance(ABANDONED + 1)
    desk.tap.subscribe(ALL, 10)
    assert not any(subscription.is_open for subscription in abandoned)


def test_closing_ends_all_taps_and_refuses_others(desk: Desk) -> None:
    subscription = desk.tap.subscribe(ALL, 10)
    desk.tap.close()
    assert not subscription.is_open
    assert desk.publisher.observer is None
    with pytest.raises(TooManyTaps, match="tap ends with it; run it again"):
        desk.tap.subscribe(ALL, 10)


def test_what_makes_the_records_is_made_for_the_first_tap_only(clock: Clock) -> None:
    made: list[Callable[[Batch], list[Sample]]] = []

    def make() -> Callable[[Batch], list[Sample]]:
        made.append(lambda batch: [])
        return made[-1]

    publisher = Publisher(MemoryQueue(1, 1), NoLetters(), Metrics(), clock)
    tap = Tap(publisher, make, clock)
    assert made == []
    tap.subscribe(ALL, 1)
    tap.subscribe(ALL, 1)
    assert len(made) == 1
