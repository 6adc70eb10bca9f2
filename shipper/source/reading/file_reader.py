"""An open file through its readers: its bytes from an offset on, what proves them, and where the readers stand."""

import logging
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from registry.state import FileState
from shipper.errors import Disproved, Truncated
from shipper.reader.base import RawFile, Reader
from shipper.reader.log_file import LogFile
from shipper.source.identity.content import Content, PlainFile, fingerprint_now, is_as_read, tail_at, trail_from
from shipper.source.identity.proving import Proving, must_be_proven

logger = logging.getLogger(__name__)

Chain = Callable[[RawFile], Reader]  # what turns the bytes of a file into messages


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """`multiline_timeout`: seconds after its last line at which a pending message is ended; None: never.
    `once`: the file ends at the size it had when it was opened. `repeatable`: it can be read again. `most_kept`: bytes
    that the readers keep of a line and a pending message, at most."""

    multiline_timeout: float | None = None
    once: bool = False
    repeatable: bool = True
    line_end: bytes = b"\n"
    most_kept: int = 2**31


class Reading:
    """`was`: the entry that is to be proven before anything is read, None where there is nothing to prove."""

    __slots__ = (
        "_chain",
        "_content",
        "_ends",
        "_is_confirmed",
        "_last_end",
        "_proving",
        "_state",
        "_trail",
        "_was",
        "file",
        "is_cut_short",
        "reader",
    )

    def __init__(self, content: Content, state: FileState, chain: Chain, was: FileState | None) -> None:
        """Raises OSError."""
        self._content = content
        self._state = state
        self._chain = chain
        self._was = was
        self._is_confirmed = False
        self.is_cut_short = False
        self._ends: deque[tuple[int, str, str]] = deque()  # of batches, with what is known of the bytes before
        self._last_end = state.position
        self.file: RawFile
        self.reader: Reader
        self._proving = Proving(content, state) if was is not None and must_be_proven(content, was) else None
        if self._proving is None:
            self._trail = trail_from(content, state)
            self.read_from(state.position, state.cuts)
        else:
            self._trail, self.file = self._proving.trail, self._proving.file
            self.reader = chain(self.file)

    def read_from(self, offset: int, cuts: tuple[int, ...]) -> None:
        self.file = self._content.reader(offset, cuts, self._trail)
        self.reader = self._chain(self.file)

    def go_back(self, offset: int) -> None:
        """Read on in this file alone, from an offset up to which its bytes were read."""
        self._trail.go_back(offset)
        self.read_from(offset, ())

    def skip(self, start: int, end: int, cuts: tuple[int, ...], data: bytes) -> None:
        """Take these bytes for read: `data`, from the file's start on, if it is all of them. Raises OSError."""
        is_all = len(data) == end
        self._trail.go_back(start)
        self._trail.add(data[start:] if is_all else os.pread(self._content.fd, end - start, start))
        self.read_from(end, cuts)
        if is_all and isinstance(self.file, PlainFile):
            self.file.expect(data)

    @property
    def unproven(self) -> FileState | None:
        """The entry as it was, as long as it is not proven."""
        return self._was if self._proving is not None else None

    def confirm(self) -> bool:
        """True if it is the file that its entry remembers; False: not known yet. Raises Truncated, Disproved,
        OSError."""
        if not self._is_confirmed:
            # Between finding out which file it is and now, its id was saved, and it may have become another.
            if not self._content.holds(self._state):
                size = os.fstat(self._content.fd).st_size
                raise Truncated(size) if self._proving is None else Disproved(size)
            self._is_confirmed = True
        if self._proving is not None and self._proving.step():
            self._log_successor()
            self._proving = None
        return self._proving is None

    def _log_successor(self) -> None:
        state, was = self._state, self._was
        if was is not None and was.ended is not None:
            where = "it was left" if state.path == was.path else f"{was.path} was"
            logger.info("%s resumes where %s (file id %s, offset %d)", state.path, where, state.id, state.position)

    @property
    def is_as_read(self) -> bool:
        """True if what was read last is there still. Raises OSError."""
        return is_as_read(self.file)

    @property
    def padding(self) -> int:
        """NULs at the end of the file that are no content; none as long as its end was not reached."""
        return self.file.padding if isinstance(self.file, PlainFile) else 0

    def cut_short(self) -> None:
        """The next read ends the pending message, with the line that it is in; the rest is another message."""
        self.is_cut_short = True
        self.file.cut_here()

    def took_cut(self) -> bool:
        """True if the last read was that one."""
        taken, self.is_cut_short = self.is_cut_short, False
        return taken

    @property
    def plain_file(self) -> LogFile | None:
        return self.file if isinstance(self.file, LogFile) else None

    def fingerprint_now(self, known: tuple[int, str]) -> tuple[int, str]:
        """Raises OSError."""
        return fingerprint_now(self._content, self.file, known)

    def remember_end(self, end: int) -> None:
        """Of a batch, which may have no bytes. Raises OSError."""
        if end > self._last_end:
            self._last_end = end
            self._ends.append((end, tail_at(self._content, self.file, end), self._trail.proof_at(end)))

    def evidence_up_to(self, position: int) -> tuple[str, str] | None:
        """Hash of the bytes before the last end up to there, and the proof of all before it; each is reported once."""
        last = None
        while self._ends and self._ends[0][0] <= position:
            last = self._ends.popleft()
        return None if last is None else last[1:]
