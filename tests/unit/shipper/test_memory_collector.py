import gc
from collections.abc import Iterator

import pytest

from log_shipper.shipper.agent.memory import COLLECT_AFTER, long_lived
from log_shipper.spark_sink.platform.jvm import Garbage


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(500, 5, 5)
    yield 500, 5, 5
    gc.set_threshold(*before)
    gc.unfreeze()
    Garbage().keep()  # all but what the test has made


def test_nothing_is_collected_while_many_objects_are_made(usual: tuple[int, int, int]) -> None:
    runs: list[str] = []

    def note(phase: str, _: object) -> None:
        runs.append(phase)

    gc.callbacks.append(note)
    try:
        with long_lived():
            made = [[number] for number in range(50_000)]
            assert gc.get_threshold() == (COLLECT_AFTER, 5, 5)
            assert runs == []
        frozen = gc.get_freeze_count()
    finally:
        gc.callbacks.remove(note)
    assert frozen > len(made)
    assert gc.get_threshold() == usual


def test_the_collector_is_as_before_also_after_an_error(usual: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"^it fails$"), long_lived():
        raise ValueError("it fails")
    assert gc.get_threshold() == usual
