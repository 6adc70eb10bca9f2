"""The dead letter files of a directory: the current one and its rotated ones.

A letter is identified by a hash of its line. Resent letters are recorded by hash, on disk, in a separate file, until
they are removed from theirs: a record can never be mistaken for that of another letter, whatever is interrupted.

A letter that is rejected again is written, with the new reason, *before* its predecessor is recorded as resent. So a
letter that replaces another one that is still unsent comes from an interrupted attempt, and does not count.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from log_shipper.runtime.disk import fsync_directory, replace_file
from log_shipper.runtime.locking import FileInUse
from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.formats.letter import Letter
from log_shipper.shipper.pipeline.dead_letter import FILE, ROTATED, rotated_name

DONE = "dead_letter.resent"
MAX_LETTERS = 100  # per round
MAX_BYTES = 16 * 1024**2


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A line of a file; `letter` is None if it cannot be decoded, for the reason in `problem`."""

    id: str
    line: bytes
    letter: Letter | None
    problem: str = ""


class LetterBox:
    """Reads the files. All methods raise OSError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.current = directory / FILE

    def letters(self) -> Iterator[StoredLetter]:
        """Yield all letters, oldest first."""
        done, listed = self.done(), set[str]()
        for path in self.files():
            for stored in letters_in(path):
                replaces_listed = stored.letter is not None and stored.letter.instead_of in listed
                if stored.id not in done and stored.id not in listed and not replaces_listed:
                    listed.add(stored.id)
                    yield stored

    def rotated(self) -> list[Path]:
        """Return all files but the current one, oldest first."""
        return sorted(self.directory.glob(ROTATED))

    def files(self) -> list[Path]:
        return [*self.rotated(), *([self.current] if self.current.exists() else [])]

    def done(self) -> set[str]:
        """Return the ids of resent letters that are not removed from their file yet."""
        with suppress(FileNotFoundError):
            return set((self.directory / DONE).read_text(encoding="ascii", errors="replace").split())
        return set()


class Resending:
    """Resends the letters of a box, in one process; the agent may write others meanwhile.

    A run that was killed, or gave up, leaves everything unchanged: the next one sends letters that are not recorded as
    sent.
    """

    def __init__(self, box: LetterBox, is_wanted: Callable[[StoredLetter], bool] = lambda stored: True) -> None:
        """Lock the box. Raises FileInUse if another process resends, or writes to the current file at this moment."""
        self._box = box
        self._is_wanted = is_wanted
        self.was_interrupted = (box.directory / DONE).exists()  # so some letters may have been sent without a record
        self._notes = AppendFile(box.directory / DONE)
        self._is_over = False
        try:
            if not self._notes.holds_all():  # another process ended and removed it before it was locked
                raise FileInUse(box.directory / DONE, None)
            self._move_current()
            self._done = box.done()
        except OSError:
            self._notes.close()
            raise

    def rounds(self) -> Iterator[list[StoredLetter]]:
        """Yield the wanted letters that existed at the beginning, in rounds. The caller records settled ones before the
        next round. Recorded letters are removed from a file once it was read."""
        paths = self._box.rotated()
        if self.was_interrupted:
            self._drop_replacements()
        for path in paths:
            yield from self._rounds_of(path)
            self._remove_sent(path)
        self._is_over = True

    def record_sent(self, ids: Iterable[str]) -> None:
        """Record acknowledged letters on disk. Raises OSError."""
        new = set(ids) - self._done
        if new:
            try:
                self._notes.append("".join(f"{letter_id}\n" for letter_id in sorted(new)).encode())
                self._notes.sync()
            except OSError as error:
                words = f"{error.strerror}; cannot record which letters were sent. Make it writable"
                raise OSError(error.errno, words, str(self._box.directory / DONE)) from error
            self._done |= new

    def close(self) -> None:
        """Remove the records too, if no letter is left that they concern."""
        if self._is_over:
            (self._box.directory / DONE).unlink(missing_ok=True)
        self._notes.close()

    def _move_current(self) -> None:
        """Rename the current file while it is locked: otherwise a letter being written would be written again, to a new
        file, under another id."""
        if self._box.current.exists():
            with closing(AppendFile(self._box.current)) as file:
                if file.holds_all():  # otherwise the agent has just renamed it
                    self._box.current.rename(rotated_name(self._box.current, time.time()))

    def _drop_replacements(self) -> None:
        """Record as sent the letters that replace others which were not settled after all: those are sent again."""
        unsettled = {stored.id for path in self._box.rotated() for stored in self._unsent(path)}
        self.record_sent(
            stored.id
            for path in self._box.rotated()
            for stored in self._unsent(path)
            if stored.letter is not None and stored.letter.instead_of in unsettled
        )

    def _unsent(self, path: Path) -> Iterator[StoredLetter]:
        return (stored for stored in letters_in(path) if stored.id not in self._done)

    def _rounds_of(self, path: Path) -> Iterator[list[StoredLetter]]:
        letters: dict[str, StoredLetter] = {}
        size = 0
        for stored in self._unsent(path):
            if stored.letter is None or not self._is_wanted(stored) or stored.id in letters:
                continue
            if len(letters) == MAX_LETTERS or (letters and size + len(stored.line) > MAX_BYTES):
                yield list(letters.values())
                letters, size = {}, 0
            letters[stored.id] = stored
            size += len(stored.line)
        if letters:
            yield list(letters.values())

    def _remove_sent(self, path: Path) -> None:
        """Remove recorded letters from a file."""
        left = [stored.line for stored in self._unsent(path)]
        if not left:
            path.unlink(missing_ok=True)
            fsync_directory(path.parent)  # before its records may be removed
        elif sum(map(len, left)) < path.stat().st_size:
            replace_file(path, b"".join(left))


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
