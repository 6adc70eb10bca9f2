"""Proves that a file has the bytes that were shipped of the file of an entry: every byte before the position."""

import os

from registry.state import FileState
from shipper.errors import Disproved, Truncated
from shipper.reader.gzip_file import CompressionError
from shipper.source.identity.content import Content
from shipper.source.identity.prefix import Prefix, Trail


class Proving:
    """The proof of one file. Each step reads some of the bytes, because other files wait for the same thread. A proven
    file is read further through `file`, whose proofs `trail` gives. For an entry without a proof (of an older release,
    or taken over from Filebeat) head and tail must suffice; it gets a proof then."""

    def __init__(self, content: Content, state: FileState) -> None:
        """Raises OSError."""
        self._state = state
        self.trail = Trail(Prefix())
        cuts = (state.position, *(cut for cut in state.cuts if cut > state.position))
        self.file = content.reader(0, cuts, self.trail)
        self._fd = content.fd

    def step(self) -> bool:
        """True if all is proven. Raises Disproved, OSError."""
        position = self._state.position
        try:
            data = self.file.next()
        except (Truncated, CompressionError) as error:
            raise self._disproved from error
        if self.file.offset < position:
            if not data and not self.file.busy:  # the file is shorter
                raise self._disproved
            return False
        self.file.take_cut()
        proof = self.trail.proof_at(position)
        if self._state.proof and proof != self._state.proof:
            raise self._disproved
        return True

    @property
    def _disproved(self) -> Disproved:
        return Disproved(os.fstat(self._fd).st_size)


def must_be_proven(content: Content, state: FileState) -> bool:
    """True unless nothing was read of the file, or it was not written to since its entry was made. Raises OSError."""
    if not state.position:
        return False
    status = os.fstat(content.fd)
    return (status.st_dev, status.st_ino, status.st_ctime_ns) != (state.device, state.inode, state.changed)
