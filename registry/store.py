"""The registry on disk. One directory, `<path.data>/registry/`:

    lock               locked (flock) while a store is open, as is the directory; its text is the holder's pid
    log.ndjson         what changed: groups of JSON lines, each group written at once and fsynced before the next
    checkpoint.ndjson  all live entries up to one group; replaces what the log had until then
    *.tmp              a file that is being made; whatever a crash leaves of it is overwritten

`form.py` has the lines. Groups are numbered from 1 on and never restart. The header of the checkpoint names the last
group that it includes; the header of the log names the group after which the log begins.

Why a killed writer's registry always loads:

- *A group* is durable when `append` returns (fsync). Of the one being written, any part may be there: a last group
  that does not match its closing line is a torn tail and is cut off, with a warning. Damage before a later group was
  not done by a crash: RegistryCorrupt.
- *A checkpoint* is written beside the old one, fsynced, renamed over it, and the directory fsynced; only then the log
  is started again in the same way. In between, the log still has groups that the checkpoint includes: they are skipped.
- *A missing file* is noticed: a log that begins after group 12 needs a checkpoint that includes group 12, and a
  checkpoint needs a log. Only a directory with neither is a new registry.
- *A failed append* (disk full) leaves a part of a group; it is cut before the next append, and when the cut fails, it
  is tried first the next time. So no group is ever written behind a damaged one.
- *A failed checkpoint* costs nothing but a longer log.
- *A registry of an older version* is read as it is, and folded into a checkpoint of this one before anything is
  appended: so the older release refuses it as too new, instead of finding an entry that it takes for damage.
- *A directory that is removed while it is in use* (or its log) is noticed by the next write, or `keep_place`, and made
  again with all entries: first in a log that needs no checkpoint, so that a crash in between leaves nothing half. Where
  something else is there by now, someone restored a backup or started a second writer: RegistryReplaced.
- *What `open` shows is on disk*: a writer that was killed leaves bytes that only the page cache has. They are fsynced
  before anybody may rely on them (a file id in a record sent), or a power failure could take them back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Self

from durable.disk import File, write_all
from registry import form
from registry.errors import RegistryLocked, RegistryReplaced
from registry.files import LOCK, Files, Lock, translated
from registry.load import CHECKPOINT, LOG, Loaded, load, read
from registry.state import FileState

__all__ = ["Store", "read"]

_logger = logging.getLogger(__name__)


def _do_nothing() -> None:
    pass


class Store:
    """Used by one thread at a time. `states` is the live view: what is on disk, changed by `append` only."""

    def __init__(self, directory: Path, files: Files, lock: Lock, found: Loaded, checkpoint_after: int) -> None:
        self.directory = directory
        self.states = found.states
        self._files = files
        self._lock = lock
        self._checkpoint_after = checkpoint_after
        self._checkpoint_due = checkpoint_after
        self._group = found.group
        self._end = found.log_end  # the log's bytes up to here are groups on disk
        self._entries = found.log_entries
        self._half_group = False  # bytes behind _end are to be cut first
        self._rename_pending = False  # the log's name is not on disk yet
        self._outdated = found.log_version < form.VERSION
        self._log: File
        self.before_remaking: Callable[[], None] = _do_nothing  # makes what belongs beside a directory that was removed

    @classmethod
    def open(cls, directory: Path, files: Files, checkpoint_after: int = 1000) -> Self:
        """Takes the directory's lock, loads, cuts a torn tail.

        A checkpoint is made when the log has more than `checkpoint_after` entries, and more than there are live ones.
        Raises RegistryLocked, RegistryCorrupt, RegistryTooNew, OSError.
        """
        with ExitStack() as undo:
            lock = files.lock(directory)
            undo.callback(lock.close)
            for name in (LOCK, CHECKPOINT, LOG):
                files.give_mode(directory / name)
            found = load(directory, files.read(directory / CHECKPOINT), files.read(directory / LOG))
            store = cls(directory, files, lock, found, checkpoint_after)
            store._open_log(found)
            undo.pop_all()
            return store

    def _open_log(self, found: Loaded) -> None:
        if found.log_group < found.group:  # none yet, or it lost a tail that the checkpoint has: numbers would not fit
            self._start_log()
            self._repair()
            return
        file = self.directory / LOG
        self._log = self._files.open(file)
        if found.torn:
            _logger.warning("%s: cut an unfinished group of %d bytes at byte %d", file, found.torn, self._end)
            self._log.truncate(self._end)
        self._log.fsync()  # see "what `open` shows is on disk"
        self._files.fsync_dir(self.directory)

    def append(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """`write`, and the checkpoint if it is due."""
        self.write(changed, removed)
        self.checkpoint_if_due()

    def write(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """One group, on disk when this returns. Raises OSError: then nothing of it counts, and it may be repeated."""
        if not changed and not removed:
            return
        self.keep_place()
        self._repair()
        if self._outdated:
            self._checkpoint()
        self._half_group = True
        size = 0
        for piece in form.pieces(self._group + 1, chain(map(form.entry, changed), map(form.removal, removed))):
            write_all(self._log, piece)
            size += len(piece)
        self._log.fsync()
        self._half_group = False
        self._group += 1
        self._end += size
        self._entries += len(changed) + len(removed)
        self.states.update((state.id, state) for state in changed)
        for file_id in removed:
            self.states.pop(file_id, None)
        self.keep_place()  # an fsync of a file without a name keeps nothing

    def keep_place(self) -> None:
        """See that the registry is where it belongs, and if it was removed, make it again with all entries.

        Raises OSError, after which it may be repeated, and RegistryReplaced."""
        if not self._lock.is_at(self.directory):
            self._move_in()
        elif not self._log.is_at(self.directory / LOG):
            self._make_again(whole=self._files.read(self.directory / CHECKPOINT) is None)

    def _move_in(self) -> None:
        with translated():
            self.before_remaking()
        try:
            lock = self._files.lock(self.directory)
        except RegistryLocked as error:
            other = "another process" if error.pid is None else f"process {error.pid}"
            raise RegistryReplaced(self.directory, f"{other} writes there now") from error
        with ExitStack() as undo:
            undo.callback(lock.close)
            if self._files.read(self.directory / CHECKPOINT) is not None:
                raise RegistryReplaced(self.directory, "the checkpoint of another is there")
            self._make_again(whole=True)
            undo.pop_all()
        self._lock.close()
        self._lock = lock

    def _make_again(self, *, whole: bool) -> None:
        """`whole`: in a log that has all entries itself; else the checkpoint that is there would go before it."""
        log = self.directory / LOG
        if self._files.read(log) is not None and not self._log.is_at(log):
            raise RegistryReplaced(self.directory, "the log of another is there")
        if whole:
            old = self._log
            pieces = form.pieces(1, map(form.entry, self.states.values()), form.header("log", 0))
            self._log, self._end = self._replace(LOG, pieces)
            self._group, self._entries = 1, len(self.states)
            self._half_group, self._rename_pending, self._outdated = False, True, False
            old.close()
            self._repair()
        else:
            self._checkpoint()
        _logger.error(
            "registry %s: it was removed while this process uses it, and was made again with all %d entries: nothing is"
            " lost; stop the shipper before its path.data is moved or removed",
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
        """With many entries it takes seconds. Raises nothing: without it the log only grows longer."""
        if self._entries <= max(self._checkpoint_due, len(self.states)):
            return
        try:
            self._checkpoint()
            self._checkpoint_due = self._checkpoint_after
        except OSError as error:
            # The group that was appended is safe; so this is not a failure of append, and a disk that is full is not
            # asked for a whole checkpoint at each group.
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
        """The caller repairs: until then the new log's name is not on disk."""
        header = form.header("log", self._group)
        self._log, self._end = self._replace(LOG, [header])
        # From here on the new file is the log, even when the fsync of the directory fails: the old one has no name.
        self._entries, self._half_group, self._rename_pending = 0, False, True
        self._outdated = False

    def _replace(self, name: str, pieces: Iterable[bytes]) -> tuple[File, int]:
        """The new file, open, and its size. The caller does the fsync of the directory, without which the rename may be
        undone."""
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
                file.truncate(0)  # gives the space back: the log needs it more
            file.close()
            raise
        return file, size

    def close(self) -> None:
        self._log.close()
        self._lock.close()
