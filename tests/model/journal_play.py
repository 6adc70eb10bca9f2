"""Plays a program on journals in memory with a real feed, and compares what came with what was written.

In one life of the agent the entries of a sequence come in order, each once. After a restart none comes again that was
acknowledged before, with all before it and all of the same read, and saved. What never came was deleted, and is counted
as lost.
"""

from dataclasses import dataclass, field

from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.factory import FeedEntries
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.journald.feed import JournaldFeed
from log_shipper.shipper.inputs.journald.options import JournaldConfig, MatchesConfig
from log_shipper.shipper.metrics import Metrics
from tests.builders import AGENT, source_context
from tests.fakes import ManualClock
from tests.memory_registry import MemoryFiles, memory_store
from tests.model.journal_host import DIRECTORY, JournalDisk, MemoryHost, Writer
from tests.model.journal_program import JournalProgram
from tests.model.verdict import Wrong

MAX_TURNS = 300  # turns; what has not come by then never will
IDLE = 4  # turns in which nothing comes until all is there
FAR = 100_000.0  # seconds after the first entry at which a program begins: no entry is older than that


def play(program: JournalProgram) -> None:
    """Play the program. Raises Wrong, with the program."""
    player = Player(program)
    try:
        player.play()
    except Exception as error:
        error.add_note(f"after action {player.done} of\n{program}")
        raise


@dataclass
class Read:
    """What one read gave of a sequence. `open`: its batches that are not acknowledged; it has one for each boot. The
    position moves by whole reads."""

    numbers: list[int] = field(default_factory=list)
    open: int = 0


@dataclass
class Life:
    """One life of the agent: its reads, by sequence."""

    reads: dict[str, list[Read]] = field(default_factory=dict)
    unresolved: list[tuple[Read, Batch]] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)


class Player:
    def __init__(self, program: JournalProgram) -> None:
        self.done = 0
        self._program = program
        self._disk = JournalDisk()
        self._writers: dict[str, Writer] = {}
        self._clock = ManualClock()
        self._start = self._clock.time()
        self._files = MemoryFiles()
        self._metrics = Metrics()
        self._names: dict[tuple[str, int], tuple[str, int]] = {}
        self._taken = 0  # batches
        self._received: dict[str, set[int]] = {}
        self._saved: dict[str, set[int]] = {}  # entries that must not come again
        self._first: dict[str, int] = {}  # of those that a start knows of: what is missing behind it is counted
        self._life: Life | None = None

    def play(self) -> None:
        for name, *arguments in self._program.actions:
            getattr(self, f"_{name}")(*arguments)
            self.done += 1
        for name, writer in self._writers.items():
            if writer.path in self._disk.files:
                self._log(name, 1, 0.0)  # it shows what is missing before it
        self._settle()
        self._stop()
        before = sum(map(len, self._received.values()))
        self._settle()
        if sum(map(len, self._received.values())) != before:
            raise Wrong("something came only after a restart")
        self._stop()
        self._account()

    def _begin(self) -> Life:
        if self._life is None:
            self._life = Life()
            self._registrar = Registrar(memory_store(files=self._files), 0.0, clock=self._clock.monotonic)
            entries = FeedEntries(self._registrar)
            matches = MatchesConfig(match=("TAG=1",)) if self._program.filtered else MatchesConfig()
            config = JournaldConfig(
                id="sys", paths=(DIRECTORY,), merge=True, journalctl_path="/bin/sh", include_matches=matches
            )
            feed_input = FeedInput(
                config, AGENT, {}, config.message_max_bytes, self._clock, entries.save, None, self._metrics
            )
            context = source_context(self._registrar, self._clock, self._metrics)
            self._host = host = MemoryHost(self._disk)
            self._feed = JournaldFeed(feed_input, context, entries.entries_of("sys"), host)
        return self._life

    def _log(self, name: str, count: int, delay: float) -> None:
        if name not in self._writers:
            self._writers[name] = Writer(self._disk, name)
        self._writers[name].log(count, FAR + self._clock.time() - self._start - delay)
        self._clock.advance(0.001 * count)

    def _rotate(self, name: str) -> None:
        if name in self._writers:
            self._writers[name].rotate()

    def _vacuum(self, name: str) -> None:
        if name in self._writers:
            self._writers[name].vacuum()

    def _remove(self, name: str) -> None:
        if name in self._writers:
            self._writers[name].remove()

    def _boot(self, name: str) -> None:
        if name in self._writers:
            self._writers[name].boot()

    def _pause(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def _step(self) -> None:
        self._begin()
        self._feed.step()

    def _children(self) -> None:
        self._begin()
        self._host.run_children()

    def _end_children(self) -> None:
        self._begin()
        self._host.kill_children()

    def _read(self) -> None:
        life = self._begin()
        reads: dict[str, Read] = {}
        for batch in self._feed.read(128 * 1024):
            self._take(life, batch, reads)
        for sequence, read in reads.items():
            life.reads.setdefault(sequence, []).append(read)

    def _run(self, turns: int) -> None:
        for _ in range(turns):
            self._step()
            self._children()
            self._read()
            self._save()
            self._clock.advance(0.5)

    def _take(self, life: Life, batch: Batch, reads: dict[str, Read]) -> None:
        numbers: list[int] = []
        sequence = ""
        self._taken += 1
        for text, offset in zip(batch.messages.texts, batch.messages.offsets, strict=True):
            sequence, number = text.split()[0], int(text.split()[1])
            if offset != number or self._names.setdefault((batch.source.file_id, offset), (sequence, number)) != (
                sequence,
                number,
            ):
                raise Wrong(f"{text} is named {batch.source.file_id} {offset}")
            if number <= life.last.get(sequence, 0):
                raise Wrong(f"{text} came after number {life.last[sequence]}")
            if number in self._saved.get(sequence, ()):
                raise Wrong(f"{text} came again after it was saved")
            life.last[sequence] = number
            numbers.append(number)
        self._received.setdefault(sequence, set()).update(numbers)
        read = reads.setdefault(sequence, Read())
        read.numbers += numbers
        read.open += 1
        life.unresolved.append((read, batch))

    def _acknowledge(self, which: int) -> None:
        life = self._begin()
        if life.unresolved:
            read, batch = life.unresolved.pop(which % len(life.unresolved))
            read.open -= 1
            batch.resolve()

    def _save(self) -> None:
        life = self._begin()
        self._registrar.step()
        for sequence, reads in life.reads.items():
            first = min(number for read in reads for number in read.numbers)
            self._first[sequence] = min(self._first.get(sequence, first), first)
            for read in reads:
                if read.open:
                    break
                self._saved.setdefault(sequence, set()).update(read.numbers)

    def _kill(self) -> None:
        self._end_life()

    def _stop(self) -> None:
        if (life := self._life) is not None:
            self._feed.stop()
            while life.unresolved:
                self._acknowledge(0)
            if not self._feed.finished:
                raise Wrong("it does not finish when all is acknowledged")
            self._clock.advance(1.0)
            self._save()
            self._end_life()

    def _end_life(self) -> None:
        self._life = None

    def _settle(self) -> None:
        idle = 0
        for _ in range(MAX_TURNS):
            before = self._taken
            self._run(1)
            self._clock.advance(30.0)
            idle = idle + 1 if before == self._taken else 0
            if idle > IDLE:
                return
        raise Wrong("entries come for ever")

    def _account(self) -> None:
        must_count = 0
        for writer in self._writers.values():
            for sequence, last in writer.last.items():
                received = self._received.get(sequence, set())
                missing = set(range(1, last + 1)) - received
                if kept := missing - writer.removed[sequence]:
                    raise Wrong(f"{sequence}: numbers {sorted(kept)} never came")
                if sequence in self._first and last in received:
                    must_count += sum(number > self._first[sequence] for number in missing)
        counted = self._metrics.journal_entries_lost
        if not self._program.filtered and counted < must_count:
            raise Wrong(f"{must_count} entries are lost, {counted} counted")
