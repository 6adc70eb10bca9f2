"""Loads a registry: checkpoint, log and what changed since are combined here, and nowhere else."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from log_shipper.registry import form
from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion
from log_shipper.registry.files import DiskFiles, Files
from log_shipper.registry.state import FileState

LOG = "log.ndjson"
CHECKPOINT = "checkpoint.ndjson"
RECENT = "recent.ndjson"


@dataclass(slots=True)
class Loaded:
    states: dict[str, FileState] = field(default_factory=dict)
    group: int = 0  # the last one of the log that is in `states`
    recent: dict[str, FileState | None] = field(default_factory=dict)  # in `states` too, and in no group of the log
    log_group: int = -1  # the last one in the log; below `group`, the log cannot be continued
    log_end: int = 0  # bytes of the log that are whole
    log_entries: int = 0
    torn: int = 0  # bytes behind them


def load(directory: Path, checkpoint: bytes | None, log: bytes | None, recent: bytes | None = None) -> Loaded:
    """Return what the files contain together. Raises RegistryCorrupt, RegistryForeignVersion."""
    loaded = Loaded()
    with _no_collector():
        if checkpoint is not None:
            _load(directory / CHECKPOINT, checkpoint, loaded, _add_checkpoint)
        if log is not None:
            _load(directory / LOG, log, loaded, _add_log)
    if log is None and checkpoint is not None:
        raise RegistryCorrupt(directory / LOG, 0, "the file is missing, although there is a checkpoint")
    if recent is not None:
        # A power failure may leave anything of it; the log has what counts.
        with suppress(form.Damaged, form.ForeignVersion):
            _add_recent(recent, loaded)
    return loaded


@contextmanager
def _no_collector() -> Iterator[None]:
    """Turn the garbage collector off: it would examine entries that stay again and again, a third of the time of a long
    load."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load(file: Path, data: bytes, loaded: Loaded, add: Callable[[Path, bytes, Loaded], None]) -> None:
    try:
        add(file, data, loaded)
    except form.Damaged as damage:
        raise RegistryCorrupt(file, damage.offset, damage.why) from damage
    except form.ForeignVersion as other:
        raise RegistryForeignVersion(file, other.version, form.VERSION) from other


def _add_checkpoint(file: Path, data: bytes, loaded: Loaded) -> None:
    header = form.read_header(data, "checkpoint")
    whole = next(form.groups(data, header.end, header.group), None)
    # It was renamed into place only after all of it was on disk: an incomplete checkpoint is never a torn tail.
    if whole is None:
        raise form.Damaged(header.end, "the entries do not match the count and checksum at the end")
    if whole.end != len(data):
        raise form.Damaged(whole.end, "bytes behind the end")
    form.apply(data, whole, loaded.states)
    loaded.group = header.group


def _add_log(file: Path, data: bytes, loaded: Loaded) -> None:
    header = form.read_header(data, "log")
    first, end = header.group, header.end
    if first > loaded.group:
        why = f"groups up to {first} are missing: the log needs a checkpoint that has them"
        raise RegistryCorrupt(file.with_name(CHECKPOINT), 0, why)
    last = first
    for whole in form.groups(data, end, first + 1):
        if whole.number > loaded.group:  # else: a crash between checkpoint and new log, the checkpoint has it
            form.apply(data, whole, loaded.states)
        last, end = whole.number, whole.end
        loaded.log_entries += whole.entries
    form.check_tail(data, end, last + 1)
    loaded.group = max(loaded.group, last)
    loaded.log_group, loaded.log_end, loaded.torn = last, end, len(data) - end


def _add_recent(data: bytes, loaded: Loaded) -> None:
    header = form.read_header(data, "recent")
    if header.group != loaded.group:
        return  # the log went on, with all of it
    for whole in form.groups(data, header.end, header.group + 1):
        loaded.recent.update(form.changes(data, whole))
        form.apply(data, whole, loaded.states)


def read(directory: Path, files: Files | None = None) -> dict[str, FileState]:
    """Return the entries, without the lock, also while an agent writes; {} without a registry.

    Raises RegistryCorrupt, RegistryForeignVersion, OSError (no right to read).
    """
    disk = files or DiskFiles()
    before: tuple[bytes | None, ...] | None = None
    while True:
        now = (disk.read(directory / CHECKPOINT), disk.read(directory / LOG), disk.read(directory / RECENT))
        try:
            return load(directory, *now).states
        except RegistryCorrupt:
            # A writer that replaced or truncated a file between or during the reads looks like damage, but never the
            # same damage twice.
            if now == before:
                raise
        before = now
