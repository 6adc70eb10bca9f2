"""Which file goes on where another ended, so that a message that lies across the rotation comes out whole (seam.py).

A renamed file's successor is the new file at its former path; of several that appeared meanwhile (two rotations
between two scans) each is followed by the next younger one. The pair is in the registry (`continues_in`) before
anything of the successor is sent, and until the message at the seam is acknowledged: a restart joins it again.
"""

import os

from shipper.source.harvester import Harvester
from shipper.source.rotation import is_named_after


class Succession:
    """Used by the reading thread only."""

    def __init__(self) -> None:
        self._former: dict[str, Harvester] = {}  # by the path that a file had when it was read last
        self._successor: dict[Harvester, Harvester] = {}
        self._predecessor: dict[Harvester, Harvester] = {}

    def renamed(self, harvester: Harvester, former: str) -> None:
        """Only where messages can have several lines is there something to join."""
        if harvester.policy.multiline_timeout is not None:
            self._former[former] = harvester

    def appeared(self, fresh: list[Harvester]) -> list[Harvester]:
        """New files, opened and not read yet; the predecessors that were found, whose state is to be saved."""
        changed = []
        for former, harvester in list(self._former.items()):
            heirs = [each for each in fresh if is_named_after(each.state.path, former) and each is not harvester]
            if not any(each.state.path == former for each in heirs):
                continue
            del self._former[former]
            heirs.sort(key=lambda each: os.fstat(each.fd).st_mtime_ns)
            for first, second in zip([harvester, *heirs], heirs, strict=False):
                self._pair(first, second)
                changed.append(first)
        return changed

    def resume(self, opened: list[Harvester], running: dict[str, Harvester]) -> None:
        """Files opened again whose entry says where they go on. `running` by file id."""
        for harvester in opened:
            successor = running.get(harvester.state.continues_in or "")
            if successor is not None and harvester.policy.multiline_timeout is not None:
                self._successor[harvester] = successor
                if not successor.offset:
                    self._predecessor[successor] = harvester

    def _pair(self, harvester: Harvester, successor: Harvester) -> None:
        self._successor[harvester] = successor
        self._predecessor[successor] = harvester
        harvester.update(continues_in=successor.state.id)

    def waits_for(self, harvester: Harvester) -> Harvester | None:
        """The file that must be read to its end before anything of this one is."""
        return self._predecessor.get(harvester) if self._predecessor else None

    def at_end(self, harvester: Harvester) -> Harvester | None:
        """A file with a successor was read to its end: the next file to be read of the two, None for neither."""
        successor = self._successor.get(harvester) if self._successor else None
        if successor is None or harvester.seam is not None:
            return None
        if harvester.message_deadline is None or not _ends_with_line(harvester):
            harvester.update(continues_in=None)
            return self.forget(harvester)
        if os.fstat(successor.fd).st_size == 0:
            return None
        harvester.join(successor)
        return harvester

    def forget(self, harvester: Harvester) -> Harvester | None:
        """It is closed, or done with its successor; the one that waited for it, if any."""
        for path in [path for path, each in self._former.items() if each is harvester]:
            del self._former[path]
        if (predecessor := self._predecessor.pop(harvester, None)) is not None:
            self._successor.pop(predecessor, None)
        successor = self._successor.pop(harvester, None)
        if successor is None or self._predecessor.pop(successor, None) is None:
            return None
        return successor


def _ends_with_line(harvester: Harvester) -> bool:
    return os.pread(harvester.fd, 1, harvester.read_to - 1) == b"\n"
