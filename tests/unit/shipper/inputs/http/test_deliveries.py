"""What is handed from the server's thread to the reading thread."""

from itertools import pairwise

from log_shipper.shipper.event import Messages
from log_shipper.shipper.inputs.http.deliveries import PART_BYTES, PART_EVENTS, Delivery, Part, take_run
from log_shipper.shipper.inputs.mailbox import Mailbox


def run(count: int, length: int, start: int = 0) -> Messages:
    messages = Messages(start, start)
    for number in range(count):
        messages.append(str(number), messages.end, length)
        messages.end += length
    return messages


def taken(mailbox: Mailbox[Part]) -> list[Messages]:
    runs = []
    while (one := take_run(mailbox)) is not None:
        runs.append(one[0])
    return runs


def deliver(mailbox: Mailbox[Part], messages: Messages) -> tuple[Delivery, list[Delivery]]:
    settled: list[Delivery] = []
    delivery = Delivery(messages, 0, settled.append)
    for part in delivery.parts:
        mailbox.put((delivery, part), 1)
    return delivery, settled


def test_a_large_request_is_taken_in_parts_that_follow_each_other() -> None:
    mailbox = Mailbox[Part](lambda: None)
    for count, length in ((10, PART_BYTES // 3), (3 * PART_EVENTS, 2), (3, 10 * PART_BYTES)):
        whole = run(count, length, start=7)
        expected = list(zip(whole.texts, whole.offsets, whole.lengths, strict=True))
        deliver(mailbox, whole)
        parts = taken(mailbox)
        assert len(parts) > 2
        assert (parts[0].start, parts[-1].end) == (7, 7 + count * length)
        assert all(part.end == following.start for part, following in pairwise(parts))
        assert all(len(part.texts) <= PART_EVENTS for part in parts)
        assert all(len(part.texts) == 1 or part.end - part.start <= PART_BYTES for part in parts)
        assert [one for p in parts for one in zip(p.texts, p.offsets, p.lengths, strict=True)] == expected


def test_small_requests_are_taken_together_with_flags_and_documents() -> None:
    mailbox = Mailbox[Part](lambda: None)
    first, second, third = run(2, 10), run(1, 10, start=20), run(2, 10, start=30)
    second.docs = [{"a": 1}]
    third.flags = {1: ("truncated",)}
    for messages in (first, second, third):
        deliver(mailbox, messages)
    (together,) = taken(mailbox)
    assert (together.start, together.end) == (0, 50)
    assert together.texts == ["0", "1", "0", "0", "1"]
    assert together.docs == [{}, {}, {"a": 1}, {}, {}]
    assert together.flags == {4: ("truncated",)}


def test_requests_are_not_taken_together_beyond_the_size_of_a_part() -> None:
    mailbox = Mailbox[Part](lambda: None)
    deliver(mailbox, run(1, PART_BYTES))
    deliver(mailbox, run(1, 1, start=PART_BYTES))
    assert len(taken(mailbox)) == 2


def test_a_request_that_was_taken_back_leaves_a_gap_that_no_batch_covers() -> None:
    mailbox = Mailbox[Part](lambda: None)
    deliver(mailbox, run(1, 10))
    back, _ = deliver(mailbox, run(1, 10, start=10))
    deliver(mailbox, run(1, 10, start=20))
    assert back.claim()
    assert [(one.start, one.end) for one in taken(mailbox)] == [(0, 10), (20, 30)]


def test_a_request_of_which_a_part_was_taken_cannot_be_taken_back() -> None:
    mailbox = Mailbox[Part](lambda: None)
    delivery, settled = deliver(mailbox, run(4, PART_BYTES))
    assert take_run(mailbox) is not None
    assert not delivery.claim()
    assert len(taken(mailbox)) == 3
    for _ in range(3):
        delivery.resolve_part()
    assert settled == []
    delivery.resolve_part()
    assert settled == [delivery]
