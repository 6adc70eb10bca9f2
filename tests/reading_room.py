"""The parts that read files, on real files: nothing scans, sleeps or writes to a registry by itself."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from log_shipper.registry.pending import SaveTicket
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.files.discovery.scanner import Inode, ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec
from log_shipper.shipper.inputs.files.discovery.watch import Watcher
from log_shipper.shipper.inputs.files.identity.birth import birth_time
from log_shipper.shipper.inputs.files.identity.content import content_for, part_of
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries
from log_shipper.shipper.inputs.files.identity.fingerprint import fingerprint, name_of_file, tail_hash
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch, OpenedFile
from log_shipper.shipper.inputs.files.identity.prefix import Prefix
from log_shipper.shipper.inputs.files.lifecycle.cleaning import Cleaning
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.lifecycle.transitions import Effect, Next, To
from log_shipper.shipper.inputs.files.reading.factory import ActiveInputs, Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.scheduler import Scheduler
from log_shipper.shipper.metrics import Metrics
from tests.builders import AGENT, input_config, source_context
from tests.fakes import ManualClock
from tests.watches import Watches


class Books:
    """A registrar in memory. `written` is what it was given; a save is on disk when the test calls `confirm`."""

    def __init__(self, states: Iterable[FileState] = ()) -> None:
        self.states = {state.id: state for state in states}
        self.written = dict(self.states)
        self.removals: list[str] = []
        self.tickets: list[SaveTicket] = []
        self.saves: list[list[str]] = []  # the ids of each save

    def note(self, *states: FileState) -> None:
        self.written |= {state.id: state for state in states}

    def remove(self, file_id: str) -> None:
        self.removals.append(file_id)
        self.written.pop(file_id, None)

    def save(self, states: list[FileState]) -> SaveTicket:
        self.note(*states)
        self.saves.append([state.id for state in states])
        self.tickets.append(SaveTicket())
        return self.tickets[-1]

    def confirm(self) -> None:
        for ticket in self.tickets:
            ticket.resolve()


def proof_of(content: bytes) -> str:
    """Return the proof in an entry after these bytes were shipped."""
    prefix = Prefix()
    prefix.feed(content)
    return prefix.proof


def entry_of(
    where: Path, position: int = 0, file_id: str = "known", *, seen: bool = False, **changes: Any
) -> FileState:
    """Return the registry entry of a plain file that was read up to `position`; `seen`: it was then closed, and not
    written to since."""
    fd = os.open(where, os.O_RDONLY)
    try:
        status = os.fstat(fd)
        state = FileState(
            file_id,
            str(where),
            status.st_dev,
            status.st_ino,
            fingerprint(fd),
            tail_hash(fd, position),
            position,
            status.st_size,
            input="app",
            proof=proof_of(os.pread(fd, position, 0)) if position else "",
            birth=birth_time(fd),
            modified=status.st_mtime_ns,
            changed=status.st_ctime_ns if seen else 0,
        )
    finally:
        os.close(fd)
    return replace(state, **changes)


class Room:
    """One input and the parts that its files pass through; `candidates` replaces the survey."""

    def __init__(self, folder: Path, clock: ManualClock, states: Iterable[FileState], options: dict[str, Any]) -> None:
        self.folder = folder
        self.clock = clock
        self.books = Books(states)
        self.registrar = cast("Registrar", self.books)
        self.watches = Watches()
        self.watcher = cast("Watcher", self.watches)
        self.metrics = Metrics()
        self.candidates: dict[FileKey, Candidate] = {}
        config = replace(input_config(paths=(f"{folder}/*.log*",)), **options)
        self._inputs = [Input(config, AGENT, {}, 1000, clock, self.registrar.note)]
        self.inputs = ActiveInputs(self._inputs)
        (self.spec,) = self.inputs.specs.values()
        self.scheduler = Scheduler(self.watcher, clock, 0.025)
        states, specs = self.registrar.states.values(), self.inputs.specs
        self.entries = RegistryEntries(states, self.registrar, clock, self.metrics, specs)
        self.cleaning = Cleaning(self.entries, self.registrar, clock, self.inputs.specs)
        self.shut: list[Harvester] = []
        self.open_files = OpenFiles(
            self.entries, self.scheduler, self.watcher, self.context(), self.candidates.get, self.shut.append
        )
        self._fds: list[tuple[int, Inode]] = []

    def context(self, *, once: bool = False) -> SourceContext:
        return source_context(self.registrar, self.clock, self.metrics, once=once)

    def add_input(self, added: Input) -> InputSpec:
        self._inputs.append(added)
        self.inputs.replace(self._inputs)
        return added.spec

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, content: bytes) -> None:
        self.path(name).write_bytes(content)

    def append(self, name: str, content: bytes) -> None:
        with self.path(name).open("ab") as file:
            file.write(content)

    def open(self, name: str, spec: InputSpec | None = None) -> OpenedFile:
        path = str(self.path(name))
        spec = spec or self.spec
        scanned = ScannedFile.from_status(path, os.stat(path))
        fd = os.open(path, os.O_RDONLY)
        self._fds.append((fd, scanned.inode))
        content = content_for(spec.config, fd)
        known_by = name_of_file(spec.config, scanned, partial(part_of, content), content.ends_before)
        assert known_by is not None
        return OpenedFile(scanned, content, scanned.size, known_by, spec, birth_time(fd), os.fstat(fd).st_mtime_ns)

    def read(self, name: str, content: bytes, *, spec: InputSpec | None = None, once: bool = False) -> Harvester:
        """Write a new file, and open it to be read from its start."""
        self.write(name, content)
        opened = self.open(name, spec)
        return self.start(opened, self.entries.make(opened), once=once)

    def start(self, opened: OpenedFile, claim: EntryMatch, *, once: bool = False) -> Harvester:
        harvester = self.inputs.open(opened, claim.state, self.open_files.settled, once=once, was=claim.was)
        self.open_files.add(harvester)
        return harvester

    def close_file(self, harvester: Harvester) -> bool:
        """Close a file as an option would; False if it has new data."""
        self.open_files.watch(harvester)
        if harvester.at_end and not harvester.content.compressed and harvester.has_changed(harvester.status()):
            self.open_files.wake(harvester)
            return False
        to = To.CLOSED if harvester.at_end or harvester.finished else To.NONE
        self.open_files.leave(harvester, Next(to, (Effect.KEEP,)))
        return True

    def end(self, harvester: Harvester, ended: str) -> None:
        self.open_files.leave(harvester, Next(To.NONE, (Effect.END,), ended=ended))

    def release(self, harvester: Harvester, *, until_new_data: bool = False) -> None:
        self.open_files.leave(harvester, Next(To.CLOSED if until_new_data else To.NONE))

    def close(self) -> None:
        for harvester in self.open_files.running.values():
            if harvester.is_open:
                harvester.close()
        for fd, key in self._fds:
            with suppress(OSError):  # most were closed by their owners
                status = os.fstat(fd)
                if (status.st_dev, status.st_ino) == key:
                    os.close(fd)


def read_all(harvester: Harvester) -> list[Batch]:
    """Read the file to its end; nothing is acknowledged."""
    batches = []
    while (batch := harvester.read()) is not None or (harvester.is_busy and not harvester.finished):
        if batch is not None:
            batches.append(batch)
    return batches


def acknowledge(batches: Iterable[Batch]) -> None:
    for batch in batches:
        batch.resolve()


def finish(harvester: Harvester) -> Harvester:
    """Read the file to its end, and acknowledge all of it."""
    acknowledge(read_all(harvester))
    return harvester


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
