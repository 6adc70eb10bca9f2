import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.acks import Ledger
from log_shipper.shipper.pipeline.dead_letter import DeadLetterFile
from log_shipper.shipper.pipeline.publisher import MAX_SAVING_SECONDS, RETRY_INTERVAL, Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import batch, encoder
from tests.fakes import ManualClock, MemoryOutput


class PublisherLab:
    """A publisher between a queue and an output, and one file's ledger behind it."""

    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.directory = directory / "data"
        self.directory.mkdir()
        self.clock = clock
        self.metrics = Metrics()
        self.queue = MemoryQueue(1000, 1_000_000)
        self.ledger = Ledger(0)
        self.publisher = Publisher(
            self.queue, DeadLetterFile(self.directory / "dead.ndjson", clock), self.metrics, clock
        )
        self.output = MemoryOutput(encoder(), self.publisher)

    def put(self, *texts: str) -> Batch:
        made = batch(texts, start=self.ledger.tracked)
        made.resolve = self.ledger.track(made.messages.end)
        self.queue.put(made)
        return made

    def step(self) -> None:
        self.publisher.step(self.output)
        self.output.poll(0)

    @property
    def arrived(self) -> list[str]:
        return [json.loads(record)["message"] for record in self.output.records]


@pytest.fixture
def lab(tmp_path: Path, clock: ManualClock) -> PublisherLab:
    return PublisherLab(tmp_path, clock)


def test_a_delivered_batch_is_resolved_and_its_room_is_free(lab: PublisherLab) -> None:
    lab.put("a", "b")
    lab.step()
    assert lab.arrived == ["a", "b"]
    assert (lab.ledger.position, lab.queue.events) == (4, 0)
    assert (lab.metrics.events_acked, lab.metrics.bytes_acked) == (2, 4)


def test_the_time_from_the_hand_over_to_the_acknowledgement_is_measured(lab: PublisherLab) -> None:
    lab.output.holding = True
    lab.put("a")
    lab.step()
    lab.clock.advance(3)
    lab.output.arrive()
    lab.output.acknowledge()
    distribution = lab.publisher.latency.distribution()
    assert (distribution.count, distribution.total) == (1, 3)


def test_before_the_acknowledgement_nothing_is_resolved(lab: PublisherLab) -> None:
    lab.output.holding = True
    lab.put("a")
    lab.step()
    lab.output.arrive()
    assert (lab.ledger.position, lab.queue.events, lab.metrics.events_acked) == (0, 1, 0)
    lab.output.acknowledge()
    assert lab.ledger.position == 2


def test_acknowledgements_in_any_order_move_the_position_in_order(lab: PublisherLab) -> None:
    lab.output.holding = True
    lab.put("a")
    lab.put("b")
    lab.step()
    lab.output.arrive()
    lab.output.acknowledge([1])
    assert lab.ledger.position == 0
    lab.output.acknowledge()
    assert lab.ledger.position == 4


def test_a_batch_without_events_is_resolved_without_the_output(lab: PublisherLab) -> None:
    made = batch([])
    made.messages.end = 3
    made.resolve = lab.ledger.track(3)
    lab.queue.put(made)
    lab.output.room = 0
    lab.step()
    assert lab.ledger.position == 3


def test_a_batch_that_the_output_has_no_room_for_is_offered_again(lab: PublisherLab) -> None:
    lab.output.room = 1
    lab.output.holding = True
    for text in "abc":
        lab.put(text)
    lab.step()
    lab.output.holding = False
    for _ in range(3):
        lab.step()
    assert lab.arrived == ["a", "b", "c"]


def test_a_rejected_event_is_in_the_dead_letter_before_it_is_resolved(lab: PublisherLab) -> None:
    lab.output.refuse = lambda text: "too large" if text == "bad" else None
    made = lab.put("good", "bad")
    letters = lab.directory / "dead.ndjson"
    resolve = made.resolve
    seen: list[str] = []

    def look_and_resolve() -> None:
        seen.append(letters.read_text())
        resolve()

    made.resolve = look_and_resolve
    lab.step()
    assert [json.loads(text)["message"] for text in seen] == ["bad"]
    assert lab.arrived == ["good"]
    assert lab.ledger.position == made.messages.end
    assert (lab.metrics.events_acked, lab.metrics.events_dead_lettered) == (1, 1)


def test_while_the_dead_letter_cannot_be_written_nothing_is_resolved(
    lab: PublisherLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.output.refuse = lambda text: "too large" if text == "bad" else None
    lab.directory.rmdir()
    lab.put("bad")
    lab.put("next")
    lab.step()
    assert (lab.ledger.position, lab.metrics.events_dead_lettered) == (0, 0)
    assert lab.publisher.letters_waiting == 1
    assert "No such file or directory" in caplog.text
    lab.directory.mkdir()
    lab.step()
    assert lab.ledger.position == 0
    lab.clock.advance(RETRY_INTERVAL)
    lab.step()
    assert (lab.ledger.position, lab.metrics.events_dead_lettered, lab.queue.events) == (9, 1, 0)
    assert (lab.publisher.letters_waiting, [row.count for row in lab.publisher.letters.rows()]) == (0, [1])


def test_a_disk_that_refuses_dead_letters_is_not_asked_for_each_of_them(
    lab: PublisherLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.output.refuse = lambda text: "too large"
    lab.directory.rmdir()
    for _ in range(20):
        lab.put("bad")
        lab.step()
    assert len(caplog.records) == 1
    lab.directory.mkdir()
    lab.clock.advance(RETRY_INTERVAL)
    lab.step()
    assert lab.metrics.events_dead_lettered == 20
    assert lab.ledger.position == lab.ledger.tracked


class SlowLetters:
    """Takes 0.1 s for the letters of a batch, as a broker may."""

    place = "a topic"

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        self._clock.advance(0.1)


def test_a_step_ends_soon_though_letters_are_slow_to_save_and_the_next_one_continues(lab: PublisherLab) -> None:
    lab.publisher = Publisher(lab.queue, SlowLetters(lab.clock), lab.metrics, lab.clock)
    lab.output = MemoryOutput(encoder(), lab.publisher)
    lab.output.refuse = lambda text: "too large"
    for _ in range(20):
        lab.put("bad")
    assert lab.publisher.next_step == float("inf")
    before = lab.clock.monotonic()
    lab.step()
    assert 0 < lab.metrics.events_dead_lettered < 20
    assert lab.clock.monotonic() - before <= MAX_SAVING_SECONDS + 0.1
    assert lab.publisher.next_step <= lab.clock.monotonic()
    for _ in range(10):
        lab.step()
    assert lab.metrics.events_dead_lettered == 20
    assert lab.ledger.position == lab.ledger.tracked


def test_letters_of_a_transaction_that_are_slow_to_save_are_asked_for_again(lab: PublisherLab) -> None:
    publisher = Publisher(lab.queue, SlowLetters(lab.clock), lab.metrics, lab.clock)
    publisher.step(lab.output)
    rejected = [Rejection(0, "too large", "logs")]
    assert publisher.save_rejected(lab.put("bad"), rejected)
    lab.clock.advance(MAX_SAVING_SECONDS)
    second = lab.put("bad")
    assert not publisher.save_rejected(second, rejected)
    assert publisher.letters_waiting == 1
    lab.queue.get()
    lab.queue.get()
    publisher.step(lab.output)
    assert publisher.save_rejected(second, rejected)
    assert publisher.letters_waiting == 0


def test_letters_of_a_batch_that_is_given_up_do_not_wait(lab: PublisherLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.publisher.step(lab.output)
    lab.directory.rmdir()
    given_up = lab.put("bad")
    lab.queue.get()
    assert not lab.publisher.save_rejected(given_up, [Rejection(0, "too large", "logs")])
    assert lab.publisher.letters_waiting == 1
    assert "cannot save rejected events to" in caplog.text
    lab.publisher.given_up(given_up)
    assert (lab.publisher.letters_waiting, lab.ledger.position) == (0, 4)
