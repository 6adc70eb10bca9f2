"""Actions that make files of equal bytes: an agent that goes by head, tail, size, time or inode alone confuses them."""

import os
from pathlib import Path

from log_shipper.shipper.inputs.files.identity.prefix import COMPARED_WHOLE
from tests.lab import Lab
from tests.model.linked_disk import LinkedDisk
from tests.model.lives import Life
from tests.model.readings import Reading


class EqualDisk(LinkedDisk):
    """A disk with files of equal bytes. Where free inodes are reused immediately (ext4), a new file may have that of a
    deleted one."""

    def __init__(self, lab: Lab, reading: Reading, *, header: bool = False) -> None:
        super().__init__(lab, reading, header=header)
        self._probe = self._targets / "probe"
        self._probe.touch()
        self._predecessors: dict[Life | None, Life] = {}  # the file at the path before, with the same first lines

    def recreate_as(self, name: str, generation: int, part: float, kinds: tuple[int, ...]) -> None:
        """Delete a file and create it again with its first lines (`part` of it) and others: a restored backup, or a job
        that always logs the same first lines."""
        path = self._path(name, generation)
        life = self._own_life(path)
        if life is not None:
            content = self._reading.beginning(bytes(life.content), part)
            self._delete(path)
            self._make(path, content, kinds, replaces=life if generation else None)
            self._predecessors[self._own_life(path)] = life

    def _pack(self, path: Path, packed: Path) -> None:
        """Only the name of a .gz shows which file it was made of (relation.py)."""
        life = self.lives.current(path.stat().st_ino)
        super()._pack(path, packed)
        while life is not None and life.packed and life.root in self._predecessors:  # of that one, perhaps, it was too
            life.root.twin = self._predecessors[life.root]

    def create_alike(self, name: str, generation: int, part: float, kinds: tuple[int, ...]) -> None:
        """Create another file with the same first lines, under an unrelated name."""
        life = self._own_life(self._path(name, generation))
        if life is not None:
            self._make(
                self._logs / f"job{next(self._serial)}.log", self._reading.beginning(bytes(life.content), part), kinds
            )

    def restore(self, name: str, generation: int, how: str) -> None:
        """Put back with its time (cp -p, touch -r): whole, with one character changed, or only its first lines."""
        path = self._path(name, generation)
        life = self._own_life(path)
        if life is None:
            return
        status = path.stat()
        content = bytes(life.content)
        if how == "shorter":
            content = self._reading.beginning(content, 0.5)
        elif how == "altered" and self._reading.write is str:  # else it may not be a line of its kind any more
            content = _altered(content)
        self._delete(path)
        self._make(path, content, (), replaces=life if generation else None)
        restored = self._own_life(path)
        if restored is not None and len(content) == len(life.content):
            restored.twin = life  # the agent resumes at its position, as far as they are equal
            restored.altered = content != life.content
        else:
            self._predecessors[restored] = life
            if restored is not None:
                restored.restores = life
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def rewrite(self, name: str, generation: int, how: str, kinds: tuple[int, ...]) -> None:
        """Rewrite a file in place, with the same head and tail and another digit in between: longer, shorter, or as
        long as before. The agent looks before and after, and not in between. Its time is not set back, too: with a
        rename, the agent cannot know that (rewrite_detector.py).

        No program did this for long: `truncate` shows the agent an empty file or, after other actions, lines with
        other numbers, so that nothing ended as before at the position; and what was altered behind an equal head and
        tail, by `restore`, was another file, with an inode of its own, which is proven anyway."""
        path = self._path(name, generation)
        life = self._own_life(path)
        if life is None or self._reading.write is not str or len(life.content) > COMPARED_WHOLE:
            return  # the agent cannot know a rewrite of a larger one that grows before the next look
        content = _altered(bytes(life.content))
        if how == "longer":
            content += self._lines(kinds)
        elif how == "shorter":
            content = self._reading.beginning(content, 0.9)
        path.write_bytes(content)
        life.inodes_now.clear()
        rewritten = self.lives.start(path.name, content, path.stat().st_ino)
        rewritten.twin, rewritten.altered, rewritten.follows = life, content != life.content, life.follows
        rewritten.truncated_in_place = True

    def _own_life(self, path: Path) -> Life | None:
        """Return the life of a file that is not a copy: what replaces a copy may be taken for it."""
        if not path.is_file() or path.stat().st_nlink > 1 or path.stat().st_ino in self._copies:
            return None
        return self.lives.current(path.stat().st_ino)

    def _delete(self, path: Path) -> None:
        self._lab.release(path)
        path.unlink()
        self._let_time_pass()

    def _make(self, path: Path, content: bytes, kinds: tuple[int, ...], replaces: Life | None = None) -> None:
        if content == self._header:  # a program that logs a header logs lines after it
            kinds = kinds or (0,)
        path.write_bytes(content + (self._lines(kinds) if kinds else b""))
        life = self.lives.start(path.name, path.read_bytes(), self._keep(path))
        life.follows, life.replaces = replaces.follows if replaces else self._written.get(path), replaces
        self._written[path] = life
        self._let_time_pass()

    def _let_time_pass(self) -> None:
        """Wait until no other file can get the times of this one: the kernel's clock ticks every few milliseconds."""
        self._probe.write_bytes(b"")
        before = self._probe.stat().st_mtime_ns  # the kernel's last tick, as other files may have it
        while self._probe.stat().st_mtime_ns == before:
            self._probe.write_bytes(b"")


def _altered(content: bytes) -> bytes:
    """Replace a digit in the middle by another; the length stays. Without a digit, nothing changes."""
    place = next(
        (place for place in range(len(content) // 2, len(content)) if content[place : place + 1].isdigit()), -1
    )
    return content if place < 0 else content[:place] + _next_digit(content[place]) + content[place + 1 :]


def _next_digit(digit: int) -> bytes:
    return b"%d" % ((digit - ord("0") + 1) % 10)
