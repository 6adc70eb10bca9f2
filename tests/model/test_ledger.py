"""The ledger against the plainest model of it: a list of batches, each with its end and whether it is resolved."""

import random
from collections.abc import Callable

from log_shipper.shipper.pipeline.acks import Ledger
from tests.model.seeds import for_each_seed


class NaiveLedger:
    def __init__(self, position: int) -> None:
        self._start = position
        self._batches: list[list[int]] = []

    def track(self, end: int) -> int:
        self._batches.append([end, False])
        return len(self._batches) - 1

    def resolve(self, index: int) -> None:
        self._batches[index][1] = True

    @property
    def position(self) -> int:
        position = self._start
        for end, resolved in self._batches:
            if not resolved:
                return position
            position = end
        return position

    @property
    def open_batches(self) -> int:
        return sum(not resolved for _, resolved in self._batches)


@for_each_seed(200)
def test_the_position_is_the_end_of_the_longest_resolved_prefix(seed: int) -> None:
    dice = random.Random(seed)
    start = dice.choice([0, 1000])
    advances: list[int] = []
    ledger, naive = Ledger(start, advances.append), NaiveLedger(start)
    pending: list[tuple[Callable[[], None], int]] = []
    end = start
    for _ in range(dice.randrange(1, 120)):
        if not pending or dice.random() < 0.5:
            end += dice.choice([0, 1, 10, 500])
            pending.append((ledger.track(end), naive.track(end)))
        else:
            resolve, index = dice.choice(pending)  # perhaps for the second time
            resolve()
            naive.resolve(index)
        assert (ledger.position, ledger.open_batches) == (naive.position, naive.open_batches), repr(ledger)
    assert advances == sorted(set(advances))
    for resolve, _ in dice.sample(pending, len(pending)):
        resolve()
    assert (ledger.position, ledger.tracked, ledger.open_batches) == (end, end, 0)
