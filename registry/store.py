"""The registry on disk. One directory, `<path.data>/registry/`:

    lock               locked (flock) while a store is open, as is the directory; its text is the holder's pid
    log.ndjson         what changed: groups of JSON lines, each group written at once and fsynced before the next
    checkpoint.ndjson  all live entries up to one group; replaces what the log had until then
    recent.ndjson      what changed since the last group of the log: written at once, not fsynced
    *.tmp              a file that is being written; what a crash leaves of it is overwritten

`form.py` has the lines. Groups are numbered from 1 on and never restart. The header of the checkpoint names the last
group that it includes; the header of the log names the group after which the log begins.

Why a killed writer's registry always loads:

- *A group* is durable when `append` returns (fsync). Of the one being written, any part may be there: a last group
  that does not match its closing line is a torn tail and is cut off, with a warning. Damage before a later group was
  not done by a crash: RegistryCorrupt.
- *A checkpoint* is written beside the old one, fsynced, renamed over it, and the directory fsynced; only then the log
  is replaced by an empty one in the same way. In between, the log still has groups that the checkpoint includes: they
  are skipped.
- *A missing file* is noticed: a log that begins after group 12 needs a checkpoint that includes group 12, and a
  checkpoint needs a log. Only a directory with neither is a new registry.
- *A failed append* (disk full) leaves a part of a group; it is cut before the next append, and when the cut fails, it
  is tried first the next time. So no group is ever written behind a damaged one.
- *A failed checkpoint* costs nothing but a longer log.
- *A directory that is removed while it is in use* (or its log) is noticed by the next write, or `ensure_in_place`, and
  re-created with all entries: first as a log that needs no checkpoint, so that a crash leaves no half of a registry.
  Where another registry is in its place, a backup was restored or a second writer was started: RegistryReplaced.
- *What is recent* is for a process that is killed: the page cache keeps what it wrote. After a power failure any part
  of it may be there, or nothing. So nothing relies on it: the next group of the log has all of it too, and then it is
  void, because its header names the group before. What can be read of it, up to the first damage, is applied.
- *What `open` returns is on disk*: a writer that was killed leaves bytes that only the page cache has. They are fsynced
  before anything relies on them (a file id in a record that is sent), or a power failure could take them back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Self

from log_shipper.registry import form
from log_shipper.registry.errors import RegistryLocked, RegistryReplaced
from log_shipper.registry.files import LOCK, Files, Lock, translated
from log_shipper.registry.load import CHECKPOINT, LOG, RECENT, Loaded, load, read
from log_shipper.registry.saves import Saves
from log_shipper.registry.state import FileState
from log_shipper.runtime.disk import File, write_all

__all__ = ["Store", "read", "split"]

_logger = logging.getLogger(__name__)


def _do_nothing() -> None:
    pass


class Store:
    """The open registry. Used by one thread at a time. `states`: all entries, as they are on disk; `write` changes
    them."""

    def __init__(
        self,
        directory: Path,
        files: Files,
        lock: Lock,
        loaded: Loaded,
        checkpoint_after: int,
        before_recreating: Callable[[], None],
    ) -> None:
        self.directory = directory
        self.states = loaded.states
        self.is_new = not loaded.group  # nothing was ever written
        self._files = files
        self._lock = lock
        self._checkpoint_after = checkpoint_after
        self._checkpoint_due = checkpoint_after
        self._group = loaded.group
        self._end = loaded.log_end  # the log's bytes up to here are groups on disk
        self._entries = loaded.log_entries
        self._half_group = False  # bytes behind _end are to be cut first
        self._rename_pending = False  # the log's name is not on disk yet
        self._log: File
        self._found_recent = loaded.recent  # of a process that was killed: in no group yet
        self._recent: File | None = None  # since the last group
        self._recent_group = 0
        self.saves = Saves()
        self._before_recreating = before_recreating

    @classmethod
    def open(
        cls,
        directory: Path,
        files: Files,
        checkpoint_after: int = 1000,
        before_recreating: Callable[[], None] = _do_nothing,
    ) -> Self:
        """Lock the directory, load the registry, and cut off a torn tail.

        `before_recreating` creates the parents of a directory that was removed. A checkpoint is written when the log
        has more than `checkpoint_after` entries, and more than there are live ones. Raises RegistryLocked,
        RegistryCorrupt, RegistryForeignVersion, OSError.
        """
        with ExitStack() as undo:
            lock = files.lock(directory)
            undo.callback(lock.close)
            for name in (LOCK, CHECKPOINT, LOG, RECENT):
                files.give_mode(directory / name)
            loaded = load(directory, *(files.read(directory / name) for name in (CHECKPOINT, LOG, RECENT)))
            store = cls(directory, files, lock, loaded, checkpoint_after, before_recreating)
            store._open_log(loaded)
            if loaded.recent:
                with suppress(OSError):  # a full disk does not keep the agent from starting: the next group has it
                    store.write([])
            undo.pop_all()
            return store

    def _open_log(self, loaded: Loaded) -> None:
        # There is none yet, or it has lost a tail that the checkpoint includes: its numbers would not continue.
        if loaded.log_group < loaded.group:
            self._start_log()
            self._repair()
            return
        file = self.directory / LOG
        self._log = self._files.open(file)
        if loaded.torn:
            _logger.warning("%s: cut an unfinished group of %d bytes at byte %d", file, loaded.torn, self._end)
            self._log.truncate(self._end)
        self._log.fsync()  # see "what `open` shows is on disk"
        self._files.fsync_dir(self.directory)

    def append(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """Write a group, and a checkpoint if it is due. Raises as `write`."""
        self.write(changed, removed)
        self.checkpoint_if_due()

    def write(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """Write one group, which is on disk when this returns. Raises OSError: then nothing of it counts, and the call
        may be repeated."""
        if self._found_recent:
            newer = {state.id: state for state in changed} | dict.fromkeys(removed)
            changed, removed = split(self._found_recent | newer)
        if not changed and not removed:
            return
        self.ensure_in_place()
        self._repair()
        self._half_group = True
        size = 0
        for piece in form.pieces(self._group + 1, chain(map(form.entry, changed), map(form.removal, removed))):
            write_all(self._log, piece)
            size += len(piece)
        began = time.perf_counter()
        self._log.fsync()
        self.saves.fsync.add(time.perf_counter() - began)
        self._half_group = False
        self._found_recent = {}
        self._group += 1
        self._end += size
        self._entries += len(changed) + len(removed)
        self.states.update((state.id, state) for state in changed)
        for file_id in removed:
            self.states.pop(file_id, None)
        self.ensure_in_place()  # an fsync of a file without a name keeps nothing
        self._close_recent()

    def write_recent(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """Write what the next group will have, so that a kill before it does not take it. Not fsynced. Raises OSError:
        then nothing is written until the next group."""
        try:
            if self._recent is None:
                self._recent_group = self._group
                if not self._log.is_at(self.directory / LOG):
                    return  # removed, or another's: the next group finds out
                self._recent = self._files.open(self.directory / RECENT, fresh=True)
                write_all(self._recent, form.header("recent", self._group))
            self._recent_group += 1
            entries = chain(map(form.entry, changed), map(form.removal, removed))
            for piece in form.pieces(self._recent_group, entries):
                write_all(self._recent, piece)
        except OSError:
            self._close_recent()
            raise

    def _close_recent(self) -> None:
        if self._recent is not None:
            self._recent.close()
            self._recent = None

    def ensure_in_place(self) -> None:
        """Check that the registry is at its path; where it was removed, re-create it with all entries.

        Raises OSError, after which the call may be repeated, and RegistryReplaced."""
        if not self._lock.is_at(self.directory):
            self._recreate_directory()
        elif not self._log.is_at(self.directory / LOG):
            self._recreate_files(without_checkpoint=self._files.read(self.directory / CHECKPOINT) is None)

    def _recreate_directory(self) -> None:
        with translated():
            self._before_recreating()
        try:
            lock = self._files.lock(self.directory)
        except RegistryLocked as error:
            other = "another process" if error.pid is None else f"process {error.pid}"
            raise RegistryReplaced(self.directory, f"{other} writes there now") from error
        with ExitStack() as undo:
            undo.callback(lock.close)
            if self._files.read(self.directory / CHECKPOINT) is not None:
                raise RegistryReplaced(self.directory, "the checkpoint of another is there")
            self._recreate_files(without_checkpoint=True)
            undo.pop_all()
        self._lock.close()
        self._lock = lock

    def _recreate_files(self, *, without_checkpoint: bool) -> None:
        """`without_checkpoint`: write a log that has all entries itself. Else a new checkpoint replaces the existing
        one."""
        log = self.directory / LOG
        self._close_recent()
        if self._files.read(log) is not None and not self._log.is_at(log):
            raise RegistryReplaced(self.directory, "the log of another is there")
        if without_checkpoint:
            old = self._log
            self._files.open(self.directory / RECENT, fresh=True).close()  # one of an earlier group 1 must not count
            pieces = form.pieces(1, map(form.entry, self.states.values()), form.header("log", 0))
            self._log, self._end = self._replace(LOG, pieces)
            self._group, self._entries = 1, len(self.states)
            self._half_group, self._rename_pending = False, True
            old.close()
            self._repair()
        else:
            self._checkpoint()
        _logger.error(
            "registry %s: it was removed while this process uses it, and was re-created with all %d entries: nothing"
            " is lost; stop the shipper before its path.data is moved or removed",
            self.directory,
            len(self.states),
        )

    def _repair(self) -> None:
        if self._rename_pending:
            # Without it a power failure brings back the old log, and what was appended to the new one is lost.
            self._files.fsync_dir(self.directory)
            self._rename_pending = False
        if self._half_group:
            self._log.truncate(self._end)
            self._log.fsync()  # or the cut bytes could come back behind the next group
            self._half_group = False

    def checkpoint_if_due(self) -> None:
        """Write a checkpoint if the log is long enough. With many entries it takes seconds. Raises nothing: without it
        the log only grows longer."""
        if self._entries <= max(self._checkpoint_due, len(self.states)):
            return
        try:
            self._checkpoint()
            self._checkpoint_due = self._checkpoint_after
        except OSError as error:
            # The group that was appended is safe, so this is not a failure of `append`. On a full disk a checkpoint is
            # not tried again with every group.
            self._checkpoint_due = self._entries + self._checkpoint_after
            _logger.warning("%s: no checkpoint was written, and the log keeps growing: %s", self.directory, error)

    def _checkpoint(self) -> None:
        header = form.header("checkpoint", self._group)
        self._replace(CHECKPOINT, form.pieces(self._group, map(form.entry, self.states.values()), header))[0].close()
        self._files.fsync_dir(self.directory)  # or a crash could keep the new log and the old checkpoint
        old = self._log
        self._start_log()
        old.close()
        self._repair()

    def _start_log(self) -> None:
        """Begin a new log. The caller calls `_repair`: until then the name of the new log is not on disk."""
        header = form.header("log", self._group)
        self._log, self._end = self._replace(LOG, [header])
        # From here on the new file is the log, even when the fsync of the directory fails: the old one has no name.
        self._entries, self._half_group, self._rename_pending = 0, False, True

    def _replace(self, name: str, pieces: Iterable[bytes]) -> tuple[File, int]:
        """Write a new file in place of the old one; return it, open, and its size. The caller fsyncs the directory:
        until then a power failure may undo the rename."""
        path, size = self.directory / name, 0
        file = self._files.open(path.with_suffix(".tmp"), fresh=True)
        try:
            for piece in pieces:
                write_all(file, piece)
                size += len(piece)
            file.fsync()  # before the rename: or the name may point to an empty file after a power failure
            self._files.rename(path.with_suffix(".tmp"), path)
        except OSError:
            with suppress(OSError):
                file.truncate(0)  # frees the space: the log needs it more
            file.close()
            raise
        return file, size

    def close(self) -> None:
        self._close_recent()
        self._log.close()
        self._lock.close()


def split(changes: dict[str, FileState | None]) -> tuple[list[FileState], list[str]]:
    """Return the states that changed, and the ids that were removed."""
    changed = [state for state in changes.values() if state is not None]
    return changed, [file_id for file_id, state in changes.items() if state is None]
