"""Read an open file through its chain of readers, and keep the proofs of the bytes read."""

import logging
import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from log_shipper.registry.state import FileState
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.event import TRUNCATED, Messages, Source
from log_shipper.shipper.inputs.files.identity.content import (
    Content,
    PlainFile,
    fingerprint_now,
    is_as_read,
    tail_at,
    trail_from,
)
from log_shipper.shipper.inputs.files.identity.proving import Proving, must_be_proven
from log_shipper.shipper.inputs.files.identity.rewrite_detector import RewriteDetector
from log_shipper.shipper.inputs.files.reading.continued_file import Continuation, ContinuedFile, Successor
from log_shipper.shipper.inputs.staging import MakeStage
from log_shipper.shipper.reader.base import RawFile, Reader
from log_shipper.shipper.reader.gzip_file import GzipFile
from log_shipper.shipper.reader.log_file import read_fully

logger = logging.getLogger(__name__)

Chain = Callable[[RawFile], Reader]  # turns the bytes of a file into messages


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """Options of reading. `multiline_timeout`: seconds after its last line at which a pending message is ended;
    None: never. `once`: the file ends at its size when it was opened. `repeatable`: it can be read again.
    `max_kept_bytes`: maximum bytes of a line and a pending message that the readers keep.
    `resend_on_touch`: the input's option."""

    multiline_timeout: float | None = None
    once: bool = False
    repeatable: bool = True
    line_end: bytes = b"\n"
    max_kept_bytes: int = 2**31
    resend_on_touch: bool = False


@dataclass(frozen=True, slots=True)
class ReadSetup:
    """How a file is read, apart from its content and entry. `source` is attached to its batches; `chain` turns its
    bytes into messages; `note` passes new states of the file to the registrar; `stage` makes the stage of its ledger,
    if the output commits transactions."""

    source: Source
    chain: Chain
    policy: ReadPolicy
    clock: Clock
    note: Callable[[FileState], None]
    stage: MakeStage | None = None


class FileReader:
    """The reader of an open file. `own` is the file itself, `file` what the readers read (continued_file.py), `reader`
    the outermost of them."""

    __slots__ = (
        "_chain",
        "_content",
        "_ends",
        "_is_confirmed",
        "_is_flagged",
        "_is_followed",
        "_last_end",
        "_policy",
        "_proving",
        "_rewrites",
        "_state",
        "_trail",
        "_was",
        "file",
        "is_cut_short",
        "own",
        "reader",
    )

    def __init__(self, content: Content, state: FileState, setup: ReadSetup, was: FileState | None) -> None:
        """Open the file. `was`: the entry to be proven before anything is read, or None. Raises OSError."""
        self._content = content
        self._state = state
        self._chain = setup.chain
        self._policy = setup.policy
        self._was = was
        self._is_confirmed = False
        self.is_cut_short = False
        self._is_followed = state.continues_in is not None
        self._is_flagged = True
        self._ends: list[tuple[int, str, str]] = []  # of batches, with what is known of the bytes before
        self._last_end = state.position
        self.own: RawFile
        self.file: RawFile
        self.reader: Reader
        self._rewrites = RewriteDetector(content, setup.clock)
        self._proving = Proving(content, state) if was is not None and must_be_proven(content, was) else None
        if self._proving is None:
            self._trail = trail_from(content, state)
            self._read_from(state.position, state.cuts)
        else:
            self._trail = self._proving.trail
            self._read(self._proving.file)

    def _read_from(self, offset: int, cuts: tuple[int, ...]) -> None:
        self._read(self._content.reader(offset, cuts, self._trail))

    def _read(self, own: RawFile) -> None:
        self.own = self.file = own
        if self._policy.multiline_timeout is not None and self._policy.repeatable:
            self.file = ContinuedFile(own, self._policy.line_end, is_followed=self._is_followed)
        self.reader = self._chain(self.file)

    @property
    def continuation(self) -> Continuation | None:
        """The continuation in the successor, while the pending message is read there."""
        return self.file.continuation if isinstance(self.file, ContinuedFile) else None

    def follow(self, state: FileState) -> None:
        """Note whether the file's current entry names a file in which the last message may continue."""
        self._is_followed = state.continues_in is not None
        if isinstance(self.file, ContinuedFile):
            self.file.is_followed = self._is_followed

    def continue_in(self, successor: Successor) -> bool:
        """Continue in the successor (ContinuedFile.continue_in). Raises OSError."""
        return isinstance(self.file, ContinuedFile) and self.file.continue_in(successor)

    def resume_alone(self, offset: int) -> None:
        """Resume in this file alone, from an offset up to which its bytes were read."""
        self.close()
        self._trail.go_back(offset)
        self._read_from(offset, ())

    def close(self) -> None:
        """Close the readers, but not the content's descriptor."""
        if isinstance(self.file, ContinuedFile):
            self.file.close()

    def skip(self, start: int, end: int, cuts: tuple[int, ...], data: bytes) -> None:
        """Take the bytes from `start` to `end` as read. `data` is what was read from the start of the file, possibly
        fewer bytes. Raises OSError."""
        is_all = len(data) == end
        self._trail.go_back(start)
        if is_all or not self._content.compressed:  # decompressing all of it would take long: then there is no proof
            self._trail.add(data[start:] if is_all else read_fully(self._content.fd, end - start, start))
        self._read_from(end, cuts)
        if is_all and isinstance(self.own, PlainFile):
            self.own.expect(data)

    @property
    def unproven(self) -> FileState | None:
        """The entry before the match, until it is proven."""
        return self._was if self._proving is not None else None

    def confirm(self) -> bool:
        """Return True if the file is proven to be that of its entry, with everything read of it; False if that is not
        known yet. Raises Truncated, Disproved, OSError."""
        if not self._is_confirmed:
            # The file was identified before its id was saved; it may have been rewritten since.
            if not self._content.matches(self._state):
                size = os.fstat(self._content.fd).st_size
                raise Truncated(size) if self._proving is None else Disproved(size)
            self._is_confirmed = True
        if self._proving is None:
            return self._rewrites.confirm(self.own, self._trail)
        if self._proving.step():
            self._log_successor()
            self._proving = None
        return self._proving is None

    def _log_successor(self) -> None:
        state, was = self._state, self._was
        if was is not None and was.ended is not None:
            former = "the former file of this path" if state.path == was.path else was.path
            logger.info(
                "%s resumes at offset %d, the position of %s (file id %s)", state.path, state.position, former, state.id
            )

    @property
    def is_as_read(self) -> bool:
        """Return True if the file still has the bytes read last or, if nothing was read yet, those by which it was
        identified. Raises OSError."""
        return is_as_read(self.own) and (self._is_confirmed or self._content.matches(self._state))

    def on_disk(self, position: int) -> int:
        """Return the offset on disk of a position in the content. In a compressed file it is known only where the file
        was read to; before that it is estimated."""
        own = self.own
        if not isinstance(own, GzipFile):
            return position
        return own.raw_offset * position // own.offset if own.offset else 0

    @property
    def padding(self) -> int:
        """The number of NULs at the end of the file that are padding; 0 until its end was reached."""
        return self.own.padding if isinstance(self.own, PlainFile) else 0

    @property
    def leading_nuls(self) -> int:
        """The number of NULs with which the file begins, if they fill a read (PlainFile)."""
        return self.own.leading_nuls if isinstance(self.own, PlainFile) else 0

    def has_changed(self, status: os.stat_result) -> bool:
        """Return True if the file may have other bytes than those read. Raises OSError."""
        own = self.own
        is_read = status.st_size == own.offset + self.padding and self._rewrites.is_as_seen(status)
        return not is_read or (isinstance(own, PlainFile) and own.has_filled_padding)

    def changed(self, status: os.stat_result) -> int:
        """Return the time of change for the entry; 0 if the file may have been rewritten since the last look."""
        return status.st_ctime_ns if self._rewrites.is_as_seen(status) else 0

    def cut_short(self, *, flagged: bool) -> None:
        """Make the next read end the pending message within its line; the rest is another message."""
        self.is_cut_short = True
        self._is_flagged = flagged
        self.file.cut_here()

    def took_cut(self, messages: Messages) -> bool:
        """Return True, once, if the last read, which gave `messages`, ended one that was cut short."""
        taken, self.is_cut_short = self.is_cut_short, False
        if taken and self._is_flagged:
            messages.flag_last(TRUNCATED)
        return taken

    def fingerprint_now(self, known: tuple[int, str]) -> tuple[int, str]:
        """Return the fingerprint of the file as it is now. Raises OSError."""
        return fingerprint_now(self._content, self.own, known)

    def remember_end(self, end: int) -> None:
        """Remember the evidence for the end of a batch, which may have no bytes. Raises OSError."""
        if end > self._last_end:
            self._last_end = end
            self._ends.append((end, tail_at(self._content, self.own, end), self._trail.proof_at(end)))

    def evidence_up_to(self, position: int) -> tuple[str, str] | None:
        """Return, for the last end up to `position`, the hash of the bytes before it and the proof of all before it."""
        passed = self._ends_up_to(position)
        return self._ends[passed - 1][1:] if passed else None

    def forget_evidence(self, position: int) -> None:
        """Forget the evidence up to `position`, which is in the state."""
        del self._ends[: self._ends_up_to(position)]

    def _ends_up_to(self, position: int) -> int:
        return bisect_right(self._ends, position, key=itemgetter(0))
