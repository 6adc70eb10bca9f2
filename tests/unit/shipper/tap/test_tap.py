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
    EventFilter,
    Subscription,
    Tap,
)
from tests.builders import batch, encoder, source
from tests.fakes import ManualClock, MemoryOutput

ALL = EventFilter([])


class NoLetters:
    place = "nowhere"

    def write(self, batch: Batch, rejected: object) -> None:
        raise AssertionError


@dataclass
class TapLab:
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
def lab(clock: ManualClock) -> TapLab:
    return TapLab(clock)


def taken(subscription: Subscription) -> list[str]:
    samples = iter(lambda: subscription.next_sample(0), None)
    return [json.loads(sample.value)["message"] for sample in samples if sample is not None]


def test_while_no_one_taps_the_publisher_has_no_observer(lab: TapLab) -> None:
    assert lab.publisher.observer is None
    subscription = lab.tap.subscribe(ALL, 10)
    assert lab.publisher.observer is not None
    lab.tap.unsubscribe(subscription)
    lab.send("unseen")
    assert (lab.publisher.observer, lab.encoded) == (None, 0)


def test_all_events_are_seen_as_they_are_sent_while_they_are_few(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(ALL, 10)
    lab.send("one", "two")
    lab.send("three")
    lab.output.poll(0)
    samples = [subscription.next_sample(0) for _ in range(3)]
    assert [sample.value for sample in samples if sample] == lab.output.records
    assert subscription.next_sample(0) is None


def test_of_many_events_as_many_are_encoded_as_the_rate_allows(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(ALL, 10)
    for _ in range(100):
        lab.clock.advance(0.1)
        lab.send(*[f"line {number}" for number in range(500)])
    assert 100 <= lab.encoded <= 110  # ten seconds, and what a new tap may see at once
    messages = taken(subscription)
    assert len(messages) == lab.encoded
    assert len(set(messages)) > 50, "any event of a batch, not always the first"
    assert subscription.counts.matching == 50_000


def test_a_batch_that_the_output_has_no_room_for_is_seen_when_it_is_taken(lab: TapLab) -> None:
    lab.output.room = 0
    subscription = lab.tap.subscribe(ALL, 10)
    lab.send("a")
    assert taken(subscription) == []
    lab.output.room = 1
    lab.publisher.step(lab.output)
    assert taken(subscription) == ["a"]


def test_a_reader_that_does_not_read_costs_a_bounded_queue_and_nothing_else(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(ALL, 100)
    for number in range(10):
        lab.clock.advance(1)
        lab.send(*[f"{number}"] * 200)
    lab.output.poll(0)
    assert len(lab.output.records) == 2000
    assert lab.encoded == QUEUE_EVENTS
    assert subscription.counts.dropped == 1000 - QUEUE_EVENTS
    assert len(taken(subscription)) == QUEUE_EVENTS


def test_large_events_are_not_encoded_beyond_a_megabyte_a_second(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(ALL, 100)
    large = "x" * (BYTES_A_SECOND // 2)
    for _ in range(10):
        lab.clock.advance(1)
        lab.send(*[large] * 20)
        assert len(taken(subscription)) <= 3
    assert lab.encoded <= 22
    assert subscription.counts.dropped == 200 - lab.encoded


def test_what_waits_for_a_reader_is_bounded_in_bytes(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(ALL, 10)
    quarter = "x" * (QUEUE_BYTES // 4)
    for _ in range(3):
        for _ in range(10):
            lab.clock.advance(2)
            lab.send(quarter)
        assert len(taken(subscription)) == 4
    assert subscription.counts.dropped == 18


def test_a_tap_leaves_the_batch_as_it_is(lab: TapLab) -> None:
    lab.tap.subscribe(ALL, 10)
    lab.output.holding = True
    made = batch(["a", "b", "c"])
    made.messages.flags = {1: ("truncated",)}
    made.messages.documents()[2]["user"] = {"name": "u"}
    before = copy.deepcopy(made.messages)
    lab.queue.put(made)
    lab.publisher.step(lab.output)
    assert lab.encoded == 3
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
    assert EventFilter(targets).includes(origin.input_id, origin.path) == is_included


def test_a_file_whose_name_is_like_a_glob_is_chosen_by_its_name() -> None:
    assert EventFilter(["/var/log/a[1].log"]).includes("app", "/var/log/a[1].log")


def test_events_of_others_are_counted_and_not_shown(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(EventFilter(["audit"]), 10)
    lab.send("a", "b")
    assert (subscription.counts.matching, subscription.counts.others, lab.encoded) == (0, 2, 0)


def test_more_taps_than_may_be_are_refused_in_words(lab: TapLab) -> None:
    taps = [lab.tap.subscribe(ALL, 10) for _ in range(MAX_TAPS)]
    with pytest.raises(TooManyTaps, match="taps are in use; stop another"):
        lab.tap.subscribe(ALL, 10)
    lab.tap.unsubscribe(taps[0])
    lab.tap.subscribe(ALL, 10)


def test_a_tap_that_no_one_reads_any_more_makes_room_for_another(lab: TapLab) -> None:
    abandoned = [lab.tap.subscribe(ALL, 10) for _ in range(MAX_TAPS)]
    lab.clock.advance(ABANDONED + 1)
    lab.tap.subscribe(ALL, 10)
    assert not any(subscription.is_open for subscription in abandoned)


def test_closing_ends_all_taps_and_refuses_others(lab: TapLab) -> None:
    subscription = lab.tap.subscribe(ALL, 10)
    lab.tap.close()
    assert not subscription.is_open
    assert lab.publisher.observer is None
    with pytest.raises(TooManyTaps, match="run tap again"):
        lab.tap.subscribe(ALL, 10)


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
