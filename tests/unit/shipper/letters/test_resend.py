import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from log_shipper.runtime.locking import FileInUse
from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.event import Rejection
from log_shipper.shipper.letters.letter_box import DONE, RESENDING, LetterBox, Resending, StoredLetter
from log_shipper.shipper.letters.resend import LettersInFlight, ResendPipeline, Resent, noted, resend
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile
from log_shipper.shipper.pipeline.processing import leave
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import batch, encoder
from tests.fakes import ManualClock, MemoryOutput


class Desk:
    """Letters in a directory, and an output that takes them."""

    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.directory = directory
        self.clock = clock
        self.box = LetterBox(directory)
        self.file = DeadLetterFile(directory / FILE, clock)
        self.make_output: Callable[[Publisher], MemoryOutput] = lambda deliveries: MemoryOutput(encoder(), deliveries)
        self.refuse: Callable[[str], str | None] = lambda message: None
        self.sent: list[str] = []

    def add(self, *texts: str, start: int = 0) -> None:
        self.file.write(batch(texts, start=start), [Rejection(index, "x", "logs") for index in range(len(texts))])

    def open(self) -> Resending:
        return Resending(self.box, self.file)

    def resend(self, is_wanted: Callable[[StoredLetter], bool] = lambda stored: True) -> Resent:
        with closing(self.open()) as resending:
            letters, queue = LettersInFlight(resending, self.clock), MemoryQueue(100, 10**6)
            publisher = Publisher(queue, letters, Metrics(), self.clock)
            output = self.make_output(publisher)
            output.refuse = self.refuse
            try:
                return resend(
                    resending, ResendPipeline(letters, queue, publisher, output, self.clock, leave), is_wanted, 10.0
                )
            finally:
                self.sent += [json.loads(record)["message"] for record in output.records]

    @property
    def left(self) -> list[str]:
        return [stored.letter.message for stored in self.box.letters() if stored.letter is not None]


@pytest.fixture
def desk(tmp_path: Path, clock: ManualClock) -> Desk:
    return Desk(tmp_path, clock)


def test_letters_of_all_files_are_sent_in_their_order_and_nothing_is_left(desk: Desk) -> None:
    desk.add("a")
    desk.file.path.rename(desk.directory / "dead_letter-20251113T000000.000000.ndjson")
    desk.add("b", "c", start=10)
    assert desk.left == ["a", "b", "c"]
    assert desk.resend() == Resent(sent=3)
    assert desk.sent == ["a", "b", "c"]
    assert list(desk.directory.iterdir()) == []


def test_without_letters_nothing_happens(desk: Desk) -> None:
    assert desk.resend() == Resent()
    assert list(desk.directory.iterdir()) == []


def test_letters_that_are_not_wanted_or_not_readable_stay(desk: Desk) -> None:
    desk.add("a", "b")
    with desk.file.path.open("ab") as file:
        file.write(b'{"message":"alone"}\n')
    result = desk.resend(lambda stored: stored.letter is not None and stored.letter.message == "b")
    assert result == Resent(sent=1, left=2)
    assert desk.sent == ["b"]
    assert desk.left == ["a"]
    assert desk.file.path.read_bytes().count(b"\n") == 2


def test_an_event_that_is_refused_again_stays_with_the_reason(desk: Desk, clock: ManualClock) -> None:
    desk.add("a", "b")
    clock.advance(60)
    desk.refuse = lambda message: "still too large" if message == "a" else None
    assert desk.resend() == Resent(sent=1, refused=1)
    (stored,) = desk.box.letters()
    assert stored.letter is not None
    assert (stored.letter.message, stored.letter.reason) == ("a", "still too large")
    desk.refuse = lambda message: None
    assert desk.resend() == Resent(sent=1)
    assert desk.sent == ["b", "a"]


def test_letters_that_are_not_acknowledged_in_time_stay(desk: Desk, clock: ManualClock) -> None:
    desk.add(*(f"{number}" for number in range(150)))

    class Slow(MemoryOutput):
        def poll(self, timeout: float) -> None:
            super().poll(timeout)
            clock.advance(1)

    desk.make_output = lambda deliveries: Slow(encoder(), deliveries, holding=True)
    assert desk.resend() == Resent(left=150, gave_up=True)
    assert len(desk.left) == 150


def interrupted(desk: Desk) -> Iterator[tuple[Resending, list[StoredLetter]]]:
    """Yield what sends the letters of the first file, and is killed then."""
    resending = desk.open()
    for letters in resending.files():
        yield resending, list(letters)
        break
    resending._notes.close()


def test_what_was_sent_before_a_kill_is_not_sent_again(desk: Desk) -> None:
    desk.add("a", "b", "c")
    for resending, (first, *_) in interrupted(desk):
        resending.note_sent([first.id])
    assert desk.left == ["b", "c"]
    desk.add("d", start=10)
    assert desk.resend() == Resent(sent=3)
    assert desk.sent == ["b", "c", "d"]
    assert list(desk.directory.iterdir()) == []


def refuse(desk: Desk, resending: Resending, stored: StoredLetter) -> str:
    """Write that a letter was refused again; return its id."""
    letters = LettersInFlight(resending, desk.clock)
    letters.write(letters.add(stored), [Rejection(0, "still too large", "logs")])
    return stored.id


def test_a_letter_that_was_refused_again_before_a_kill_is_sent_once(desk: Desk) -> None:
    desk.add("a", "b")
    for resending, (first, _) in interrupted(desk):
        refuse(desk, resending, first)
    assert desk.left == ["a", "b"]
    desk.clock.advance(1)
    assert desk.resend() == Resent(sent=2)
    assert desk.sent == ["a", "b"]
    assert list(desk.directory.iterdir()) == []


def test_a_letter_whose_refusal_was_settled_before_a_kill_stays_with_the_reason(desk: Desk) -> None:
    desk.add("a", "b")
    for resending, (first, _) in interrupted(desk):
        resending.note_sent([refuse(desk, resending, first)])
    assert [stored.letter.reason for stored in desk.box.letters() if stored.letter] == ["x", "still too large"]
    assert desk.resend() == Resent(sent=2)
    assert desk.sent == ["b", "a"]


def test_a_run_that_gave_up_is_continued_by_the_next_one(desk: Desk, clock: ManualClock) -> None:
    desk.add("a")
    desk.file.path.rename(desk.directory / "dead_letter-20251113T000000.000000.ndjson")
    desk.add("b", start=10)

    class Stuck(MemoryOutput):
        def poll(self, timeout: float) -> None:
            clock.advance(1)

    desk.make_output = lambda deliveries: Stuck(encoder(), deliveries, holding=True)
    assert desk.resend() == Resent(left=2, gave_up=True)
    desk.make_output = lambda deliveries: MemoryOutput(encoder(), deliveries)
    desk.sent.clear()
    assert desk.resend() == Resent(sent=2)
    assert desk.sent == ["a", "b"]


def test_the_note_of_a_transaction_has_its_letters_which_are_noted_when_it_is_committed(desk: Desk) -> None:
    desk.add("a", "b", "c")
    for resending, stored in interrupted(desk):
        letters = LettersInFlight(resending, desk.clock)
        first, second, _ = [letters.add(one) for one in stored]
        note = letters.prepare([first, second])
        assert desk.left == ["a", "b", "c"]
        letters.commit()
        assert desk.left == ["c"]
        assert noted(note) == [one.id for one in stored[:2]]
    assert noted({}) == []


def test_a_kill_while_letters_are_written_back_sends_none_of_them_twice(desk: Desk) -> None:
    desk.add("a", "b")
    written = desk.file.path.read_bytes()
    (desk.directory / RESENDING).write_bytes(written)  # and they are in the current file already
    assert desk.resend() == Resent(sent=2)
    assert desk.sent == ["a", "b"]
    assert list(desk.directory.iterdir()) == []


def test_only_one_process_sends_letters_again(desk: Desk) -> None:
    desk.add("a")
    other = desk.open()
    assert list(other.files())
    with pytest.raises(FileInUse, match="in use by process"):
        desk.resend()
    other.close()
    assert not (desk.directory / DONE).exists()
    assert desk.resend() == Resent(sent=1)


def test_a_letter_that_is_in_the_files_twice_is_sent_once(desk: Desk) -> None:
    desk.add("a")
    desk.file.path.write_bytes(desk.file.path.read_bytes() * 2)
    assert desk.left == ["a"]
    assert desk.resend() == Resent(sent=1)
    assert desk.sent == ["a"]


def test_what_arrives_when_time_is_over_is_not_sent_again(desk: Desk, clock: ManualClock) -> None:
    desk.add("a", "b")

    class Late(MemoryOutput):
        def poll(self, timeout: float) -> None:
            clock.advance(1)

        def close(self) -> None:
            self.arrive(1)
            self.acknowledge()
            super().close()

    desk.make_output = lambda deliveries: Late(encoder(), deliveries)
    assert desk.resend() == Resent(sent=1, left=1, gave_up=True)
    assert desk.left == ["b"]


def test_a_file_that_is_written_to_is_not_taken_before_it_was_written(desk: Desk) -> None:
    desk.add("a")
    writing = AppendFile(desk.file.path)
    resending = desk.open()
    was_closed = threading.Event()

    def end() -> None:
        was_closed.set()
        writing.close()

    closing_later = threading.Timer(0.1, end)
    closing_later.start()
    assert len(list(resending.files())) == 1
    assert was_closed.is_set()
    closing_later.join()
    resending.close()
