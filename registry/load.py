"""Checkpoint and log together are the registry; this is the one place that puts them together."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from registry import form
from registry.errors import RegistryCorrupt, RegistryTooNew
from registry.files import DiskFiles, Files
from registry.state import FileState

LOG = "log.ndjson"
CHECKPOINT = "checkpoint.ndjson"


@dataclass(slots=True)
class Loaded:
    states: dict[str, FileState] = field(default_factory=dict)
    group: int = 0  # the last one that is in `states`
    log_group: int = -1  # the last one in the log; below `group`, the log cannot be continued
    log_end: int = 0  # bytes of the log that are whole
    log_entries: int = 0
    torn: int = 0  # bytes behind them
    log_version: int = form.VERSION


def load(directory: Path, checkpoint: bytes | None, log: bytes | None) -> Loaded:
    """Raises RegistryCorrupt, RegistryTooNew."""
    found = Loaded()
    with _no_collector():
        if checkpoint is not None:
            _load(directory / CHECKPOINT, checkpoint, found, _add_checkpoint)
        if log is not None:
            _load(directory / LOG, log, found, _add_log)
    if log is None and checkpoint is not None:
        raise RegistryCorrupt(directory / LOG, 0, "the file is missing, although there is a checkpoint")
    return found


@contextmanager
def _no_collector() -> Iterator[None]:
    """The garbage collector would look again and again at entries that stay: a third of the time of a long load."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load(file: Path, data: bytes, found: Loaded, add: Callable[[Path, bytes, Loaded], None]) -> None:
    try:
        add(file, data, found)
    except form.Damaged as damage:
        raise RegistryCorrupt(file, damage.offset, damage.why) from damage
    except form.TooNew as newer:
        raise RegistryTooNew(file, newer.version, form.VERSION) from newer


def _add_checkpoint(file: Path, data: bytes, found: Loaded) -> None:
    header = form.read_header(data, "checkpoint")
    whole = next(form.groups(data, header.end, header.group), None)
    # It was renamed into place only after it was on disk as a whole: here nothing is excused as a torn tail.
    if whole is None:
        raise form.Damaged(header.end, "the entries do not match the count and checksum at the end")
    if whole.end != len(data):
        raise form.Damaged(whole.end, "bytes behind the end")
    form.apply(data, whole, found.states)
    found.group = header.group


def _add_log(file: Path, data: bytes, found: Loaded) -> None:
    header = form.read_header(data, "log")
    first, end = header.group, header.end
    if first > found.group:
        why = f"groups up to {first} are missing: the log needs a checkpoint that has them"
        raise RegistryCorrupt(file.with_name(CHECKPOINT), 0, why)
    last = first
    for whole in form.groups(data, end, first + 1):
        if whole.number > found.group:  # else: a crash between checkpoint and new log, the checkpoint has it
            form.apply(data, whole, found.states)
        last, end = whole.number, whole.end
        found.log_entries += whole.entries
    form.check_tail(data, end, last + 1)
    found.group = max(found.group, last)
    found.log_group, found.log_end, found.torn = last, end, len(data) - end
    found.log_version = header.version


def read(directory: Path, files: Files | None = None) -> dict[str, FileState]:
    """The entries, without the lock, also while a daemon writes; {} without a registry.

    Raises RegistryCorrupt, RegistryTooNew, OSError (no right to read).
    """
    disk = files or DiskFiles()
    before: tuple[bytes | None, bytes | None] | None = None
    while True:
        now = (disk.read(directory / CHECKPOINT), disk.read(directory / LOG))
        try:
            return load(directory, *now).states
        except RegistryCorrupt:
            # A writer that swapped or cut a file between or during the reads looks like damage, but not twice alike.
            if now == before:
                raise
        before = now
