"""The positions of a transaction: known before it is committed, and moved after that."""

from registry import form
from registry.state import FileState
from shipper.event import together
from shipper.pipeline.acks import Ledger
from shipper.source.reading.staging import Staging
from tests.builders import batch


def state_at(position: int) -> FileState:
    return FileState("f1", "/var/log/app.log", 1, 2, position=position)


class File:
    """A ledger of a file whose state is its position."""

    def __init__(self, staging: Staging) -> None:
        self.advances: list[int] = []
        self.staging = staging
        self.ledger = Ledger(0, self.advances.append, staging.of(state_at))

    def prepare(self, *resolved: int) -> list[int]:
        """Stage batches of ten bytes each, of these numbers; return the positions that are to be committed."""
        entries = self.staging.prepare(batch([], resolve=self.resolves[number]) for number in resolved)
        return [form.read_entry(entry).position for entry in entries.values()]

    def track(self, batches: int) -> None:
        self.resolves = [self.ledger.track(end) for end in range(10, 10 * batches + 1, 10)]


def test_a_position_is_known_before_it_moves() -> None:
    file = File(Staging())
    file.track(3)
    assert file.prepare(0, 1) == [20]
    assert (file.ledger.position, file.ledger.open_batches, file.advances) == (0, 3, [])
    file.staging.commit()
    assert (file.ledger.position, file.ledger.open_batches, file.advances) == (20, 1, [10, 20])


def test_what_is_staged_behind_an_open_batch_does_not_count() -> None:
    file = File(Staging())
    file.track(3)
    assert file.prepare(0, 2) == [10]


def test_an_empty_batch_behind_a_staged_one_moves_with_it() -> None:
    file = File(Staging())
    file.track(2)
    file.prepare(0)
    file.resolves[1]()  # nothing of it is sent
    assert file.ledger.position == 0
    file.staging.commit()
    assert file.ledger.position == 20


def test_a_batch_is_staged_with_the_last_of_its_parts() -> None:
    file = File(Staging())
    file.track(1)
    file.resolves = together(file.resolves[0], 2)
    assert file.prepare(0) == []
    assert file.prepare(1) == [10]


def test_without_a_transaction_a_resolved_batch_moves_the_position_at_once() -> None:
    file = File(Staging())
    file.track(1)
    file.resolves[0]()
    assert file.ledger.position == 10
