"""The naive model: what each file held in each of its lives, and how much of it must arrive.

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
    """`at`: the inodes that hold it now, `inodes`: all that ever did. `owed`: bytes that must arrive, None: all.
    `twin`: the life that this one is a copy of, which went on meanwhile: either may be shipped under the other's id.
    """

    path: str
    content: bytearray
    at: set[int]
    inodes: set[int] = field(default_factory=set)
    owed: int | None = None
    held: bool = False  # not to be reached any more, but the agent has it open
    truncated_in_place: bool = False  # it began by a truncation: the agent must open the file once more to read it
    handed: int = 0
    arrived: int = 0
    sizes: list[int] = field(default_factory=list)  # that it had before it was written to once more
    twin: "Life | None" = None
    renamed: bool = False  # to a name that has nothing to do with the one it had
    altered: bool = False  # put back with its time and size, but not as it was
    copied: bool = False  # it is in another file now, as a copy or a .gz
    packed: bool = False
    unknown: bool = False  # and by nothing that is seen of that file it can be known

    def __post_init__(self) -> None:
        self.inodes |= self.at

    def __str__(self) -> str:
        return f"{self.path} (inodes {sorted(self.inodes)}, {len(self.content)} bytes)"

    @property
    def root(self) -> "Life":
        """What it is a copy of, or a copy of a copy."""
        return self if self.twin is None else self.twin.root

    def went(self, *, is_open: bool) -> None:
        """No path leads to it any more."""
        if self.owed is None:
            is_open = is_open and (self.handed > 0 or not self.truncated_in_place)
            self.held = is_open
            self.owed = len(self.content) if is_open else self.handed

    def agent_ended(self, *, killed: bool) -> None:
        """What nobody has open and no path leads to can be read no more."""
        if killed:
            self.handed = self.arrived
        if self.owed is not None:
            self.owed = min(self.owed, self.handed)
            self.held = False


class Lives:
    def __init__(self) -> None:
        self.all: list[Life] = []
        self._by_inode: dict[int, list[Life]] = {}

    def begin(self, path: str, content: bytes, inode: int) -> Life:
        life = Life(path, bytearray(content), {inode})
        self.all.append(life)
        self._by_inode.setdefault(inode, []).append(life)
        return life

    def of(self, inode: int) -> Life | None:
        """The life that the file holds now."""
        lives = self._by_inode.get(inode)
        return lives[-1] if lives and inode in lives[-1].at else None

    def also_at(self, life: Life, inode: int) -> None:
        life.at.add(inode)
        life.inodes.add(inode)
        self._by_inode.setdefault(inode, []).append(life)

    def left(self, inode: int) -> None:
        """Another file has the inode now."""
        for life in self._by_inode.get(inode, ()):
            life.at.discard(inode)

    def ever_at(self, inode: int) -> list[Life]:
        return self._by_inode.get(inode, [])

    def candidates(self, inode: int) -> Iterator[Life]:
        """All that the file ever held, and what that was copied to or from; the latest first."""
        for life in reversed(self._by_inode.get(inode, [])):
            yield life
            if life.twin is not None:
                yield life.twin

    def twins(self, life: Life) -> list[Life]:
        """Its copies and copies of those, and what it is one of."""
        return [each for each in self.all if each is not life and each.root is life.root]

    def look(self, reachable: set[int], opened: set[int]) -> None:
        """Paths have changed: `reachable` inodes can be found now, `opened` ones the agent has open."""
        for life in self.all:
            if life.at & reachable:
                life.owed, life.held = None, False
            elif life.owed is None:
                life.went(is_open=bool(life.at & opened))
