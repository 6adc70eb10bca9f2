"""The queue keeps order and its bounds, whatever is put, taken, given back and released."""

import random

from log_shipper.shipper.event import EVENT_OVERHEAD, Batch
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import batch
from tests.model.seeds import for_each_seed


@for_each_seed(100)
def test_order_is_kept_and_the_bound_is_passed_by_one_batch_at_most(seed: int) -> None:
    dice = random.Random(seed)
    queue = MemoryQueue(dice.randrange(1, 40), dice.randrange(1, 40) * EVENT_OVERHEAD)
    waiting: list[Batch] = []
    taken: list[Batch] = []
    largest = 20
    for number in range(300):
        action = dice.random()
        if action < 0.5 and queue.has_room:
            made = batch([f"{number}"] * dice.randrange(largest))
            queue.put(made)
            waiting.append(made)
        elif action < 0.75:
            got = queue.get()
            assert got is (waiting.pop(0) if waiting else None)
            if got is not None and dice.random() < 0.3:
                queue.return_to_front(got)
                waiting.insert(0, got)
            elif got is not None:
                taken.append(got)
        elif taken:
            queue.remove(taken.pop(dice.randrange(len(taken))))
        batches = waiting + taken
        assert queue.events == sum(batch.events for batch in batches) < queue.max_events + largest
        assert queue.bytes == sum(batch.cost for batch in batches)
        assert queue.has_room == (queue.events < queue.max_events and queue.bytes < queue.max_bytes)
        assert queue.empty == (not waiting)
