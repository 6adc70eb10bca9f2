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


class Desk:
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
def desk(tmp_path: Path, clock: ManualClock) -> Desk:
    return Desk(tmp_path, clock)


def test_a_delivered_batch_is_resolved_and_its_room_is_free(desk: Desk) -> None:
    desk.put("a", "b")
    desk.step()
    assert desk.arrived == ["a", "b"]
    assert (desk.ledger.position, desk.queue.events) == (4, 0)
    assert (desk.metrics.events_acked, desk.metrics.bytes_acked) == (2, 4)


def test_the_time_from_the_hand_over_to_the_acknowledgement_is_measured(desk: Desk) -> None:
    desk.output.holding = True
    desk.put("a")
    desk.step()
    desk.clock.advance(3)
    desk.output.arrive()
    desk.output.acknowledge()
    distribution = desk.publisher.latency.distribution()
    assert (distribution.count, distribution.total) == (1, 3)


def test_before_the_acknowledgement_nothing_is_resolved(desk: Desk) -> None:
    desk.output.holding = True
    desk.put("a")
    desk.step()
    desk.output.arrive()
    assert (desk.ledger.position, desk.queue.events, desk.metrics.events_acked) == (0, 1, 0)
    desk.output.acknowledge()
    assert desk.ledger.position == 2


def test_acknowledgements_in_any_order_move_the_position_in_order(desk: Desk) -> None:
    desk.output.holding = True
    desk.put("a")
    desk.put("b")
    desk.step()
    desk.output.arrive()
    desk.output.acknowledge([1])
    assert desk.ledger.position == 0
    desk.output.acknowledge()
    assert desk.ledger.position == 4


def test_a_batch_without_events_is_resolved_without_the_output(desk: Desk) -> None:
    made = batch([])
    made.messages.end = 3
    made.resolve = desk.ledger.track(3)
    desk.queue.put(made)
    desk.output.room = 0
    desk.step()
    assert desk.ledger.position == 3


def test_a_batch_that_the_output_has_no_room_for_is_offered_again(desk: Desk) -> None:
    desk.output.room = 1
    desk.output.holding = True
    for text in "abc":
        desk.put(text)
    desk.step()
    desk.output.holding = False
    for _ in range(3):
        desk.step()
    assert desk.arrived == ["a", "b", "c"]


def test_a_rejected_event_is_in_the_dead_letter_before_it_is_resolved(desk: Desk) -> None:
    desk.output.refuse = lambda text: "too large" if text == "bad" else None
    made = desk.put("good", "bad")
    letters = desk.directory / "dead.ndjson"
    resolve = made.resolve
    seen: list[str] = []

    def look_and_resolve() -> None:
        seen.append(letters.read_text())
        resolve()

    made.resolve = look_and_resolve
    desk.step()
    assert [json.loads(text)["message"] for text in seen] == ["bad"]
    assert desk.arrived == ["good"]
    assert desk.ledger.position == made.messages.end
    assert (desk.metrics.events_acked, desk.metrics.events_dead_lettered) == (1, 1)


def test_while_the_dead_letter_cannot_be_written_nothing_is_resolved(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.output.refuse = lambda text: "too large" if text == "bad" else None
    desk.directory.rmdir()
    desk.put("bad")
    desk.put("next")
    desk.step()
    assert (desk.ledger.position, desk.metrics.events_dead_lettered) == (0, 0)
    assert desk.publisher.letters_waiting == 1
    assert "No such file or directory" in caplog.text
    desk.directory.mkdir()
    desk.step()
    assert desk.ledger.position == 0
    desk.clock.advance(RETRY_INTERVAL)
    desk.step()
    assert (desk.ledger.position, desk.metrics.events_dead_lettered, desk.queue.events) == (9, 1, 0)
    assert (desk.publisher.letters_waiting, [row.count for row in desk.publisher.letters.rows()]) == (0, [1])


def test_a_disk_that_refuses_dead_letters_is_not_asked_for_each_of_them(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.output.refuse = lambda text: "too large"
    desk.directory.rmdir()
    for _ in range(20):
        desk.put("bad")
        desk.step()
    assert len(caplog.records) == 1
    desk.directory.mkdir()
    desk.clock.advance(RETRY_INTERVAL)
    desk.step()
    assert desk.metrics.events_dead_lettered == 20
    assert desk.ledger.position == desk.ledger.tracked


class SlowLetters:
    """Takes 0.1 s for the letters of a batch, as a broker may."""

    place = "a topic"

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        self._clock.advance(0.1)


def test_a_step_ends_soon_though_letters_are_slow_to_save_and_the_next_one_continues(desk: Desk) -> None:
    desk.publisher = Publisher(desk.queue, SlowLetters(desk.clock), desk.metrics, desk.clock)
    desk.output = MemoryOutput(encoder(), desk.publisher)
    desk.output.refuse = lambda text: "too large"
    for _ in range(20):
        desk.put("bad")
    assert desk.publisher.next_step == float("inf")
    before = desk.clock.monotonic()
    desk.step()
    assert 0 < desk.metrics.events_dead_lettered < 20
    assert desk.clock.monotonic() - before <= MAX_SAVING_SECONDS + 0.1
    assert desk.publisher.next_step <= desk.clock.monotonic()
    for _ in range(10):
        desk.step()
    assert desk.metrics.events_dead_lettered == 20
    assert desk.ledger.position == desk.ledger.tracked


def test_letters_of_a_transaction_that_are_slow_to_save_are_asked_for_again(desk: Desk) -> None:
    publisher = Publisher(desk.queue, SlowLetters(desk.clock), desk.metrics, desk.clock)
    publisher.step(desk.output)
    rejected = [Rejection(0, "too large", "logs")]
    assert publisher.save_rejected(desk.put("bad"), rejected)
    desk.clock.advance(MAX_SAVING_SECONDS)
    second = desk.put("bad")
    assert not publisher.save_rejected(second, rejected)
    assert publisher.letters_waiting == 1
    desk.queue.get()
    desk.queue.get()
    publisher.step(desk.output)
    assert publisher.save_rejected(second, rejected)
    assert publisher.letters_waiting == 0
