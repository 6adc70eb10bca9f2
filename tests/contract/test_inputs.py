"""What each type of input promises the loop, whatever it reads."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.event import Batch
from tests.input_drivers import DRIVERS, InputLab

SECOND = 1.0
TRIES = 5  # of what a busy machine may disturb


@pytest.fixture(params=DRIVERS)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InputLab]:
    made = InputLab(DRIVERS[request.param](tmp_path), tmp_path)
    yield made
    made.close()


def lines(name: str, number: int) -> list[str]:
    return [f"{name} {index:04} {'x' * 20}" for index in range(number)]


def names(batches: list[Batch]) -> dict[tuple[str, int], str]:
    return {
        (batch.source.file_id, offset): text
        for batch in batches
        for offset, text in zip(batch.messages.offsets, batch.messages.texts, strict=True)
    }


def test_everything_is_given_once_in_its_order_and_counted_for_the_input(lab: InputLab) -> None:
    for part in ("one", "two", "three"):
        written = lines(part, 100)
        lab.write(*written)
        batches = lab.read(*written)
        assert lab.texts_of(batches) == written
        assert all(batch.source.counts is lab.counts and batch.size > 0 for batch in batches)
        lab.resolve_all()
    assert len(names(lab.given)) == 300, "each event has a name of its own"
    status = lab.source.status()
    assert (status.unsettled, status.bytes_waiting, status.problems) == (0, 0, {})


def test_nothing_is_given_while_the_pipeline_takes_no_more_and_nothing_spins(lab: InputLab) -> None:
    lab.takes_more = False
    lab.write(*lines("one", 50))
    for _ in range(20):
        lab.step()
        lab.wake.wait(0.01)
    assert lab.source.next_wake(reading=True) > 0
    lab.takes_more = True
    lab.read(*lines("one", 50))


@pytest.mark.parametrize(
    ("lab", "waiting"),
    [
        ("tcp", lambda source: source.status().bytes_waiting),
        ("http", lambda source: source.status().bytes_behind),
        ("kafka", lambda source: sum(place.waiting_bytes for place in source._member.partitions.values())),
        ("dead_letter", lambda source: source.status().bytes_behind),
    ],
    indirect=["lab"],
)
def test_what_it_holds_is_bounded_while_nothing_is_taken(lab: InputLab, waiting: Callable[[object], int]) -> None:
    """The others leave it where it is: in files, in pipes."""
    lab.takes_more = False
    most = 0
    for number in range(250):
        try:
            lab.write(*(f"{number} {index} {'x' * 2000}" for index in range(20)))
        except OSError:  # its peer has to wait
            break
        lab.step()
        most = max(most, waiting(lab.source))
    lab.wait_until(lambda: waiting(lab.source) > 0)  # what receives may be a thread that has not run yet
    assert max(most, waiting(lab.source)) <= 9 * 1024**2


def test_who_stops_at_a_batch_is_given_the_others_later(lab: InputLab) -> None:
    for part in ("one", "two", "three"):
        lab.write(*lines(part, 30))
    expected = [*lines("one", 30), *lines("two", 30), *lines("three", 30)]
    for _ in range(3000):
        lab.source.step()
        lab.registrar.step()
        reading = lab.source.read(2**20)
        batch = next(reading, None)
        reading.close()  # type: ignore[attr-defined]  # it is a generator
        if batch is None:
            lab.wake.wait(0.02)
            lab.wake.clear()
        else:
            lab.given.append(batch)
        if len(lab.texts) == len(expected):
            break
    assert sorted(lab.texts) == sorted(expected)


@pytest.mark.parametrize("seed", range(3))
def test_batches_are_resolved_in_any_order_and_again(lab: InputLab, seed: int) -> None:
    lab.write_and_read(*(lines(part, 20) for part in ("one", "two", "three", "four")))
    order = lab.given.copy()
    random.Random(seed).shuffle(order)
    for batch in order:
        batch.resolve()
        batch.resolve()
    lab.resolve_all()
    assert lab.source.status().unsettled == 0


def test_a_feed_that_is_stopped_has_finished_once_all_that_it_gave_is_resolved(lab: InputLab) -> None:
    if not lab.is_feed:
        pytest.skip("files are read again by the next start, and end with the agent")
    lab.write(*lines("one", 20))
    lab.read(*lines("one", 20))
    lab.source.stop()
    lab.source.stop()
    for batch in lab.given:
        assert not lab.source.finished
        batch.resolve()
    lab.wait_until(lambda: lab.source.finished)


def test_a_restart_gives_what_was_not_acknowledged_under_the_same_names(lab: InputLab) -> None:
    lab.write_and_read(*(lines(part, 20) for part in ("one", "two", "three")))
    unresolved = [batch for batch in lab.given if batch.messages.texts[0].startswith("two")]
    for batch in lab.given:
        if batch not in unresolved:
            batch.resolve()
    before = names(lab.given)
    lab.step()
    lab.stop()
    lab.start()
    if lab.driver.is_repeatable:
        lab.wait_until(lambda: set(lab.texts) >= set(lab.texts_of(unresolved)))
        assert set(lab.texts).isdisjoint(lines("one", 20))
        assert names(lab.given).items() <= before.items()
    else:
        lab.write("four")
        lab.read("four")
        assert not (lab.is_feed and any(batch.source.repeatable for batch in lab.given))
        assert names(lab.given).keys().isdisjoint(before)


def test_after_all_is_acknowledged_a_restart_gives_nothing_again(lab: InputLab) -> None:
    lab.write(*lines("one", 50))
    for batch in lab.read(*lines("one", 50)):
        batch.resolve()
    lab.resolve_all()
    lab.stop()
    lab.start()
    lab.write("two")
    lab.read("two")


def test_it_stops_within_a_second_whatever_waits_and_gives_nothing_more(lab: InputLab) -> None:
    took = []
    for number in range(TRIES):
        lab.write(*lines(f"try {number}", 200))
        lab.wait_until(lambda: bool(lab.given))
        took.append(lab.stop())
        assert list(lab.source.read(2**20)) == []
        assert lab.source.next_wake(reading=True) > 0 or lab.source.finished
        if took[-1] < SECOND:
            return
        lab.start()
    raise AssertionError(f"it takes {min(took):.2f} s to stop")
