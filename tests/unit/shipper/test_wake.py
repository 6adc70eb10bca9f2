import threading
import time
from collections.abc import Iterator

import pytest

from shipper.wake import Wake

FOREVER = 10.0  # seconds; a wait that takes so long has failed


@pytest.fixture
def wake() -> Iterator[Wake]:
    wake = Wake()
    yield wake
    wake.close()


def waited(wake: Wake, timeout: float) -> float:
    began = time.monotonic()
    wake.wait(timeout)
    return time.monotonic() - began


def test_a_wait_ends_with_its_timeout(wake: Wake) -> None:
    assert waited(wake, 0.02) >= 0.019


def test_what_was_set_before_ends_the_wait_at_once(wake: Wake) -> None:
    wake.set()
    wake.set()
    assert waited(wake, FOREVER) < FOREVER / 2


def test_another_thread_ends_the_wait(wake: Wake) -> None:
    thread = threading.Timer(0.01, wake.set)
    thread.start()
    assert waited(wake, FOREVER) < FOREVER / 2
    thread.join()


def test_after_clear_it_waits_again(wake: Wake) -> None:
    wake.set()
    wake.set()
    wake.clear()
    assert waited(wake, 0.02) >= 0.019


def test_clear_without_set_does_nothing(wake: Wake) -> None:
    wake.clear()
    wake.clear()


def test_setting_and_clearing_at_once_loses_nothing_and_raises_nothing(wake: Wake) -> None:
    news: list[int] = []
    count = 20_000

    def bring() -> None:
        for number in range(count):
            news.append(number)
            wake.set()

    threads = [threading.Thread(target=bring) for _ in range(2)]
    for thread in threads:
        thread.start()
    seen = 0
    while seen < 2 * count:
        assert waited(wake, FOREVER) < FOREVER / 2
        wake.clear()
        seen = len(news)
    for thread in threads:
        thread.join()
