"""Group the files of a path by the sequence of their entries' numbers.

Each journald, and each host from which systemd-journal-remote receives, numbers its entries by its own sequence, which
its files keep when they are rotated. The header of a file (systemd.io/JOURNAL_FILE_FORMAT) has the sequence's id and
the number of the last entry; nothing else of the file is read here.
"""

import logging
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.journald.host import Host
from log_shipper.shipper.inputs.journald.options import JournaldConfig

logger = logging.getLogger(__name__)

MIN_INTERVAL = 1.0  # seconds between two listings
_LOOK_SHARE = 50  # a listing takes at most this fraction of the time
SETTLING = 5.0  # seconds until a new file's header must be complete
_HEADER = struct.Struct("<8s8xB55x16sQQ56xQ")  # signature, state, sequence, two sizes, number of the last entry
_SIGNATURE, _ARCHIVED = b"LPKSHHRH", 2


@dataclass(frozen=True, slots=True)
class JournalFile:
    """A journal file. `last`: the number of its last entry. `is_live`: entries may still be appended to it."""

    path: str
    inode: int
    last: int = field(compare=False)
    is_live: bool = field(compare=False)


class _Refused(Exception):
    pass


class JournalListing:
    """The listing of a path. Used by the reading thread only. `sequences`: the readable files, by sequence. `sharing`:
    the sequences that share their numbers with others, so that gaps mean nothing. `problem`: which files cannot be
    read, and why."""

    def __init__(self, config: JournaldConfig, path: str, where: str, clock: Clock, host: Host) -> None:
        self.problem = ""
        self.sequences: dict[str, list[JournalFile]] = {}
        self.sharing: set[str] = set()
        self.forbidden: list[str] = []
        self._config = config
        self._path = path
        self._where = where
        self._clock = clock
        self._host = host
        self._archived: dict[str, tuple[str, JournalFile]] = {}  # their headers no longer change
        self._incomplete: dict[str, float] = {}  # since when
        self._next = float("-inf")

    @property
    def is_due(self) -> bool:
        return self._clock.monotonic() >= self._next

    @property
    def wait(self) -> float:
        """Return the seconds until the next listing."""
        return max(self._next - self._clock.monotonic(), 0.0)

    def refresh(self, *, once: bool = False) -> None:
        """List the files. `once`: there is no later listing in which a header could be complete."""
        started = self._clock.monotonic()
        sequences: dict[str, list[JournalFile]] = {}
        files, incomplete, archived = 0, dict[str, float](), dict[str, tuple[str, JournalFile]]()
        self.forbidden = []
        for path in self._host.files(self._config, self._path):
            files += 1
            try:
                sequence, file = self._file(path)
            except PermissionError:
                self.forbidden.append(path)
            except FileNotFoundError:
                files -= 1
            except (OSError, _Refused):
                incomplete[path] = self._incomplete.get(path, started)
            else:
                sequences.setdefault(sequence, []).append(file)
                if not file.is_live:
                    archived[path] = sequence, file
        self.sequences, self._incomplete, self._archived = sequences, incomplete, archived
        self.sharing = set(_sharing(sequences))
        damaged = [path for path, since in incomplete.items() if once or started - since >= SETTLING]
        self._report("; ".join(_problems(files, [] if self._may_not_know else self.forbidden, damaged)))
        now = self._clock.monotonic()
        self._next = now + max(MIN_INTERVAL, _LOOK_SHARE * (now - started))

    @property
    def _may_not_know(self) -> bool:
        """Return True if journalctl is another program, which may have permissions of its own."""
        return not self._config.has_default_program

    @property
    def is_incomplete(self) -> bool:
        """Return True if only journalctl knows what there is to read."""
        return not self.sequences or (self._may_not_know and bool(self.forbidden))

    def _file(self, path: str) -> tuple[str, JournalFile]:
        """Return the file. Raises OSError, _Refused."""
        outside = self._config.chroot + path
        known = self._archived.get(path)
        if known is not None and known[1].inode == self._host.inode(outside):
            return known
        inode, size, header = self._host.header(outside)
        if len(header) < _HEADER.size:
            raise _Refused
        signature, state, sequence, header_size, arena_size, last = _HEADER.unpack_from(header)
        if signature != _SIGNATURE or header_size + arena_size > size:
            raise _Refused
        is_live = state != _ARCHIVED and not path.endswith("~")
        return sequence.hex(), JournalFile(path, inode, last, is_live)

    def _report(self, problem: str) -> None:
        before, self.problem = self.problem, problem
        if problem and problem != before:
            logger.error("%s: %s", self._where, problem, extra=EACH)
        elif before and not problem:
            logger.info("%s: all journal files are readable again", self._where, extra=EACH)


def _sharing(sequences: dict[str, list[JournalFile]]) -> Iterator[str]:
    """Yield the sequences of a journald before release 254 that has user journals: each is its own sequence, and all
    are numbered by one counter."""
    owners: dict[str, set[str]] = {}
    with_users = set()
    for sequence, files in sequences.items():
        for file in files:
            directory, name = os.path.split(file.path)
            if name.startswith("user-"):
                with_users.add(directory)
            if name.startswith(("user-", "system")):
                owners.setdefault(directory, set()).add(sequence)
    for directory in with_users:
        if len(owners[directory]) > 1:
            yield from owners[directory]


def _problems(count: int, forbidden: list[str], damaged: list[str]) -> Iterator[str]:
    if forbidden:
        yield (
            f"{len(forbidden)} of {count} journal files are not readable by the shipper's user (for example "
            f"{min(forbidden)}); their entries are skipped. Add the user to the group systemd-journal (usermod -aG "
            "systemd-journal USER), or grant it read access to these files, and restart the agent"
        )
    if damaged:
        yield (
            f"{len(damaged)} of {count} journal files are truncated or not in journal format (for example "
            f"{min(damaged)}); their entries are skipped. Move these files away"
        )
