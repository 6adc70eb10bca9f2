"""What other threads hand to the reading thread."""

import threading

from log_shipper.shipper.inputs.mailbox import Mailbox


def test_items_come_in_their_order_and_each_side_knows_what_waits() -> None:
    mailbox = Mailbox[str](lambda: None, 10)
    for item, cost in (("a", 4), ("b", 1), ("c", 5)):
        assert not mailbox.is_full
        mailbox.put(item, cost)
    assert (mailbox.waiting, mailbox.is_full, mailbox.first) == (10, True, "a")
    assert mailbox.pop() == "a"
    assert (mailbox.is_full, mailbox.has_much_room) == (False, False)
    assert mailbox.pop() == "b"
    assert mailbox.has_much_room
    assert (mailbox.pop(), mailbox.pop(), mailbox.first) == ("c", None, None)
    assert (mailbox.is_empty, mailbox.waiting, mailbox.taken) == (True, 0, 10)


def test_the_loop_is_woken_once_while_it_awaits_something() -> None:
    wakes: list[int] = []
    mailbox = Mailbox[int](lambda: wakes.append(1))
    for number in range(3):
        mailbox.put(number, 1)
    assert len(wakes) == 1
    assert not mailbox.await_more(), "it does not sleep while something waits"
    mailbox.clear()
    mailbox.put(3, 1)
    assert len(wakes) == 2
    mailbox.clear()
    mailbox.put(4, 1)
    assert len(wakes) == 2, "it is busy"
    mailbox.clear()
    assert mailbox.await_more()
    mailbox.put(5, 1)
    assert len(wakes) == 3


def test_what_is_dropped_does_not_wait() -> None:
    mailbox = Mailbox[int](lambda: None, 10)
    for number in range(3):
        mailbox.put(number, 10)
    mailbox.clear()
    assert (mailbox.is_empty, mailbox.waiting, mailbox.pop()) == (True, 0, None)


def test_many_threads_put_while_one_takes_and_sleeps_only_when_it_is_empty() -> None:
    woken = threading.Semaphore(0)
    mailbox = Mailbox[tuple[int, int]](woken.release)
    count, threads = 2000, 4

    def put(sender: int) -> None:
        for number in range(count):
            mailbox.put((sender, number), 1)

    putting = [threading.Thread(target=put, args=(sender,)) for sender in range(threads)]
    for thread in putting:
        thread.start()
    taken: list[tuple[int, int]] = []
    while len(taken) < count * threads:
        item = mailbox.pop()
        if item is not None:
            taken.append(item)
        elif mailbox.await_more():
            assert woken.acquire(timeout=60), "what was put has not woken it"
    for thread in putting:
        thread.join()
    assert mailbox.waiting == 0
    for sender in range(threads):
        assert [number for thread, number in taken if thread == sender] == list(range(count))
