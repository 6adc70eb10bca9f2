"""Letters in files, sent again by a run with --once, and by an agent that has the input."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.registrar import SaveTicket
from log_shipper.registry.state import FileState
from log_shipper.runtime.locking import FileInUse
from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.inputs.dead_letter.options import DeadLetterInput
from log_shipper.shipper.inputs.dead_letter.source import PATIENCE, RETRY_SECONDS, DeadLetterSource
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.letters.letter_box import DONE, LetterBox, Resending
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.dead_letter import FILE, DeadLetterFile
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import AGENT, Surroundings, batch, encoder, source_context
from tests.fakes import ManualClock, MemoryOutput

MAX_STEPS = 100


class SavingRegistrar:
    """Saves at once, or when the test does."""

    def __init__(self) -> None:
        self.saved: list[FileState] = []
        self.ticket = SaveTicket()
        self.ticket.resolve()

    def save(self, states: Sequence[FileState]) -> SaveTicket:
        self.saved += states
        return self.ticket


class Mail:
    """Letters in a directory, and an output that takes them."""

    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.directory = directory
        self.clock = clock
        self.metrics = Metrics()
        self.registrar = SavingRegistrar()
        self.staging = Staging()
        self.is_staged = False
        self.around = Surroundings()
        self.box = LetterBox(directory)
        self.file = DeadLetterFile(directory / FILE, clock)
        self.given: list[Batch] = []
        self.queue = MemoryQueue(1000, 10**6)
        publisher = Publisher(self.queue, self.file, self.metrics, clock)
        self.publisher, self.output = publisher, MemoryOutput(encoder(), publisher)
        self.config = DeadLetterInput(id="letters", path=str(directory))

    def add(self, *texts: str, start: int = 0) -> None:
        self.file.write(batch(texts, start=start), [Rejection(index, "x", "logs") for index in range(len(texts))])

    def source(self, *ids: str, once: bool = True, states: Sequence[FileState] = ()) -> DeadLetterSource:
        config = replace(self.config, ids=frozenset(ids))
        stage = self.staging.stage_for if self.is_staged else None
        feed_input = FeedInput(config, AGENT, {}, 1000, self.clock, lambda state: None, stage=stage)
        context = source_context(self.registrar, self.clock, self.metrics, once=once, around=self.around)
        return DeadLetterSource(feed_input, context, states)

    def step(self, source: DeadLetterSource) -> None:
        source.step()
        for given in source.read(10**6):
            self.given.append(given)
            self.queue.put(given)
        self.publisher.step(self.output)
        self.output.poll(0)

    def send(self, source: DeadLetterSource) -> bool:
        """Step until it has nothing to do; return whether it has finished."""
        for _ in range(MAX_STEPS):
            self.step(source)
            if source.finished or source.next_wake(reading=True) > 0:
                break
        return source.finished

    def resend(self, *ids: str) -> None:
        """Do what a run with --once does."""
        source = self.source(*ids)
        assert self.send(source)
        source.stop()

    @property
    def sent(self) -> list[str]:
        return [json.loads(record)["message"] for record in self.output.records]

    @property
    def left(self) -> list[str]:
        return [stored.letter.message for stored in self.box.letters() if stored.letter is not None]

    def ids(self) -> list[str]:
        return [stored.id for stored in self.box.letters()]

    def be_killed(self, source: DeadLetterSource) -> None:
        """Let go of what a process that is killed lets go."""
        if source._resending is not None:
            source._resending._notes.close()
        self.output.close()
        self.queue = MemoryQueue(1000, 10**6)
        self.publisher = Publisher(self.queue, self.file, self.metrics, self.clock)
        records, self.output = self.output.records, MemoryOutput(encoder(), self.publisher)
        self.output.records = records

    def is_empty(self) -> bool:
        return not list(self.directory.iterdir())


@pytest.fixture
def mail(tmp_path: Path, clock: ManualClock) -> Mail:
    return Mail(tmp_path, clock)


def test_letters_of_all_files_are_sent_in_their_order_and_nothing_is_left(mail: Mail) -> None:
    mail.add("a")
    mail.file.path.rename(mail.directory / "dead_letter-20251113T000000.000000.ndjson")
    mail.add("b", "c", start=10)
    assert mail.left == ["a", "b", "c"]
    mail.resend()
    assert (mail.sent, mail.metrics.letters_resent) == (["a", "b", "c"], 3)
    assert mail.is_empty()


def test_without_letters_nothing_happens(mail: Mail) -> None:
    mail.resend()
    assert mail.is_empty()


def test_letters_that_are_not_wanted_or_not_readable_stay(mail: Mail) -> None:
    mail.add("a", "b")
    with mail.file.path.open("ab") as file:
        file.write(b'{"message":"alone"}\n')
    mail.resend(mail.ids()[1])
    assert (mail.sent, mail.left) == (["b"], ["a"])
    (path,) = mail.directory.iterdir()
    assert path.read_bytes().count(b"\n") == 2


def test_an_event_that_is_refused_again_stays_with_the_reason(mail: Mail) -> None:
    mail.add("a", "b")
    mail.clock.advance(60)
    mail.output.refuse = lambda message: "still too large" if message == "a" else None
    mail.resend()
    (stored,) = mail.box.letters()
    assert stored.letter is not None
    assert (stored.letter.message, stored.letter.reason) == ("a", "still too large")
    mail.output.refuse = lambda message: None
    mail.resend()
    assert mail.sent == ["b", "a"]


def test_a_round_ends_before_the_next_one_begins(mail: Mail) -> None:
    mail.add(*(f"{number}" for number in range(250)))
    mail.output.holding = True
    source = mail.source()
    rounds = []
    while not mail.send(source):
        rounds.append(mail.output.in_flight)
        assert len(mail.left) == 250 - sum(rounds[:-1])
        mail.output.arrive()
        mail.output.acknowledge(range(mail.output.in_flight)[::-1])
    assert rounds == [100, 100, 50]
    assert mail.sent == [f"{number}" for number in range(250)]


def test_letters_that_are_not_acknowledged_when_it_stops_stay(mail: Mail) -> None:
    mail.add("a", "b", "c")
    mail.output.holding = True
    source = mail.source()
    assert not mail.send(source)
    mail.output.arrive()
    mail.output.acknowledge([1])
    source.stop()
    assert mail.left == ["a", "c"]
    assert not source.finished
    mail.be_killed(source)
    mail.resend()
    assert mail.sent == ["a", "b", "c", "a", "c"]
    assert mail.is_empty()


def test_what_was_sent_before_a_kill_is_not_sent_again(mail: Mail) -> None:
    mail.add("a", "b", "c")
    with closing(Resending(mail.box)) as resending:
        resending.record_sent(mail.ids()[:1])
    assert mail.left == ["b", "c"]
    mail.add("d", start=10)
    mail.resend()
    assert mail.sent == ["b", "c", "d"]
    assert mail.is_empty()


def refuse_first(mail: Mail) -> DeadLetterSource:
    """Have the first letter refused again, and not noted; the others are on the way."""
    mail.output.refuse = lambda message: "still too large"
    mail.output.holding = True
    source = mail.source()
    assert not mail.send(source)
    mail.output.arrive(1)
    mail.output.acknowledge([0])
    return source


def test_a_letter_that_was_refused_again_before_a_kill_is_sent_once(mail: Mail) -> None:
    mail.add("a", "b")
    mail.be_killed(refuse_first(mail))
    assert mail.file.path.exists()
    assert mail.left == ["a", "b"]
    mail.clock.advance(1)
    mail.resend()
    assert mail.sent == ["a", "b"]
    assert mail.is_empty()


def test_a_letter_whose_refusal_was_settled_before_a_kill_stays_with_the_reason(mail: Mail) -> None:
    mail.add("a", "b")
    source = refuse_first(mail)
    source.stop()
    mail.be_killed(source)
    assert [stored.letter.reason for stored in mail.box.letters() if stored.letter] == ["x", "still too large"]
    mail.resend()
    assert sorted(mail.sent) == ["a", "b"]


def test_a_letter_that_is_in_the_files_twice_is_sent_once(mail: Mail) -> None:
    mail.add("a")
    mail.file.path.write_bytes(mail.file.path.read_bytes() * 2)
    (mail.directory / "dead_letter-20251113T000000.000000.ndjson").write_bytes(mail.file.path.read_bytes())
    assert mail.left == ["a"]
    mail.resend()
    assert mail.sent == ["a"]
    assert mail.is_empty()


def staged(mail: Mail) -> DeadLetterSource:
    """Return an input of an output with transactions, with two letters of three on the way."""
    mail.is_staged = True
    mail.output.room = 2
    mail.output.holding = True
    source = mail.source()
    mail.send(source)
    return source


def test_a_transaction_has_a_note_of_the_letters_of_the_round_that_are_in_it_or_were(mail: Mail) -> None:
    mail.add("a", "b", "c")
    ids = mail.ids()
    source = staged(mail)
    positions = mail.staging.prepare(mail.given[:2])
    assert list(positions.entries) == [mail.registrar.saved[0].id]
    first = source._state
    assert first.cursor.split() == ids[:2]
    positions.commit()
    assert mail.left == ["a", "b", "c"], "they are noted on disk when the round ends"
    mail.staging.prepare(mail.given[2:])
    assert source._state.cursor.split() == ids
    assert source._state.position > first.position
    mail.be_killed(source)
    mail.is_staged, mail.output.holding = False, False
    assert mail.send(mail.source(states=[first]))
    assert mail.sent == ["c"]


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_note_counts_only_for_a_run_that_was_interrupted(mail: Mail, is_interrupted: bool) -> None:
    mail.add("a", "b")
    mail.is_staged = True
    mail.source()
    state = replace(mail.registrar.saved[0], cursor=mail.ids()[0])
    if is_interrupted:
        (mail.directory / DONE).touch()
    assert mail.send(mail.source(states=[state]))
    assert mail.sent == (["b"] if is_interrupted else ["a", "b"])


def test_nothing_is_sent_before_its_entry_is_saved(mail: Mail) -> None:
    mail.add("a")
    mail.is_staged = True
    mail.registrar.ticket = SaveTicket()
    source = mail.source()
    mail.step(source)
    assert mail.queue.events == 0
    mail.registrar.ticket.resolve()
    mail.step(source)
    assert mail.sent == ["a"]


def test_only_one_process_sends_letters_again(mail: Mail) -> None:
    mail.add("a")
    other = Resending(mail.box)
    assert list(other.rounds())
    source = mail.source()
    mail.step(source)
    assert "in use by process" in "".join(source.status().problems.values())
    mail.clock.advance(PATIENCE + 1)
    with pytest.raises(FileInUse, match="in use by process"):
        mail.step(source)
    other.close()
    assert not (mail.directory / DONE).exists()


def test_a_file_that_is_written_to_is_not_taken_before_it_was_written(mail: Mail) -> None:
    mail.add("a")
    source = mail.source()
    with closing(AppendFile(mail.file.path)):
        mail.send(source)
        assert mail.left == ["a"]
        assert not list(mail.box.rotated())
    mail.clock.advance(0.02)
    assert mail.send(source)
    assert mail.sent == ["a"]


@pytest.mark.parametrize("once", [True, False])
def test_letters_that_cannot_be_noted_end_a_run_with_once_and_are_noted_later_by_an_agent(
    mail: Mail, once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    mail.add("a")
    mail.output.holding = True
    source = mail.source(once=once)
    mail.send(source)
    mail.output.arrive()
    mail.output.acknowledge()
    assert source._resending is not None
    notes = source._resending._notes

    class Full(AppendFile):
        def append(self, data: bytes) -> None:
            raise OSError(28, "No space left on device")

    notes.__class__ = Full
    if once:
        with pytest.raises(OSError, match=r"cannot record which letters were sent"):
            mail.step(source)
        return
    mail.step(source)
    assert "cannot record which letters were sent" in "".join(source.status().problems.values())
    assert "input letters: cannot send dead letters: " in caplog.text
    assert "Make it writable; retrying" in caplog.text
    notes.__class__ = AppendFile
    mail.clock.advance(RETRY_SECONDS)
    mail.send(source)
    assert (mail.sent, mail.metrics.letters_resent, source.status().problems) == (["a"], 1, {})
    assert mail.is_empty()


def test_an_agent_sends_letters_again_and_again_until_they_are_taken(mail: Mail) -> None:
    mail.add("a", "b")
    mail.output.refuse = lambda message: "no topic" if message == "a" else None
    source = mail.source(once=False)
    mail.send(source)
    assert (mail.sent, mail.left) == (["b"], ["a"])
    assert source.next_wake(reading=True) == mail.config.interval
    mail.output.refuse = lambda message: None
    mail.add("c", start=10)
    mail.clock.advance(mail.config.interval - 1)
    mail.send(source)
    assert mail.sent == ["b"]
    mail.clock.advance(1)
    mail.send(source)
    assert mail.sent == ["b", "a", "c"]
    assert not source.finished
    source.stop()
    assert source.finished
    assert mail.is_empty()


def test_what_is_in_flight_when_a_reload_ends_the_input_is_noted(mail: Mail) -> None:
    mail.add("a", "b")
    mail.output.holding = True
    source = mail.source(once=False)
    mail.send(source)
    source.stop()
    assert not source.finished
    mail.output.arrive()
    mail.output.acknowledge()
    source.step()
    assert source.finished
    assert mail.left == []


def test_a_run_with_once_needs_the_directory(mail: Mail) -> None:
    mail.config = DeadLetterInput(id="letters", path=str(mail.directory / "missing"))
    with pytest.raises(StartError, match="missing is not a directory"):
        mail.source()
