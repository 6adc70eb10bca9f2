from log_shipper.shipper.event import BATCH_OVERHEAD, EVENT_OVERHEAD
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import batch


def test_batches_come_out_in_order_and_a_returned_one_comes_first() -> None:
    queue = MemoryQueue(10, 10_000)
    first, second = batch(["a"]), batch(["b"])
    queue.put(first)
    queue.put(second)
    taken = queue.get()
    assert taken is first
    queue.return_to_front(taken)
    assert [queue.get(), queue.get(), queue.get()] == [first, second, None]


def test_a_batch_takes_room_until_it_is_released_not_until_it_is_taken() -> None:
    queue = MemoryQueue(2, 10_000)
    queue.put(batch(["a", "b"]))
    taken = queue.get()
    assert taken is not None
    assert queue.empty
    assert not queue.has_room
    queue.remove(taken)
    assert queue.has_room
    assert (queue.events, queue.bytes) == (0, 0)


def test_bytes_bound_it_too_and_an_event_costs_more_than_its_text() -> None:
    queue = MemoryQueue(1000, BATCH_OVERHEAD + 3 * EVENT_OVERHEAD)
    queue.put(batch(["a", "b", "c"]))
    assert not queue.has_room


def test_a_batch_takes_room_however_few_events_it_has() -> None:
    queue = MemoryQueue(1000, 2 * (BATCH_OVERHEAD + EVENT_OVERHEAD))
    queue.put(batch(["a"]))
    assert queue.has_room
    queue.put(batch(["b"]))
    assert not queue.has_room


def test_its_text_tells_its_state() -> None:
    queue = MemoryQueue(5, 10_000)
    queue.put(batch(["a"]))
    assert repr(queue) == f"<MemoryQueue events=1/5 bytes={2 + EVENT_OVERHEAD + BATCH_OVERHEAD}/10000>"
