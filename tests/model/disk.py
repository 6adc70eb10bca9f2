"""Applies the actions of a program to real files, and keeps the model of their lives up to date."""

import gzip
import itertools
import os
import shutil
from pathlib import Path

from tests.lab import Lab
from tests.model.lives import Life, Lives
from tests.model.program import GENERATIONS, LINES
from tests.model.readings import Reading
from tests.model.unseen import Unseen

HEADER = b"#Fields: date time status\n"


class Disk:
    """The input's globs match files in `logs` and `logs/sub`, not those in `outside` and `targets`, and those to which
    the link `release` leads."""

    def __init__(self, lab: Lab, reading: Reading, *, header: bool = False) -> None:
        self.lives = Lives()
        self._lab = lab
        self._reading = reading
        self._logs = lab.logs
        self._outside = lab.logs.parent / "outside"
        self._targets = lab.logs.parent / "targets"
        self._releases = [self._targets / f"release-{number}" for number in range(3)]
        self._release = lab.logs.parent / "release"
        for directory in (self._logs / "sub", self._outside, self._targets, *self._releases):
            directory.mkdir()
        self._header = HEADER if header else b""
        self._serial = itertools.count(1)
        self._copies: set[int] = set()  # never written to: they would differ from their original
        self._packed: set[int] = set()
        self._written: dict[Path, Life] = {}  # the last life at each path
        self._dated_logs: set[str] = set()  # that have a rotated file with a date
        self.unseen = Unseen()
        lab.paths = (f"{self._logs}/*.log*", f"{self._logs}/sub/*.log*", f"{self._release}/*.log")

    def look(self) -> None:
        """Update the model with what the paths match now."""
        reachable = set()
        for directory in (self._logs, self._logs / "sub", self._release):
            for name in os.listdir(directory) if directory.exists() else ():
                if ".log" in name and (directory / name).is_file():
                    reachable.add((directory / name).stat().st_ino)
        opened = self._lab.opened_by_agent() if self._unseen_cuts else set()
        for life, inode in self._unseen_cuts:
            # The agent cannot know that a missing file was truncated, only that it is missing.
            life.unknown = life.unknown or inode not in reachable | opened
        if any(life.owed is None and not life.inodes_now & reachable for life in self.lives.all):
            self.lives.look(reachable, self._lab.opened_by_agent())
        else:
            self.lives.look(reachable, set())

    @property
    def _unseen_cuts(self) -> list[tuple[Life, int]]:
        return self.unseen.cuts(is_running=self._lab.app is not None)

    def exists(self, life: Life) -> bool:
        """Return True if a file has this content, under any name: also where no path of the input leads."""
        directories = (self._logs, self._logs / "sub", self._outside, self._targets, *self._releases)
        existing = {path.stat().st_ino for directory in directories for path in directory.iterdir() if path.exists()}
        return bool(life.inodes_now & existing)

    def _keep(self, path: Path) -> int:
        """Register a file, which may have the inode of a deleted one."""
        inode = path.stat().st_ino
        if inode not in self._lab.inodes:
            self.lives.inode_was_reused(inode)
            self._copies.discard(inode)
            self._packed.discard(inode)
            for life in [life for life, cut in self._unseen_cuts if cut == inode]:
                life.unknown = True  # what was truncated there is deleted
        return self._lab.keep(path)

    def _path(self, name: str, generation: int = 0) -> Path:
        path = self._logs / (f"{name}.{generation}" if generation else name)
        packed = path.with_name(f"{path.name}.gz")
        return packed if generation and packed.exists() else path

    def _life_at(self, path: Path) -> Life:
        life = self.lives.current(path.stat().st_ino)
        assert life is not None
        return life

    def _append(self, path: Path, content: bytes) -> None:
        if not path.exists() or path.stat().st_size == 0:
            content = self._header + content
        with path.open("ab") as file:
            file.write(content)
        inode = self._keep(path)
        life = self.lives.current(inode)
        if life is None:
            life = self.lives.start(path.name, content, inode)
            life.follows = self._written.get(path)
        else:
            last = self._written.get(path)
            if not life.content and last is not None and last is not life:
                life.follows = last  # it was moved away empty, and is back
            life.sizes.append(len(life.content))
            life.content += content
        self._written[path] = life

    def _lines(self, kinds: tuple[int, ...]) -> bytes:
        first, *others = kinds
        lines = [LINES[0 if LINES[first] == "\n" else first], *(LINES[kind] for kind in others)]
        return b"".join(self._reading.raw(line.format(n=next(self._serial))) for line in lines)

    def write(self, name: str, kinds: tuple[int, ...]) -> None:
        self._append(self._logs / name, self._lines(kinds))

    def write_partly(self, name: str, kind: int) -> None:
        self._append(self._logs / name, self._reading.raw(LINES[kind].format(n=next(self._serial)).rstrip("\n")))

    def write_much(self, name: str, lines: int) -> None:
        self.write(name, (7,) * lines)

    def _shift(self, name: str) -> None:
        """As logrotate: each generation becomes one older, the oldest is deleted."""
        self._path(name, GENERATIONS).unlink(missing_ok=True)
        for generation in range(GENERATIONS - 1, 0, -1):
            path = self._path(name, generation)
            if path.exists():
                older = f"{name}.{generation + 1}" + (".gz" if path.suffix == ".gz" else "")
                path.rename(self._logs / older)

    def rotate(self, name: str) -> None:
        if self._path(name).exists():
            if name in self._dated_logs:
                self._life_at(self._path(name)).left_row()  # of the names with dates
            self._shift(name)
            self._path(name).rename(self._logs / f"{name}.1")

    def rename(self, name: str, generation: int) -> None:
        path = self._path(name, generation)
        if path.exists():
            path.rename(self._logs / f"{path.name}-{next(self._serial)}")

    def rename_over(self, name: str, generation: int, other: str, other_generation: int) -> None:
        path, target = self._path(name, generation), self._path(other, other_generation)
        if path.exists() and target.exists() and not (other_generation == 0 and self._is_fixed(path)):
            life = self._life_at(path)
            if name != other:
                life.renamed = True
                life.left_row()
            life.unknown = life.unknown or (life.copied and name != other)
            if life.replaces is not None and other_generation == 0:
                life.follows = self._written.get(target)  # a new file, at the path of the log
            path.rename(target)
            self.unseen.renamed(target.stat().st_ino)
            if other_generation == 0:
                self._written[target] = life  # what is written there after its rotation continues it

    def _is_fixed(self, path: Path) -> bool:
        return path.stat().st_ino in self._copies

    def _dated(self, name: str, where: str) -> Path:
        """Return the next path of a rotated file with date and number before its extension, as Logback gives it. It is
        outside the row of the log's numbered generations, if there are any."""
        log = Path(name)
        self._dated_logs.add(name)
        if any(self._path(name, generation).exists() for generation in range(1, GENERATIONS + 1)):
            self._life_at(self._path(name)).left_row()
        return self._logs / where / f"{log.stem}-2026-11-21.{next(self._serial)}{log.suffix}"

    def rotate_dated(self, name: str, where: str) -> None:
        if self._path(name).exists():
            self._path(name).rename(self._dated(name, where))

    def copytruncate_dated(self, name: str, where: str) -> None:
        if self._path(name).exists():
            self._copytruncate(name, self._dated(name, where))

    def gzip_dated(self, name: str, where: str) -> None:
        """Compress the file that is written to, and delete it."""
        path = self._path(name)
        if path.exists() and not self._is_fixed(path):
            packed = self._dated(name, where)
            self._pack(path, packed.with_name(f"{packed.name}.gz"))

    def copytruncate(self, name: str) -> None:
        """Without a step of the agent in between, as logrotate does it: the life that ends is in the copy."""
        if self._path(name).exists():
            self._shift(name)
            self._copytruncate(name, self._logs / f"{name}.1")

    def _copytruncate(self, name: str, to: Path) -> None:
        path = self._path(name)
        life = self._life_at(path)
        inode = self._copy(path, to)
        os.truncate(path, 0)
        self._is_copied(life, seen=not life.renamed)
        self.unseen.cut(life, path.stat().st_ino)
        life.inodes_now.clear()
        self.lives.add_inode(life, inode)
        self._written[path] = new = self.lives.start(name, b"", path.stat().st_ino)
        new.truncated_in_place, new.follows = True, life
        is_misplaced = path.stat().st_nlink > 1 or path.stat().st_ino in self.unseen.moved  # for the agent, perhaps
        is_elsewhere = to.parent != self._logs and (self._lab.input.get("harvester_limit") or is_misplaced)
        if is_elsewhere or self._is_linked_for_another_log(path):
            self._lose_sight_of_copy(to)  # as in move_inside

    def _is_linked_for_another_log(self, path: Path) -> bool:
        """Say if it has a link with a name that shows nothing about its copy; the agent may know it by that name."""
        if path.stat().st_nlink == 1:
            return False
        links = (other for other in self._logs.iterdir() if other.is_file() and path.samefile(other))
        return any(not link.name.startswith(path.name) for link in links)

    def _is_copied(self, life: Life, *, seen: bool) -> None:
        """`seen`: True if something about the copy shows the agent whose copy it is."""
        life.copied = True
        life.unknown = life.unknown or not seen

    def _copy(self, path: Path, to: Path) -> int:
        to.unlink(missing_ok=True)  # a file may have come back there, beside a .gz of that generation
        shutil.copyfile(path, to)
        inode = self._keep(to)
        self._copies.add(inode)
        self.unseen.copied(inode)
        return inode

    def copy(self, name: str) -> None:
        """Copy a file that is written to afterwards; a slow copytruncate if a truncation follows."""
        path = self._path(name)
        if path.exists():
            life = self._life_at(path)
            self._shift(name)
            inode = self._copy(path, self._logs / f"{name}.1")
            twin = self.lives.start(f"{name}.1", bytes(life.content), inode)
            twin.twin, twin.follows = life, life.follows

    def truncate(self, name: str) -> None:
        path = self._path(name)
        if path.exists() and not self._is_fixed(path):
            life = self._life_at(path)
            os.truncate(path, 0)
            life.inodes_now.clear()
            self._written[path] = new = self.lives.start(name, b"", path.stat().st_ino)
            new.truncated_in_place, new.follows = True, life

    def touch(self, name: str, generation: int) -> None:
        """Give a file a later time: all of it may come again under a new id, and need not, if it was not read to its
        end or the agent does not see both times."""
        path = self._path(name, generation)
        if path.is_file() and path.stat().st_nlink == 1 and path.stat().st_ino not in self._copies:
            life = self._life_at(path)
            os.utime(path)
            life.inodes_now.clear()  # what has to arrive is the new life's, under either id
            twin = self.lives.start(path.name, bytes(life.content), path.stat().st_ino)
            twin.twin, twin.follows = life, life.follows
            twin.truncated_in_place = life.truncated_in_place and not life.handed
            twin.is_touched = True

    def delete(self, name: str, generation: int) -> None:
        self._path(name, generation).unlink(missing_ok=True)

    def recreate(self, name: str, kinds: tuple[int, ...]) -> None:
        self.delete(name, 0)
        self.write(name, kinds)

    def move_inside(self, name: str, generation: int) -> None:
        path = self._path(name, generation)
        if path.exists():
            if self._lab.input.get("harvester_limit"):  # its original may wait, and is looked for in its directory
                self._lose_sight_of_copy(path)
            # In another directory a .gz looks rotated only if its name still ends in .gz (rotated_names.py).
            end = ".gz" if path.suffix == ".gz" else ""
            path.rename(self._logs / "sub" / f"{path.name.removesuffix(end)}-{next(self._serial)}{end}")

    def _lose_sight_of_copy(self, path: Path) -> None:
        """If the agent has not seen this copy yet, nothing will show it whose copy it is."""
        if path.stat().st_ino in self.unseen.copies:
            self._life_at(path).unknown = True

    def move_outside(self, name: str, generation: int) -> None:
        path = self._path(name, generation)
        if path.exists():
            self._lose_sight_of_copy(path)  # it comes back under a name that is not derived from its original's
            path.rename(self._outside / f"{path.name}-{next(self._serial)}")

    def move_back(self, which: int) -> None:
        """To the name it had if that is free, else to one that is never written to."""
        outside = sorted(self._outside.iterdir())
        if outside:
            path = outside[which % len(outside)]
            name = path.name.rpartition("-")[0]
            free = not (self._logs / name).exists() and not self._is_fixed(path)
            path.rename(self._logs / (name if free else f"{path.name}.back"))

    def link(self, name: str, generation: int) -> None:
        path = self._path(name, generation)
        if path.exists():
            os.link(path, self._logs / f"{path.name}-{next(self._serial)}", follow_symlinks=False)
            self._life_at(path).is_linked |= generation > 0

    def gzip(self, name: str, generation: int) -> None:
        path = self._logs / f"{name}.{generation}"
        if path.is_file():
            self._pack(path, path.with_name(f"{path.name}.gz"))

    def _pack(self, path: Path, packed: Path) -> None:
        if path.stat().st_nlink > 1 or path.stat().st_ino in self._packed:
            return
        life = self._life_at(path)
        packed.write_bytes(gzip.compress(path.read_bytes()))
        os.utime(packed, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))  # as gzip does
        inode = self._keep(packed)
        if path.stat().st_ino in self.unseen.copies:
            self.unseen.copied(inode)
        path.unlink()
        self._copies.add(inode)
        self._packed.add(inode)
        life.packed = True
        self._is_copied(life, seen=not life.renamed)
        self.lives.add_inode(life, inode)
