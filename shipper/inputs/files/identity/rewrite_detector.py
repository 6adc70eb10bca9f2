"""Notices that an open file was rewritten in place since it was looked at last.

A job that writes its report again (`>`) empties the file and fills it again. An agent that is not scheduled in between
sees neither an empty file nor, where reports begin and end alike, another head or another end. So each look, before the
file is read further, compares its size and times with those of the last look:

| since the last look                                   | what that shows                                         |
|-------------------------------------------------------|---------------------------------------------------------|
| nothing has changed                                   | nothing was written                                     |
| a time has moved, the size is the same                | rewritten or touched: all that was read is proven again |
| it is shorter, but still has as much as was read      | the same                                                |
| it is longer                                          | an append, or a rewrite: its end is compared            |
| its name and its time of change only                  | renamed or removed                                      |
| a time has moved, and it ends with NULs               | written to within its size (padding.py): as if longer   |

A proof reads the file once, in steps. An append never needs one: it makes the file longer, so the time never moves
without the size, except for an instant, because a write changes the time first. Hence the same is to be seen again
`SETTLED` seconds later.

The kernel does not distinguish an append from a rewrite that leaves the file longer: both move the same times and
raise the same inotify events, of which equal ones are merged; inode, birth time and generation stay, and freed blocks
may be used again. A proof for each append would read a file of n lines n times; a proof for each look that came late
would do so on a busy host, where each does, and not every pause of the agent can be seen (SIGSTOP, a frozen or
throttled container). So what is compared then is bounded: all of a file of up to 64 KiB (`COMPARED_WHOLE`); of a longer
one the first KiB, and up to 16 KiB, at least 256 bytes, before the offset.

What stays hidden, therefore, between two looks:
- a file of more than 64 KiB that was emptied and filled beyond its former size, or rewritten within it if it ends with
  NULs, with the same bytes in these places;
- a rewrite to the same size within the kernel's clock tick (up to 10 ms) of the look before, in a Linux before 6.13;
- a rewrite to the same size whose modification time was set back, if the file was renamed, too;
- a rewrite, with the same head and tail, of a file of which there is no proof: `tail_files`, an entry of Filebeat.
"""

import os

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.inputs.files.identity.content import Content, Look, Plain, PlainFile, look_of
from log_shipper.shipper.inputs.files.identity.padding import is_filled_to
from log_shipper.shipper.inputs.files.identity.prefix import ProofTrail
from log_shipper.shipper.inputs.files.identity.proving import SecondReading
from log_shipper.shipper.reader.base import RawFile

SETTLED = 0.01  # seconds for which a time must have moved without the size


class RewriteDetector:
    """The looks at one open file. Used by the reading thread only."""

    __slots__ = ("_clock", "_fd", "_name", "_proof", "_seen", "_since", "_unsettled")

    def __init__(self, content: Content, clock: Clock) -> None:
        """Look at the file for the first time. Raises OSError."""
        self._clock = clock
        self._fd = content.fd
        opened = content.opened if isinstance(content, Plain) else None
        self._seen = opened or look_of(os.fstat(self._fd))
        self._unsettled: Look | None = None  # the last look, if it shows need of a proof,
        self._since = 0.0  # and when the first one like that was
        self._name = _name(self._fd)
        self._proof: SecondReading | None = None

    def is_as_seen(self, status: os.stat_result) -> bool:
        """Return True if at most the file's name has changed since the last look."""
        return self._is_seen(look_of(status))

    def confirm(self, file: RawFile, trail: ProofTrail) -> bool:
        """Look at the file. Return True if it still has what was read, so that it may be read further; False if that is
        not known yet. Raises Truncated, OSError."""
        if self._proof is None:
            look = look_of(os.fstat(self._fd))
            if self._is_seen(look):
                return True
            if not isinstance(file, PlainFile) or not self._needs_proof(look, file, trail):
                self._seen = look
                return True
            if not self._is_settled(look):
                return False
            self._proof = _proof(self._fd, trail)
        return self._step()

    def _step(self) -> bool:
        if self._proof is not None and not self._proof.step():
            return False
        self._proof, self._seen, self._unsettled = None, self._unsettled or self._seen, None
        return True

    def _needs_proof(self, look: Look, file: PlainFile, trail: ProofTrail) -> bool:
        size, size_seen = look[0], self._seen[0]
        if size < file.offset:
            raise Truncated(size)
        if not file.offset:
            return False
        if size > size_seen or (size == size_seen and not is_filled_to(self._fd, size, file.unit)):
            if not trail.ends_alike(self._fd):
                raise Truncated(size)
            file.pause()  # so that its head is compared, too
            return False
        return True

    def _is_seen(self, look: Look) -> bool:
        if look != self._seen and look[:2] == self._seen[:2]:
            before, self._name = self._name, _name(self._fd)
            if before != self._name:
                self._seen = look
        return look == self._seen

    def _is_settled(self, look: Look) -> bool:
        now = self._clock.monotonic()
        if self._unsettled != look:
            self._unsettled, self._since = look, now
        return look[0] < self._seen[0] or now - self._since >= SETTLED


def _name(fd: int) -> int:
    """Return a hash of the file's name; 0 if /proc does not show it."""
    try:
        return hash(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        return 0


def _proof(fd: int, trail: ProofTrail) -> SecondReading | None:
    """Return the proof so far; None for an entry without a proof."""
    read_bytes = trail.read_bytes
    return None if read_bytes is None else SecondReading(fd, read_bytes)
