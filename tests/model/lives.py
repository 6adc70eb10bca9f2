"""The naive model: the content of each file in each of its lives, and how much of it must arrive.

A life begins when a file is created or truncated, and has the same content wherever it goes: under another name, in a
copytruncate copy, compressed. All of a life must arrive as long as it can be reached by a path of the input. When it
cannot any more, what must still arrive is

- everything, while a running agent has it open: the handle is kept to the end;
- else what the agent had handed to its output by then, or, when it is killed, what had arrived.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(eq=False)
class Life:
    """What a file contains from its creation or truncation to its deletion or next truncation.

    `inodes_now`: the inodes of the files that have this content, `inodes`: of all that ever had it. `owed`: bytes that
    must arrive, None: all. `twin`: the life that this one is a copy of, and which was written to meanwhile: either may
    be shipped under the other's id.
    """

    path: str
    content: bytearray
    inodes_now: set[int]
    inodes: set[int] = field(default_factory=set)
    owed: int | None = None
    kept_open: bool = False  # no path leads to it any more, but the agent has it open
    truncated_in_place: bool = False  # it began by a truncation: the agent must open the file once more to read it
    handed: int = 0
    arrived: int = 0
    sizes: list[int] = field(default_factory=list)  # before each write
    twin: "Life | None" = None
    follows: "Life | None" = None  # the life that was written before this one at the same path
    replaces: "Life | None" = None  # a rotated file that was deleted and made again, alike: no name or time shows that
    restores: "Life | None" = None  # a deleted file, of which it got the time and the first lines
    renamed: bool = False  # to a name that is not derived from the old one
    missed: bool = False  # left the row of its log, or the paths, before anything of it was handed to the output
    altered: bool = False  # put back with its time and size, but not as it was
    copied: bool = False  # its content is in another file now, as a copy or a .gz
    packed: bool = False
    is_linked: bool = False  # it was rotated, and has a hard link, outside of the row of its log
    is_touched: bool = False  # it began by a touch: its time says that it is younger than it is
    was_killed: bool = False  # the agent was, since it began
    unknown: bool = False  # and nothing about that file shows the agent that it is a copy

    def __post_init__(self) -> None:
        self.inodes |= self.inodes_now

    def __str__(self) -> str:
        return f"{self.path} (inodes {sorted(self.inodes)}, {len(self.content)} bytes)"

    @property
    def is_anew(self) -> bool:
        """True of a rotated file that counts as a younger one: only its name shows between which files it lies."""
        return self.is_touched or self.replaces is not None

    @property
    def root(self) -> "Life":
        """The life that it is a copy of, directly or through other copies."""
        return self if self.twin is None else self.twin.root

    def left_row(self) -> None:
        """No name shows any more which files it lies between."""
        self.missed = self.missed or not self.handed

    def became_unreachable(self, *, is_open: bool) -> None:
        """No path leads to it any more."""
        if self.owed is None:
            self.left_row()
            is_open = is_open and (self.handed > 0 or not self.truncated_in_place)
            self.kept_open = is_open
            self.owed = len(self.content) if is_open else self.handed

    def agent_ended(self, *, killed: bool) -> None:
        """Note a life that no process has open and no path leads to: it can never be read again."""
        self.was_killed |= killed
        if killed:
            self.handed = self.arrived
        if self.owed is not None:
            self.owed = min(self.owed, self.handed)
            self.kept_open = False


class Lives:
    def __init__(self) -> None:
        self.all: list[Life] = []
        self._by_inode: dict[int, list[Life]] = {}

    def start(self, path: str, content: bytes, inode: int) -> Life:
        life = Life(path, bytearray(content), {inode})
        self.all.append(life)
        self._by_inode.setdefault(inode, []).append(life)
        return life

    def current(self, inode: int) -> Life | None:
        """Return the current life of the file."""
        lives = self._by_inode.get(inode)
        return lives[-1] if lives and inode in lives[-1].inodes_now else None

    def add_inode(self, life: Life, inode: int) -> None:
        life.inodes_now.add(inode)
        life.inodes.add(inode)
        self._by_inode.setdefault(inode, []).append(life)

    def inode_was_reused(self, inode: int) -> None:
        """Note that the inode belongs to another file now."""
        for life in self._by_inode.get(inode, ()):
            life.inodes_now.discard(inode)

    def of_inode(self, inode: int) -> list[Life]:
        return self._by_inode.get(inode, [])

    def candidates(self, inode: int) -> Iterator[Life]:
        """Yield all lives that the file ever had, and those they were copied to or from; the latest first."""
        for life in reversed(self._by_inode.get(inode, [])):
            yield life
            if life.twin is not None:
                yield life.twin

    def twins(self, life: Life) -> list[Life]:
        """Return its copies, the copies of those, and the lives that it is a copy of."""
        return [other for other in self.all if other is not life and other.root is life.root]

    def look(self, reachable: set[int], opened: set[int]) -> None:
        """Paths have changed: `reachable` inodes match the input's paths now, `opened` ones the agent has open."""
        for life in self.all:
            if life.inodes_now & reachable:
                life.owed, life.kept_open = None, False
            elif life.owed is None:
                life.became_unreachable(is_open=bool(life.inodes_now & opened))
