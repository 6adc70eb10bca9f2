"""Prove that a file has every byte that was shipped from an entry's file before the position."""

import os

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.inputs.files.identity.content import Content
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.prefix import Prefix, ProofTrail, ReadBytes
from log_shipper.shipper.reader.gzip_file import CompressionError
from log_shipper.shipper.reader.log_file import READ_SIZE, read_fully


class Proving:
    """The proof of one file. Each step reads some of the bytes, because other files wait for the same thread. A proven
    file is read further through `file`, with its proofs in `trail`. For an entry without a proof (taken over from
    Filebeat) head and tail must suffice; it then gets a proof."""

    def __init__(self, content: Content, state: FileState) -> None:
        """Open the content. Raises OSError."""
        self._state = state
        self.trail = ProofTrail(Prefix())
        cuts = (state.position, *(cut for cut in state.cuts if cut > state.position))
        self.file = content.reader(0, cuts, self.trail)
        self._fd = content.fd

    def step(self) -> bool:
        """Read the next bytes. Return True if everything is proven. Raises Disproved, OSError."""
        position = self._state.position
        try:
            data = self.file.next()
        except (Truncated, CompressionError) as error:
            raise self._disproved from error
        if self.file.offset < position:
            if not data and not self.file.busy:  # the file is shorter
                raise self._disproved
            return False
        self.file.pop_cut()
        proof = self.trail.proof_at(position)
        if self._state.proof and proof != self._state.proof:
            raise self._disproved
        return True

    @property
    def _disproved(self) -> Disproved:
        return Disproved(os.fstat(self._fd).st_size)


class SecondReading:
    """A second reading of an open file, up to where it was read, for comparison. Each step reads some of the bytes."""

    __slots__ = ("_expected", "_fd", "_prefix")

    def __init__(self, fd: int, expected: ReadBytes) -> None:
        self._fd = fd
        self._expected = expected
        self._prefix = Prefix()

    def step(self) -> bool:
        """Read the next bytes. Return True if all bytes are as they were read. Raises Truncated, OSError."""
        start, expected = self._prefix.length, self._expected
        data = os.pread(self._fd, min(READ_SIZE, expected.length - start), start)
        self._prefix.feed(data)
        if data and self._prefix.length < expected.length:
            return False
        rest = read_fully(self._fd, len(expected.rest), expected.length)
        if (self._prefix.proof, rest) != (expected.proof, expected.rest):
            raise Truncated(os.fstat(self._fd).st_size)
        return True


def is_as_closed(state: FileState, opened: OpenedFile) -> bool:
    """Return True if a file that this process closed is unchanged, was only renamed, or has grown and ends as it was
    read (rewrite_detector.py has the reasons). Raises OSError."""
    if (state.device, state.inode) != opened.scanned.inode:
        return False  # with file_identity.path: a file that was renamed to this path
    if state.changed == opened.scanned.changed:
        return True
    if not opened.content.compressed and opened.size > state.size_seen:
        return not state.proof or Prefix.resume(opened.content.fd, state.proof, state.position) is not None
    size = state.compressed if opened.content.compressed else state.size_seen
    is_renamed = state.path != opened.scanned.path and state.changed != 0
    return is_renamed and (size, state.modified) == (opened.size, opened.modified)


def must_be_proven(content: Content, state: FileState) -> bool:
    """Return False if nothing was read from the file, or it was not written to since its entry was made. Raises
    OSError."""
    if not state.position:
        return False
    status = os.fstat(content.fd)
    return (status.st_dev, status.st_ino, status.st_ctime_ns) != (state.device, state.inode, state.changed)
