"""Actions on the symlinks that lead to files, and to directories of them."""

from pathlib import Path

from tests.lab import Lab
from tests.model.disk import Disk
from tests.model.link_ends import LinkEnds
from tests.model.lives import Life
from tests.model.readings import Reading


class LinkedDisk(Disk):
    def __init__(self, lab: Lab, reading: Reading, *, header: bool = False) -> None:
        super().__init__(lab, reading, header=header)
        self.link_ends = LinkEnds()

    def swap(self, which: int) -> None:
        """Replace the symlink current.log by one to another file, in one step."""
        self._lead(self._logs / "current.log", self._target(which))

    def relink(self, which: tuple[int, ...]) -> None:
        """Replace the second link of a chain, once or several times."""
        middle = self._targets / "middle"
        for target in map(self._target, which):
            self._lead(middle, target)
        self._lead(self._logs / "current.log", middle)

    def lead(self, which: tuple[int, ...]) -> None:
        """Replace the link to a directory, once or several times."""
        for number in which:
            self._lead(self._release, self._releases[number])

    def write_led(self, kinds: tuple[int, ...]) -> None:
        if self._release.exists():
            self._append(self._release.resolve() / "app.log", self._lines(kinds))

    def rotate_target(self, times: int, kinds: tuple[int, ...]) -> None:
        """Rename the target of current.log, and create it again, once or several times."""
        link = self._logs / "current.log"
        if not link.exists() or not link.is_symlink():
            return
        target = link.resolve()
        for _ in range(times):
            target.rename(f"{target}-{next(self._serial)}")
            self._append(target, self._lines(kinds))
        self.link_ends.rotated(times)

    def _target(self, which: int) -> Path:
        target = self._targets / f"{which}.txt"
        if not target.exists():
            self._append(target, self._lines((0,)))
        return target

    def _lead(self, link: Path, target: Path) -> None:
        new = link.with_name(f"link-{next(self._serial)}")
        new.symlink_to(target)
        new.rename(link)
        self.link_ends.changed()

    def at_link_ends(self) -> list[Life]:
        """Return the lives to which links lead now."""
        paths = [path for path in (self._logs / "current.log", self._release / "app.log") if path.exists()]
        return [life for path in paths if (life := self.lives.current(path.stat().st_ino)) is not None]
