"""The files of dead letters in path.data: the current one, those that it was renamed to, and the one that is being
sent again.

A letter is identified by a hash of its line. The letters that were sent again are noted by it, on disk, in a file
beside them: it can never be mistaken for that of another letter, whatever is interrupted.

A letter that is refused again is written, with the new reason, *before* the one before it is noted. So one that names
another which is still to be sent is of an attempt that was interrupted, and counts for nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from log_shipper.runtime.disk import fsync_directory
from log_shipper.runtime.locking import FileInUse
from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.formats.letter import Letter
from log_shipper.shipper.pipeline.dead_letter import FILE, ROTATED, DeadLetterFile, rotated_name

RESENDING = "dead_letter.resending.ndjson"
DONE = "dead_letter.resent"
PATIENCE = 10.0  # seconds that another process may write to the file


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A line of a file; `letter` is None where it cannot be read, and `problem` says why."""

    id: str
    line: bytes
    letter: Letter | None
    problem: str = ""


class LetterBox:
    """Every method raises OSError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.current = directory / FILE
        self.resending = directory / RESENDING

    def letters(self) -> Iterator[StoredLetter]:
        """Yield all letters, the oldest first."""
        done, listed = self.done(), set[str]()
        for path in (*self.taken(), self.current):
            for stored in letters_in(path):
                replaces_listed = stored.letter is not None and stored.letter.instead_of in listed
                if stored.id not in done and stored.id not in listed and not replaces_listed:
                    listed.add(stored.id)
                    yield stored

    def rotated(self) -> list[Path]:
        return sorted(self.directory.glob(ROTATED))

    def taken(self) -> list[Path]:
        """Return all files but the current one, the oldest first."""
        return [self.resending, *self.rotated()]

    def done(self) -> set[str]:
        """Return the ids of letters that were sent again, and are not removed from their file yet."""
        with suppress(FileNotFoundError):
            return set((self.directory / DONE).read_text(encoding="ascii", errors="replace").split())
        return set()


class Resending:
    """The box while its letters are sent again, by one process; the agent may write others meanwhile.

    The file whose letters are sent has a name of its own until nothing of it is left to send. So a run that was killed,
    or that gave up, left all as it was: the next one continues with that file, and sends what is not noted as sent.
    """

    def __init__(self, box: LetterBox, file: DeadLetterFile) -> None:
        """`file`: what the letters that stay are written to. Raises FileInUse where another process does this now."""
        self._box = box
        self._file = file
        self._notes = AppendFile(box.directory / DONE)
        if not self._notes.holds_all():  # another process ended, and removed it, before it was locked
            self._notes.close()
            raise FileInUse(box.directory / DONE, None)
        self._done = box.done()
        self._kept: list[bytes] = []
        self._has_ended = False

    @property
    def place(self) -> str:
        return self._file.place

    @property
    def was_interrupted(self) -> bool:
        """True if the run before sent letters that it may not have noted."""
        return self._box.resending.exists()

    def files(self) -> Iterator[Iterator[StoredLetter]]:
        """Yield the unsent letters of each file that there was at the beginning, while it has the name of the one whose
        letters are sent; first those of a run that was interrupted. What is written meanwhile is in another file."""
        self._move_current()
        others = self._box.rotated()
        if self.was_interrupted:
            self._drop_replacements()
            yield self._unsent()
        for path in others:
            path.rename(self._box.resending)
            fsync_directory(self._box.directory)  # else a power failure could hide that letters of it were sent
            yield self._unsent()
        self._has_ended = True

    def _move_current(self) -> None:
        """Rename the current file while it is locked: a letter that is being written would be written again, to a new
        file, under another id."""

        def move() -> None:
            with closing(AppendFile(self._box.current)) as file:
                if file.holds_all():  # else the agent has renamed it just now
                    self._box.current.rename(rotated_name(self._box.current, time.time()))

        if self._box.current.exists():
            _patiently(move)

    def _drop_replacements(self) -> None:
        """Note that letters are not to be sent that were written instead of others, which were not settled after all:
        those are sent again."""
        unsettled = {stored.id for stored in self._unsent()}
        self.note_sent(
            stored.id
            for path in self._box.rotated()
            for stored in letters_in(path)
            if stored.letter is not None and stored.letter.instead_of in unsettled
        )

    def _unsent(self) -> Iterator[StoredLetter]:
        """Yield those of the file that were not sent yet, each once."""
        known = set(self._done)
        for stored in letters_in(self._box.resending):
            if stored.id not in known:
                known.add(stored.id)
                yield stored

    def count_unsent(self) -> int:
        """Return how many letters of the files that there were at the beginning are left."""
        return sum(stored.id not in self._done for path in self._box.taken() for stored in letters_in(path))

    def note_sent(self, ids: Iterable[str]) -> None:
        """Note letters that were acknowledged, on disk. Raises OSError."""
        new = set(ids) - self._done
        if new:
            try:
                self._notes.append("".join(f"{letter_id}\n" for letter_id in sorted(new)).encode())
                self._notes.sync()
            except OSError as error:
                words = f"{error.strerror}; which letters were sent cannot be noted: make it writable, and run it again"
                raise OSError(error.errno, words, str(self._box.directory / DONE)) from error
            self._done |= new

    def keep(self, stored: StoredLetter) -> None:
        """Have a letter of the file stay."""
        self._kept.append(stored.line)

    def write(self, lines: bytes) -> None:
        """Write letters to the current file, on disk."""
        _patiently(lambda: self._file.append(lines))

    def end_file(self) -> int:
        """Write the letters that stay back to the current file, and remove the one that was sent. Return their
        number."""
        kept, self._kept = self._kept, []
        if kept:
            self.write(b"".join(kept))
        self._box.resending.unlink()
        fsync_directory(self._box.directory)  # before the notes about it may end
        return len(kept)

    def close(self) -> None:
        """End the notes too, where no letter is left that they are about."""
        if self._has_ended:
            (self._box.directory / DONE).unlink(missing_ok=True)
        self._notes.close()


def _patiently(write: Callable[[], None]) -> None:
    """Write to the current file, where another process may do so at the moment."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            write()
        except FileInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def letters_in(path: Path) -> Iterator[StoredLetter]:
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            whole = line if line.endswith(b"\n") else line + b"\n"
            yield _stored(whole)


def _stored(line: bytes) -> StoredLetter:
    letter_id = xxh3_64_hexdigest(line)
    try:
        return StoredLetter(letter_id, line, Letter.parsed(line))
    except ValueError as error:
        return StoredLetter(letter_id, line, None, str(error))
