"""Which entry of the registry belongs to an open file: the remembered one if the bytes confirm it, else a new one."""

import logging
import uuid
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from registry.registrar import Registrar
from registry.state import FileState
from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.source.content import Content
from shipper.source.discover import FileKey, Found
from shipper.source.identity import Name, name_of_entry
from shipper.source.input import Input
from shipper.source.orphans import MISSING, TRUNCATED, Orphans

logger = logging.getLogger(__name__)

_NOT_THERE = (
    "is not there any more: lost if it was removed; if it was moved out of the paths, add where it is to them and the "
    "rest is shipped"
)
_OF_NO_INPUT = "is of no input any more: the rest is shipped if one names it again within a day"

KEPT_FOR = 24 * 3600.0  # seconds that an entry without a file is kept, to recognise copies and .gz files


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that a scan found, now open; `size` in bytes as they are on disk, `name` what it is known by."""

    found: Found
    content: Content
    size: int
    name: Name
    source: Input


@dataclass(frozen=True, slots=True)
class Claim:
    """The state from which an open file is read, and the path under which it was known; None: it is a new one."""

    state: FileState
    former: str | None = None
    was: FileKey | None = None  # the device and inode of the file that had the entry, where it was another one

    @property
    def is_new(self) -> bool:
        return self.former is None


class Entries:
    """The entries of files that are not open now. Used by the reading thread only."""

    def __init__(self, registrar: Registrar, clock: Clock, metrics: Metrics, inputs: Mapping[str, Input]) -> None:
        """`inputs` by id, for what each says about cleaning."""
        self._registrar = registrar
        self._clock = clock
        self._metrics = metrics
        self._inputs = inputs
        self.asleep: dict[Name, FileState] = {}
        self.claimed: dict[FileKey, FileState] = {}  # by files that are about to be read
        self.orphans = Orphans()
        self._doubtful: dict[str, str] = {}  # why, by file id
        for state in sorted(registrar.states.values(), key=lambda each: each.ended is None):
            if state.ended is None or _may_be_named_again(state):
                self.asleep[name_of_entry(state)] = state
            else:
                self.orphans.add(state)
                if state.size_seen > state.position:
                    self._doubtful[state.id] = (
                        "had ended before all that was read of it was acknowledged, and then the agent was stopped"
                    )

    def keep(self, state: FileState) -> None:
        """The file was closed: this is where it goes on when it is opened again."""
        self.asleep[name_of_entry(state)] = state

    def ended(self, state: FileState, why: str) -> FileState:
        """The state of a file whose life is over, or that is not under the paths any more; noted."""
        source = self._inputs.get(state.input)
        stays = source is not None and not source.config.clean_removed and why != TRUNCATED
        ttl = -1.0 if stays else KEPT_FOR
        state = replace(state, ended=why, ttl=ttl, updated=self._clock.time())
        self._registrar.note(state)
        return state

    def orphan(self, state: FileState) -> None:
        """The entry waits for a file that turns out to be it."""
        if _may_be_named_again(state):
            self.asleep[state.key] = state
        else:
            self.orphans.add(state)

    def claim(self, opened: Opened) -> Claim | None:
        """By its name. None where no entry has it, or the file does not hold what the entry remembers. Raises
        OSError."""
        known = self.asleep.get(opened.name)
        if known is None:
            return None
        if _is_trusted(opened):
            # A compressed file's size says nothing of where its content ends.
            fits = opened.content.compressed or opened.size >= known.position
            # What it remembers of the bytes is of no account; the reader compares with what is there from now on.
            head, tail = opened.content.fingerprint(), opened.content.tail_hash(known.position)
            known = replace(known, fingerprint=head, tail_hash=tail) if fits else known
        else:
            fits = opened.content.holds(known)
        del self.asleep[opened.name]  # not before: where that raised, the entry must stay
        if fits:
            return Claim(self._taken(known, opened), known.path)
        self._disprove(known)
        return None

    def is_unknown(self, opened: Opened) -> bool:
        return opened.name not in self.asleep

    def check(self, opened: Opened) -> None:
        """Whether the file still holds what its entry remembers; else the entry's life has ended. Raises OSError."""
        known = self.asleep.get(opened.name)
        if known is not None and not _is_trusted(opened) and not opened.content.holds(known):
            del self.asleep[opened.name]
            self._disprove(known)

    def adopt(self, opened: Opened, original: FileKey | None = None) -> Claim | None:
        """By its content: an entry whose own file is gone. `original`: the file that it was taken for a copy of.
        Raises OSError."""
        if _is_trusted(opened):
            return None
        known = self.orphans.match(opened.found, opened.content, original)
        if known is None:
            return None
        self.orphans.remove(known.id)
        taken = self._taken(known, opened)
        if not opened.content.compressed and opened.size < taken.position:
            taken = replace(taken, position=opened.size, tail_hash=opened.content.tail_hash(opened.size))
        where = "it was left" if opened.found.path == known.path else f"{known.path} was"
        logger.info("%s goes on where %s (file id %s, offset %d)", opened.found.path, where, known.id, taken.position)
        return Claim(taken, known.path, (known.device, known.inode))

    def make(self, opened: Opened) -> Claim:
        """A new one; its id is not saved yet. Raises OSError."""
        found, content = opened.found, opened.content
        state = FileState(
            id=uuid.uuid4().hex, path=found.path, device=found.key[0], inode=found.key[1],
            size_seen=0 if content.compressed else opened.size, fingerprint=content.fingerprint(),
            updated=self._clock.time(), input=opened.source.id,
            key=opened.name if isinstance(opened.name, str) else "",
        )  # fmt: skip
        logger.info("new file %s (file id %s, %d bytes)", found.path, state.id, opened.size)
        return Claim(state)

    def renamed(self, found: Mapping[FileKey, tuple[Input, Found]]) -> list[FileState]:
        """Those of files that are not open and have another path now."""
        return [
            state
            for state in self.asleep.values()
            if (key := (state.device, state.inode)) in found and found[key][1].path != state.path and not state.key
        ]

    def note_path(self, state: FileState, path: str) -> None:
        if self.asleep.get(name_of_entry(state)) is state:  # else it was opened, or has ended
            self.keep(replace(state, path=path, updated=self._clock.time()))
            self._registrar.note(self.asleep[name_of_entry(state)])

    def lose_missing(
        self, present: Container[FileKey], paths: Container[str], excused: Callable[[str], bool], *, once: bool = False
    ) -> None:
        """After a scan: entries whose file is nowhere any more. `excused` tells of a path whether it could not be
        looked at, so that nothing is known about it. With `once` it is no news: a copy is known, and that is all."""
        missing = [
            state
            for state in self.asleep.values()
            if state.ended is None
            and (state.device, state.inode) not in present
            and not (state.key and state.path in paths)
        ]
        for state in [each for each in missing if not excused(each.path)]:
            del self.asleep[name_of_entry(state)]
            if once:
                self.orphan(replace(state, ended=MISSING))
                continue
            self._doubtful[state.id] = _NOT_THERE if state.input in self._inputs else _OF_NO_INPUT
            self.orphan(self.ended(state, MISSING))

    def clean(self) -> None:
        """Forget what was kept long enough. The entry of a file that is there leaves the registry only: while this
        runs, no line of it is read twice."""
        now = self._clock.time()
        for state in [each for each in self.orphans.states.values() if 0 <= each.ttl < now - each.updated]:
            self.orphans.remove(state.id)
            self._registrar.remove(state.id)
        for state in list(self.asleep.values()):
            if state.ended is not None and 0 <= state.ttl < now - state.updated:
                del self.asleep[name_of_entry(state)]
                self._registrar.remove(state.id)
            elif 0 < self._inactive_after(state) < now - state.updated:
                self._registrar.remove(state.id)

    def _inactive_after(self, state: FileState) -> float:
        source = self._inputs.get(state.input)
        return source.config.clean_inactive if source is not None else 0.0

    def _taken(self, known: FileState, opened: Opened) -> FileState:
        found = opened.found
        size = known.size_seen if opened.content.compressed else opened.size
        self.claimed[found.key] = taken = replace(
            known, path=found.path, device=found.key[0], inode=found.key[1], size_seen=size, input=opened.source.id,
            ended=None, ttl=-1.0,
        )  # fmt: skip
        return taken

    def _disprove(self, known: FileState) -> None:
        """A file was replaced or truncated while nobody read it: its entry fits no file of that inode any more."""
        self._doubtful[known.id] = (
            "does not hold what was read of it before: truncated, rewritten, or its inode was used again; what is "
            "there now is read as a new file, and what was not shipped of it is lost"
        )
        self.orphan(self.ended(known, TRUNCATED))

    def tell_of_lost(self) -> None:
        """After a scan and what it led to: say which bytes nobody can read any more, because no file turned out to
        hold them."""
        for file_id, what in self._doubtful.items():
            state = self.orphans.states.get(file_id)
            behind = state.size_seen - state.position if state is not None else 0
            if state is not None and (behind > 0 or state.ended == TRUNCATED):
                self._metrics.bytes_lost += max(behind, 0)
                told = replace(self.orphans.remove(file_id), size_seen=state.position)  # it is told once
                self.orphans.add(told)
                self._registrar.note(told)
                logger.warning(
                    "%s (file id %s) %s; %d bytes from offset %d on were not shipped",
                    state.path, state.id, what, max(behind, 0), state.position,
                )  # fmt: skip
        self._doubtful.clear()


def _is_trusted(opened: Opened) -> bool:
    """Where file_identity names something else than device and inode with their bytes, that alone decides."""
    return opened.source.config.file_identity.name != "default"


def _may_be_named_again(state: FileState) -> bool:
    """Whether a file that has the name of an ended one goes on there. What is now at the path or inode of one that was
    truncated or deleted is a new life; who has the same fingerprint holds the same bytes."""
    return state.key.startswith("fingerprint:") or (state.key != "" and state.ended == MISSING)
