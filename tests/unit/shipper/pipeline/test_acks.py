import pytest

from log_shipper.shipper.pipeline.acks import Ledger


def test_the_position_moves_when_the_first_batch_is_resolved() -> None:
    ledger = Ledger(100)
    first, second = ledger.track(200), ledger.track(300)
    first()
    assert ledger.position == 200
    second()
    assert ledger.position == 300


def test_the_position_never_passes_an_open_batch() -> None:
    ledger = Ledger(0)
    first, second, third = ledger.track(10), ledger.track(20), ledger.track(30)
    third()
    second()
    assert ledger.position == 0
    first()
    assert ledger.position == 30


def test_resolving_twice_does_nothing() -> None:
    ledger = Ledger(0)
    first, second = ledger.track(10), ledger.track(20)
    first()
    first()
    assert (ledger.position, ledger.open_batches) == (10, 1)
    second()
    assert (ledger.position, ledger.open_batches) == (20, 0)


def test_each_advance_is_reported_once() -> None:
    positions: list[int] = []
    ledger = Ledger(0, positions.append)
    first, empty, last = ledger.track(10), ledger.track(10), ledger.track(20)
    last()
    first()
    empty()
    assert positions == [10, 20]


def test_batches_come_in_the_order_of_the_file() -> None:
    ledger = Ledger(0)
    ledger.track(20)
    with pytest.raises(ValueError, match="byte 10, before byte 20"):
        ledger.track(10)


def test_its_text_tells_its_state() -> None:
    ledger = Ledger(5)
    ledger.track(9)
    assert repr(ledger) == "<Ledger position=5 tracked=9 open=1>"


def test_the_oldest_is_the_first_batch_that_is_open() -> None:
    ledger = Ledger(0)
    assert ledger.oldest is None
    first, second, third = (ledger.track(end, read_at) for end, read_at in ((10, 1.0), (20, 2.0), (30, 3.0)))
    second()
    assert ledger.oldest == 1.0
    first()
    assert ledger.oldest == 3.0
    third()
    assert ledger.oldest is None
