"""The files of dead letters in path.data: the current one, those that it was renamed to, and the one that is being
sent again.

A letter is identified by a hash of its line. The letters that were sent again are noted by it, on disk, in a file
beside them: it can never be mistaken for that of another letter, whatever is interrupted.
"""

import errno
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from durable.locking import FileInUse
from shipper.append_file import AppendFile
from shipper.letter import Letter
from shipper.pipeline.dead_letter import FILE, ROTATED, rotated_name

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
        known = self.done()
        for path in (self.resending, *self.rotated(), self.current):
            for stored in letters_in(path):
                if stored.id not in known:
                    known.add(stored.id)
                    yield stored

    def rotated(self) -> list[Path]:
        return sorted(self.directory.glob(ROTATED))

    def done(self) -> set[str]:
        """Return the ids of letters that were sent again, and are not removed from their file yet."""
        with suppress(FileNotFoundError):
            return set((self.directory / DONE).read_text(encoding="ascii", errors="replace").split())
        return set()


class Resending:
    """The box while its letters are sent again, by one process; the agent may write others meanwhile."""

    def __init__(self, box: LetterBox) -> None:
        """Raises FileInUse where another process does this now."""
        self._box = box
        self._notes = AppendFile(box.directory / DONE)
        self._done = box.done()

    def files(self) -> Iterator[None]:
        """Yield for each file that there was at the beginning, while it has the name of the one whose letters are sent;
        first for that of a run that was interrupted. What is written meanwhile is in a file of its own."""
        self._move_current()
        others = self._box.rotated()
        if self._box.resending.exists():
            yield
        for path in others:
            path.rename(self._box.resending)
            yield

    def _move_current(self) -> None:
        """Rename the current file while it is locked: a letter that is being written would be written again, to a new
        file, under another id."""
        deadline = time.monotonic() + PATIENCE
        while self._box.current.exists():
            try:
                with closing(AppendFile(self._box.current)):
                    self._box.current.rename(rotated_name(self._box.current, time.time()))
            except FileInUse:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def letters(self) -> list[StoredLetter]:
        """Return those of the file that were not sent yet, each once."""
        letters = {stored.id: stored for stored in letters_in(self._box.resending) if stored.id not in self._done}
        return list(letters.values())

    def note_sent(self, ids: Iterable[str]) -> None:
        """Note letters that were acknowledged, on disk."""
        new = set(ids) - self._done
        if new:
            self._notes.append("".join(f"{letter_id}\n" for letter_id in sorted(new)).encode())
            self._notes.sync()
            self._done |= new

    def end_file(self) -> int:
        """Write the letters that were not sent back to the current file, and remove the one that was sent. Return their
        number."""
        left = self.letters()
        if left:
            with closing(AppendFile(self._box.current)) as file:
                file.append(b"".join(stored.line for stored in left))
                file.sync()
                if not file.holds_all():
                    raise OSError(errno.ESTALE, "it was renamed, removed or truncated now", str(self._box.current))
        self._box.resending.unlink()
        return len(left)

    def close(self) -> None:
        """End the notes too, where no letter is left that they are about."""
        if not self._box.resending.exists():
            (self._box.directory / DONE).unlink(missing_ok=True)
        self._notes.close()


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
