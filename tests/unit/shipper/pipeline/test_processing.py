"""Batches that wait for an answer: order, room, and which files wait for which."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from log_shipper.shipper.event import BATCH_OVERHEAD, EVENT_OVERHEAD, Batch, Growth, Part, Process
from log_shipper.shipper.pipeline.pieces import PIECE_BYTES
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import batch, source


@dataclass
class Open:
    """A part that the test finishes by `answered`."""

    batch: Batch
    keeps_order: bool = True
    due: float = 5.0
    done: bool = False
    answered: bool = False
    split_off: list[Part] = field(default_factory=list)

    def resume(self) -> Sequence[Part]:
        self.done = self.answered
        split_off, self.split_off = self.split_off, []
        return split_off


def waiting(texts: Sequence[str], file_id: str, *parts: Part | Callable[[Batch], Part]) -> Batch:
    """Return a batch that processing turns into these parts, or finishes at once without any."""

    def process(made: Batch) -> Sequence[Part] | None:
        return [part(made) if callable(part) else part for part in parts] or None

    return of(process, texts, file_id)


Work = Callable[[Batch], Sequence[Part] | None]


@dataclass(frozen=True)
class Works:
    """A `Process` that does what the test says."""

    work: Work
    growth: Growth = field(default_factory=Growth)

    def __call__(self, batch: Batch) -> Sequence[Part] | None:
        return self.work(batch)


def of(work: Work | None, texts: Sequence[str], file_id: str = "f1") -> Batch:
    return by(None if work is None else Works(work), texts, file_id)


def by(process: Process | None, texts: Sequence[str], file_id: str = "f1") -> Batch:
    made = batch(texts, file_id)
    where = source(file_id)
    object.__setattr__(where, "process", process)
    made.source = where
    return made


def texts(queue: MemoryQueue) -> list[list[str]]:
    return [each.messages.texts for each in iter(queue.get, None)]


def test_a_batch_that_nothing_works_on_goes_straight_to_the_queue() -> None:
    queue = MemoryQueue(10, 10_000)
    processing = Processing(queue)
    processing.put(of(None, ["a"]))
    assert texts(queue) == [["a"]]
    assert processing.empty


def test_a_batch_of_which_nothing_is_left_is_resolved_and_takes_no_room() -> None:
    queue, resolved = MemoryQueue(10, 10_000), []
    made = batch([], resolve=lambda: resolved.append("yes"))
    Processing(queue).put(made)
    assert resolved == ["yes"]
    assert queue.empty


def test_an_event_is_published_once_its_batch_is_finished_without_dropping_it() -> None:
    processing = Processing(MemoryQueue(10, 10_000))
    slow = Open(batch(["a", "b"]))
    processing.put(waiting(["a", "b"], "f1", slow))
    assert processing.published == 0
    slow.batch.messages.select([1])
    slow.answered = True
    processing.step()
    assert processing.published == 1


def test_later_batches_of_the_file_wait_in_line_and_other_files_continue() -> None:
    queue = MemoryQueue(10, 10_000)
    processing = Processing(queue)
    first, second = batch(["a"]), batch(["b"])
    slow, quick = Open(first), Open(second)
    processing.put(waiting(["a"], "f1", slow))
    processing.put(waiting(["b"], "f1", quick))
    processing.put(waiting(["c"], "f1"))
    processing.put(waiting(["x"], "f2"))
    assert texts(queue) == [["x"]]
    quick.answered = True
    processing.step()
    assert texts(queue) == []
    slow.answered = True
    processing.step()
    assert texts(queue) == [["a"], ["b"], ["c"]]
    assert processing.empty


def test_with_free_order_nothing_waits_in_line() -> None:
    queue = MemoryQueue(10, 10_000)
    processing = Processing(queue)
    slow = Open(batch(["a"]), keeps_order=False)
    processing.put(waiting(["a", "b"], "f1", slow, Open(batch(["b"]), keeps_order=False, done=True)))
    processing.put(waiting(["c"], "f1"))
    assert texts(queue) == [["b"], ["c"]]
    assert not processing.empty
    slow.answered = True
    processing.step()
    assert texts(queue) == [["a"]]
    assert processing.empty


def test_what_is_split_off_later_continues_by_itself() -> None:
    queue = MemoryQueue(10, 100_000)
    processing = Processing(queue)
    slow = Open(batch(["a"]), keeps_order=False)
    other = Open(batch(["b"]), keeps_order=False)
    processing.put(waiting(["a", "b", "c"], "f1", slow))
    slow.split_off = [other, Open(batch(["c"]), keeps_order=False, done=True)]
    processing.step()
    assert texts(queue) == [["c"]]
    other.answered = True
    processing.step()
    assert texts(queue) == [["b"]]
    slow.answered = True
    processing.step()
    assert texts(queue) == [["a"]]
    assert queue.events == 3


def test_what_waits_takes_room_as_it_is_now() -> None:
    queue = MemoryQueue(3, 100_000)
    processing = Processing(queue)
    made = batch(["a", "b", "c"])
    slow = Open(made)
    processing.put(waiting(["a", "b", "c"], "f1", lambda same: use(slow, same)))
    assert (queue.events, queue.has_room) == (3, False)
    slow.batch.messages.select([0])
    slow.answered = True
    processing.step()
    assert queue.events == 1
    taken = queue.get()
    assert taken is not None
    queue.remove(taken)
    assert (queue.events, queue.bytes) == (0, 0)


def use(part: Open, made: Batch) -> Open:
    part.batch = made
    return part


def test_a_part_that_has_become_smaller_takes_less_room() -> None:
    queue = MemoryQueue(10, 100_000)
    processing = Processing(queue)
    slow = Open(batch(["a", "b"]), keeps_order=False)
    processing.put(waiting(["a", "b"], "f1", slow))
    slow.batch, slow.split_off = batch(["a"]), [Open(batch(["b"]), keeps_order=False, done=True)]
    processing.step()
    assert (queue.events, queue.bytes) == (2, 4 + 2 * (EVENT_OVERHEAD + BATCH_OVERHEAD))


def test_it_tells_when_it_is_due() -> None:
    processing = Processing(MemoryQueue(10, 10_000))
    assert processing.next_step == float("inf")
    processing.put(waiting(["a"], "f1", Open(batch(["a"]), due=7.0)))
    processing.put(waiting(["b"], "f1"))
    processing.put(waiting(["c"], "f2", Open(batch(["c"]), due=6.0, keeps_order=False)))
    assert processing.next_step == 6.0


@pytest.mark.parametrize(
    ("waits", "asked_for", "expected"),
    [
        ({}, "f1", True),
        ({"f1": 1}, "f1", True),
        ({"f1": 2}, "f1", False),
        ({"f1": 2}, "f2", True),
        ({"f1": 2, "f2": 1}, "f2", True),
        ({"f1": 4, "f2": 4}, "f3", False),
        ({"f1": 4, "f2": 4}, "plain", True),
    ],
)
def test_what_waits_may_not_take_the_whole_queue(waits: dict[str, int], asked_for: str, expected: bool) -> None:
    processing = Processing(MemoryQueue(16, 1_000_000))
    works = Works(process)
    sources = {file_id: by(works, [], file_id).source for file_id in ("f1", "f2", "f3")}
    sources["plain"] = of(None, []).source
    for file_id, events in waits.items():
        made = batch(["x"] * events)
        made.source = sources[file_id]
        processing.put(made)
    assert processing.takes_more(sources[asked_for]) is expected


def process(made: Batch) -> Sequence[Part]:
    return [Open(made)]


def test_what_has_continued_reserves_nothing() -> None:
    processing = Processing(MemoryQueue(1, 1_000_000))
    made = of(process, ["a"])
    processing.put(made)
    assert not processing.takes_more(made.source)
    (parked,) = processing._lines["f1"]
    assert isinstance(parked.part, Open)
    parked.part.answered = True
    processing.put(of(process, ["b"], "f2"))  # so that it is not empty
    processing.step()
    assert made.source not in processing._events


HUGE = PIECE_BYTES  # of each event's text


def makes_huge(made: Batch) -> None:
    made.messages.texts = [text[0] * HUGE for text in made.messages.texts]


def may_become_huge(texts: Sequence[str], file_id: str = "f1") -> Batch:
    return by(Works(makes_huge, Growth(HUGE, 2 * HUGE)), texts, file_id)


def starts(queue: MemoryQueue) -> list[str]:
    """Of all texts that can be taken out of the queue now: as if the output had room, and acknowledged nothing."""
    return [text[:2] for run in texts(queue) for text in run]


def test_what_may_become_much_is_worked_on_as_the_queue_has_room() -> None:
    queue = MemoryQueue(1000, 3 * HUGE)
    processing = Processing(queue)
    processing.put(may_become_huge(["a", "b", "c", "d", "e"]))
    assert (queue.empty, processing.empty, processing.next_step) == (True, False, 0.0)
    taken = []
    for count in (1, 2, 3, 3):
        processing.step()
        taken += list(iter(queue.get, None))
        assert [each.messages.texts[0][0] for each in taken] == ["a", "b", "c"][:count]
        assert queue.bytes < count * (HUGE + 20_000)
    assert (processing.empty, processing.next_step) == (False, float("inf"))
    queue.remove(taken[0])
    assert processing.next_step == 0.0
    processing.step()
    assert starts(queue) == ["dd"]
    for each in taken[1:]:
        queue.remove(each)
    processing.step()
    assert starts(queue) == ["ee"]
    assert processing.empty


def test_pieces_are_begun_with_also_in_a_queue_that_is_smaller_than_a_batch() -> None:
    queue = MemoryQueue(1, 1)
    processing = Processing(queue)
    processing.put(may_become_huge(["a", "b", "c"]))
    assert not queue.has_room
    for text in ("aa", "bb", "cc"):
        processing.step()
        taken = queue.get()
        assert taken is not None
        assert taken.messages.texts[0][:2] == text
        processing.step()
        assert queue.get() is None
        queue.remove(taken)
    assert (processing.empty, queue.events, queue.bytes) == (True, 0, 0)


def test_later_batches_of_a_file_stand_behind_its_pieces_and_files_take_turns() -> None:
    queue = MemoryQueue(1000, 100 * HUGE)
    processing = Processing(queue)
    first, other = may_become_huge(["a", "b"]), may_become_huge(["x", "y"], "f2")
    processing.put(first)
    processing.put(may_become_huge(["c"]))
    processing.put(other)
    processing.put(may_become_huge(["z"], "f3"))
    assert starts(queue) == ["zz"]
    order = []
    while not processing.empty:
        assert not (processing.takes_more(first.source) and processing.takes_more(other.source))
        processing.step()
        order += starts(queue)
    assert order == ["aa", "xx", "bb", "yy", "cc"]
    assert processing.takes_more(first.source)


def test_pieces_may_wait_for_answers_too() -> None:
    queue = MemoryQueue(1000, 100 * HUGE)
    processing = Processing(queue)
    parts: list[Open] = []

    def asks(made: Batch) -> Sequence[Part]:
        parts.append(Open(made))
        return [parts[-1]]

    processing.put(by(Works(asks, Growth(HUGE, HUGE)), ["a", "b"]))
    processing.step()
    assert len(parts) == 2
    parts[1].answered = True
    processing.step()
    assert texts(queue) == []
    parts[0].answered = True
    processing.step()
    assert texts(queue) == [["a"], ["b"]]
    assert processing.empty


def test_what_processors_do_not_make_larger_is_one_piece_whatever_its_size() -> None:
    queue = MemoryQueue(10, 10_000)
    Processing(queue).put(by(Works(lambda made: None), ["a" * PIECE_BYTES, "b"]))
    assert [len(run) for run in texts(queue)] == [2]
