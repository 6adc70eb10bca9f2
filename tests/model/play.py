"""Plays a program: the actions on real files and a real agent, and the verdict."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from log_shipper.registry.load import read
from log_shipper.shipper.options.model import FileIdentityConfig
from log_shipper.shipper.options.read_until_eof import ReadUntilEofConfig
from tests.lab import CHECK_INTERVAL
from tests.model.disk import HEADER
from tests.model.equal_disk import EqualDisk
from tests.model.lives import Life
from tests.model.program import Program
from tests.model.verdict import Verdict, Wrong
from tests.still_lab import StillLab

SHORT = 200  # bytes: some files have their fingerprint at once, others later, others never
QUEUE = 3  # events: it is full nearly always
FEW = 2  # files that may be open at once
LATE = 30.0  # seconds in which nothing is flushed: a kill loses many positions
MAX_STEPS = 400  # steps of three seconds: what has not happened by then never will


class Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def collected_warnings() -> Iterator[Warnings]:
    warnings, logger = Warnings(), logging.getLogger("log_shipper.shipper")
    logger.addHandler(warnings)
    try:
        yield warnings
    finally:
        logger.removeHandler(warnings)


def _directory(where: str | None) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="shipper-model-", dir=where)


def play(program: Program) -> None:
    """Play the program. Raises Wrong, with the program, when something is missing, repeated, out of order or lost
    without a log line."""
    # In memory where there is such a directory: an fsync that takes 10 ms would be most of the time. But there no inode
    # is used again, so the files of some programs are where they are by default.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    where = None if program.options.get("disk") else memory
    with _directory(memory) as own, _directory(where) as directory, collected_warnings() as warnings:
        lab = StillLab(Path(directory))
        lab.data = Path(own) / "data-0"
        player = Player(lab, program, warnings)
        try:
            player.play()
        except Exception as error:
            error.add_note(f"after action {player.done} of\n{program}\nlogged:\n" + "\n".join(warnings.lines[-20:]))
            raise
        finally:
            lab.close()


class Player:
    def __init__(self, lab: StillLab, program: Program, warnings: Warnings) -> None:
        self.done = 0
        self._lab = lab
        self._program = program
        self._warnings = warnings
        options = program.options
        reading = program.reading
        self._disk = EqualDisk(lab, reading, header=options["header"])
        self._verdict = Verdict(lab, self._disk.lives, reading, HEADER if options["header"] else b"")
        self._known: dict[str, int] = {}  # by file id: bytes that the registry knew of
        lab.input |= reading.options
        if options["symlinks"]:
            lab.scanner["symlinks"] = True
        if options.get("resend"):
            lab.scanner["resend_on_touch"] = True
        if options.get("growing"):
            lab.input["file_identity"] = FileIdentityConfig("fingerprint", length=SHORT, growing=True)
        if options.get("full"):
            lab.queue_events = QUEUE
        if options.get("few"):
            lab.input["harvester_limit"] = FEW
        if options.get("until_eof"):
            lab.input["read_until_eof"] = ReadUntilEofConfig(enabled=True)
        if options["gzip"]:
            lab.input["compression"] = "auto"
        lab.flush = 0.0 if options["flush_at_once"] else LATE

    def play(self) -> None:
        if not self._program.options.get("present"):
            self._lab.start()
        for name, *arguments in self._program.actions:
            self._verdict.take()
            own = getattr(self, f"_{name}", None)
            if own is not None:
                own(*arguments)
            else:
                getattr(self._disk, name)(*arguments)
                self._disk.look()
            self.done += 1
        self._settle()
        self._stop()
        self._lab.run_once()
        self._verdict.take()
        if missing := self._verdict.coverage.missing(unfinished_too=True):
            raise Wrong(f"after --once: {missing}")
        self._run((0, *[11] * 10))  # with --once the agent does not look for missing files
        self._stop()
        self._account()

    def _start(self) -> None:
        if self._lab.app is None:
            self._lab.start()

    def _run(self, pauses: tuple[float, ...]) -> None:
        self._start()
        for seconds in pauses:
            self._lab.step(seconds)
        # With few files open at once, those that wait for their turn were not looked at.
        if sum(pauses) > CHECK_INTERVAL and not self._program.options.get("few"):
            self._disk.unseen.agent_looked(has_room=self._lab.running.pipeline.has_room)
        if self._disk.link_ends.agent_ran(pauses) and not self._program.options.get("few"):
            self._expect_open_link_ends()

    def _expect_open_link_ends(self) -> None:
        """Raise Wrong unless what links lead to was opened. The agent did not wait for its next scan."""
        self._verdict.take()
        opened = self._lab.opened_by_agent()
        # A new file that got the inode of a truncated one is opened once the data of that one are acknowledged.
        opened |= {inode for _, _, inode in self._lab.crawler.files.draining}
        for life in self._disk.at_link_ends():
            was_read = life.handed or life.arrived or self._verdict.continued_bytes(life)
            expected = self._program.reading.shippable(bytes(life.content), at_start=True)  # else it may be closed
            if expected and not was_read and not life.inodes_now & opened:
                raise Wrong(f"{life} is at the end of a link, and was not opened")

    def _hold(self, holding: bool) -> None:
        self._start()
        self._lab.destination.holding = holding

    def _arrive(self, batches: int) -> None:
        self._start()
        if self._lab.destination.holding:
            self._lab.destination.arrive_some(batches)

    def _acknowledge(self, which: int) -> None:
        """Only one batch: a later one may be acknowledged before an earlier one."""
        self._start()
        self._lab.destination.acknowledge_one(which)

    def _pause(self, seconds: float) -> None:
        self._lab.clock.advance(seconds)

    def _settle(self) -> None:
        """Let the agent work until all has arrived that can arrive."""
        self._start()
        self._lab.destination.holding = False
        for step in range(1, MAX_STEPS):
            self._lab.step(3)
            new = self._verdict.take()
            if not new and not self._verdict.coverage.missing():
                self._disk.link_ends.agent_ran((3.0,) * step)
                return
        raise Wrong(f"does not arrive: {self._verdict.coverage.missing()}")

    def _stop(self) -> None:
        if self._lab.app is not None:
            self._lab.destination.holding = False
            self._lab.stop()
            self._disk.unseen.agent_saved()
            self._agent_ended(killed=False)

    def _kill(self) -> None:
        if self._lab.app is not None:
            self._lab.kill()
            self._disk.unseen.agent_was_killed()
            self._agent_ended(killed=True)

    def _agent_ended(self, *, killed: bool) -> None:
        self._verdict.take()
        self._disk.link_ends.agent_ended()
        for life in self._disk.lives.all:
            life.agent_ended(killed=killed)
        self._disk.look()  # through its open handles it could have read more
        for state in read(self._lab.data / "registry").values():
            self._known[state.id] = max(self._known.get(state.id, 0), state.size_seen)

    def _account(self) -> None:
        """Raise Wrong unless what the agent knew of and could not ship was logged and counted."""
        silent, lost = [], 0
        for file_id, received in self._verdict.ids.items():
            life = received.life
            if life.owed is None or self._has_copy(life) or self._disk.exists(life):
                continue
            known = min(self._known.get(file_id, 0), len(life.content))
            end = max((stop for _, stop in self._verdict.coverage.spans(life)), default=0)
            if unshipped := self._verdict.coverage.shippable(life, end, known):
                # Empty lines before an indented line may be a message of their own that ended by time.
                lost += len(unshipped.lstrip(self._program.reading.newline))
                if not any(file_id in line for line in self._warnings.lines):
                    silent.append(f"{life}: bytes {end} to {known} (file id {file_id})")
        if silent:
            raise Wrong(f"lost without a log line: {silent}")
        if lost > self._lab.bytes_lost:
            raise Wrong(f"{lost} bytes are lost, {self._lab.bytes_lost} counted")
        if self._disk.link_ends.missed > self._lab.files_missed:
            raise Wrong(f"{self._disk.link_ends.missed} files were missed, {self._lab.files_missed} counted")

    def _has_copy(self, life: Life) -> bool:
        return any(other.twin is not None and life in (other, other.twin) for other in self._disk.lives.all)
