import os
import threading
import time
from collections.abc import Iterator

import pytest

from log_shipper.shipper.wake import Wake

FOREVER = 60.0  # seconds; a wait that takes so long has failed


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


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        os.close(fd)


def test_data_in_a_watched_pipe_ends_the_wait_and_is_reported(wake: Wake, pipe: tuple[int, int]) -> None:
    calls: list[str] = []
    wake.watch(pipe[0], lambda: calls.append("ready"))
    thread = threading.Timer(0.01, lambda: os.write(pipe[1], b"x"))
    thread.start()
    assert waited(wake, FOREVER) < FOREVER / 2
    thread.join()
    assert calls == ["ready"]


def test_in_a_pause_hints_wait_and_nothing_else_does(wake: Wake, pipe: tuple[int, int]) -> None:
    calls: list[str] = []
    wake.watch(pipe[0], lambda: calls.append("ready"), hints=True)
    os.write(pipe[1], b"x")
    began = time.monotonic()
    wake.pause(0.02)
    assert time.monotonic() - began >= 0.019
    wake.clear()
    assert calls == ["ready"]
    wake.watch(pipe[0], lambda: calls.append("again"))
    wake.pause(FOREVER)
    wake.clear()
    wake.set()
    wake.pause(FOREVER)
    assert calls == ["ready", "again"]
    assert time.monotonic() - began < FOREVER / 2


def test_unread_data_end_one_wait_only(wake: Wake, pipe: tuple[int, int]) -> None:
    calls: list[str] = []
    os.write(pipe[1], b"x")
    wake.watch(pipe[0], lambda: calls.append("ready"))
    wake.wait(FOREVER)
    assert waited(wake, 0.02) >= 0.019
    assert calls == ["ready"]


def test_the_end_of_a_pipe_is_reported_too(wake: Wake) -> None:
    calls: list[str] = []
    reader, writer = os.pipe()
    wake.watch(reader, lambda: calls.append("ready"))
    os.close(writer)
    assert waited(wake, FOREVER) < FOREVER / 2
    assert calls == ["ready"]
    os.close(reader)


def test_a_loop_that_never_waits_hears_of_data_too(wake: Wake, pipe: tuple[int, int]) -> None:
    calls: list[str] = []
    wake.watch(pipe[0], lambda: calls.append("ready"))
    wake.clear()
    assert calls == []
    os.write(pipe[1], b"x")
    wake.clear()
    assert calls == ["ready"]


def test_the_callback_may_watch_again(wake: Wake, pipe: tuple[int, int]) -> None:
    calls: list[bytes] = []

    def read() -> None:
        calls.append(os.read(pipe[0], 100))
        wake.watch(pipe[0], read)

    wake.watch(pipe[0], read)
    for data in (b"a", b"b"):
        os.write(pipe[1], data)
        assert waited(wake, FOREVER) < FOREVER / 2
    assert waited(wake, 0.02) >= 0.019
    assert calls == [b"a", b"b"]


def test_what_is_not_watched_any_more_is_not_reported(wake: Wake, pipe: tuple[int, int]) -> None:
    calls: list[str] = []
    wake.watch(pipe[0], lambda: calls.append("ready"))
    wake.watch(pipe[0], lambda: calls.append("ready"))
    wake.unwatch(pipe[0])
    wake.unwatch(pipe[0])
    os.write(pipe[1], b"x")
    assert waited(wake, 0.02) >= 0.019
    assert calls == []


def test_a_watched_descriptor_leaves_the_other_news_as_they_were(wake: Wake, pipe: tuple[int, int]) -> None:
    wake.watch(pipe[0], lambda: None)
    wake.set()
    os.write(pipe[1], b"x")
    assert waited(wake, FOREVER) < FOREVER / 2
    assert waited(wake, FOREVER) < FOREVER / 2, "it is still set"
    wake.clear()
    assert waited(wake, 0.02) >= 0.019


def test_a_late_thread_wakes_no_one_and_writes_to_nothing_else() -> None:
    wake = Wake()
    wake.set_if_open()
    assert waited(wake, FOREVER) < FOREVER
    wake.close()
    other = Wake()  # takes the number of the descriptor
    wake.set_if_open()
    assert waited(other, 0.02) >= 0.019
    other.close()
