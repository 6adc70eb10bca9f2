"""An answer ends when its client leaves, and does not run ahead of it."""

import threading

import pytest

from log_shipper.spark_sink.search.ui.stream import ClientLeft, Slots, Stream


def slots(refusal: str = "") -> Slots:
    return Slots(threading.Semaphore(1), refusal)


def test_pieces_are_sent_in_their_order() -> None:
    def work(stream: Stream) -> None:
        for number in range(1000):
            stream.send(number=number)

    sent = b"".join(Stream(work, slots()).body())
    assert sent == b"".join(b'{"number":%d}\n' % number for number in range(1000))


def test_the_work_is_cancelled_when_the_client_leaves() -> None:
    cancelled, ended = threading.Event(), threading.Event()

    def work(stream: Stream) -> None:
        stream.cancel_by(cancelled.set)
        try:
            while True:
                stream.send(more=True)
        except ClientLeft:
            ended.set()
            raise

    taken = slots()
    body = Stream(work, taken).body()
    assert next(piece for piece in body if piece).startswith(b'{"more":true}')
    body.close()
    assert cancelled.is_set()
    assert ended.wait(5)
    assert taken.free.acquire(timeout=5)  # it is free again


def test_work_waits_for_a_slot_and_its_client_may_leave_meanwhile() -> None:
    taken, ran = slots(), threading.Event()
    taken.free.acquire()

    def work(stream: Stream) -> None:
        ran.set()
        stream.send(done=True)

    left, waiting = Stream(work, taken).body(), Stream(work, taken).body()
    assert (next(left), next(waiting)) == (b"", b"")
    left.close()
    assert not ran.is_set()
    taken.free.release()
    assert b"".join(waiting) == b'{"done":true}\n'


def test_a_fault_of_ours_is_logged_and_its_details_are_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    def work(stream: Stream) -> None:
        raise RuntimeError("secret")

    sent = b"".join(Stream(work, slots()).body())
    assert sent == b'{"error":"cannot create the answer; the log has the reason"}\n'
    assert "secret" in caplog.text


def test_a_stream_without_a_slot_may_be_refused() -> None:
    taken = slots("two read already: try again later")
    taken.free.acquire()
    assert b"".join(Stream(lambda stream: None, taken).body()) == b'{"error":"two read already: try again later"}\n'


def test_work_does_not_run_ahead_of_a_client_that_takes_little() -> None:
    put = threading.Semaphore(0)

    def work(stream: Stream) -> None:
        for _ in range(20):
            stream.write(bytes(1024 * 1024))
            put.release()

    body = Stream(work, slots()).body()
    assert len(next(piece for piece in body if piece)) == 1024 * 1024
    ahead = 0
    while put.acquire(timeout=0.5):
        ahead += 1
    assert ahead == 5
    body.close()
