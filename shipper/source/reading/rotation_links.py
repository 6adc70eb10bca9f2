"""Links a rotated file to the file that continues it, so that a message that lies across the rotation is read whole.

A renamed file's successor is the new file at its previous path; of several that appeared meanwhile (two rotations
between two scans) each is followed by the next younger one. The link is in the registry (`continues_in`) before
anything of the successor is sent, and until the split message is acknowledged: after a restart it is joined again.
"""

import os

from shipper.source.identity.copy_detector import begins_as
from shipper.source.identity.rotated_names import is_named_after, possible_originals
from shipper.source.reading.harvester import Harvester
from shipper.source.reading.path_state import PathState


class RotationLinks:
    """Used by the reading thread only."""

    def __init__(self) -> None:
        self._by_previous_path: dict[str, Harvester] = {}  # by the path that the file had before it was renamed
        self._successor: dict[Harvester, Harvester] = {}
        self._predecessor: dict[Harvester, Harvester] = {}
        self._waiting: set[Harvester] = set()
        self._continued: set[Harvester] = set()  # their last message is continued in their successor
        self._moved: set[Harvester] = set()  # they have left the path at which they were written
        self._alone: set[Harvester] = set()  # read from their start without their predecessor, which had been closed

    def renamed(self, harvester: Harvester, previous_path: str) -> None:
        """Note that a file was renamed. Only messages of several lines can continue in another file, and only the first
        rename shows which file that is. A file whose entry names a successor has no other, even if that one is
        missing."""
        is_free = harvester not in self._moved and harvester.state.continues_in is None
        if harvester.policy.multiline_timeout is not None and is_free:
            self._moved.add(harvester)
            self._by_previous_path[previous_path] = harvester

    def left_paths(self, harvester: Harvester) -> None:
        """Note that a file is at no path of its input any more. If it was not removed, it was renamed to a name that no
        glob matches: so the kubelet rotates the log of a container."""
        if harvester.path_state is PathState.MOVED:
            self.renamed(harvester, harvester.state.path)

    def on_new_files(self, fresh: list[Harvester]) -> list[Harvester]:
        """Link new files, which are opened and not read yet, to their predecessors. Return the linked predecessors,
        whose state must be saved."""
        changed = []
        for previous_path, harvester in list(self._by_previous_path.items()):
            if harvester in self._successor:
                del self._by_previous_path[previous_path]  # its entry named the successor
                continue
            unlinked = [new for new in fresh if new not in self._predecessor]
            successor = next((new for new in unlinked if new.state.path == previous_path), None)
            if successor is None or successor is harvester:
                continue
            del self._by_previous_path[previous_path]
            before = [new for new in unlinked if new is not harvester and _came_before(new, successor, previous_path)]
            successors = [*sorted(before, key=_age), successor]
            for first, second in zip([harvester, *successors], successors, strict=False):
                self._pair(first, second)
                changed.append(first)
        return changed

    def resume(self, opened: list[Harvester], running: dict[str, Harvester]) -> None:
        """Link files that were opened again to the successors that their entries name. `running` by file id."""
        for harvester in opened:
            successor = running.get(harvester.state.continues_in or "")
            if successor in self._alone:
                harvester.update(continues_in=None)
                continue
            is_free = successor not in self._predecessor and harvester not in self._successor
            if successor is not None and is_free and harvester.policy.multiline_timeout is not None:
                self._link(harvester, successor)

    def _pair(self, harvester: Harvester, successor: Harvester) -> None:
        self._link(harvester, successor)
        harvester.update(continues_in=successor.state.id)

    def _link(self, harvester: Harvester, successor: Harvester) -> None:
        self._successor[harvester] = successor
        self._predecessor[successor] = harvester
        if not successor.offset:  # else it was read already before a restart
            self._waiting.add(successor)

    def waits_for(self, harvester: Harvester) -> Harvester | None:
        """Return the file that must be read to its end before anything of this one is read; None mostly."""
        return self._predecessor[harvester] if harvester in self._waiting else None

    @property
    def waited_for(self) -> set[Harvester]:
        """The files for which another waits: one that is never read again would block its successor permanently."""
        return {self._predecessor[harvester] for harvester in self._waiting}

    def at_end(self, harvester: Harvester) -> Harvester | None:
        """Note that a file was read to its end. Return which of the file and its successor is to be read next; None for
        neither."""
        successor = self._successor.get(harvester) if self._successor else None
        if successor is None or harvester.is_continued:
            return None
        compressed = harvester.content.compressed or successor.content.compressed  # their offsets do not continue
        if harvester.message_deadline is None or compressed or not _ends_with_line(harvester):
            harvester.update(continues_in=None)
            return self.forget(harvester)
        if os.fstat(successor.fd).st_size == 0:
            return None
        harvester.continue_in(successor)
        self._continued.add(harvester)
        return harvester

    def gave_batch(self, harvester: Harvester) -> Harvester | None:
        """Return the file that may be read now, because the message for which it waited was read to its end; None
        mostly."""
        if harvester not in self._continued or harvester.is_continued:
            return None
        return self.forget(harvester)

    def is_read_by_predecessor(self, harvester: Harvester) -> bool:
        """True if the message of another file is being continued in this one."""
        return self._predecessor.get(harvester) in self._continued

    def closed(self, harvester: Harvester) -> Harvester | None:
        """Note that a file is not read any more; return the file that waited for it, if any."""
        self._moved.discard(harvester)
        self._alone.discard(harvester)
        successor = self.forget(harvester)
        if successor is not None:
            self._alone.add(successor)
        return successor

    def forget(self, harvester: Harvester) -> Harvester | None:
        """Remove all links of a file; return the file that waited for it, if any."""
        for path in [path for path, renamed in self._by_previous_path.items() if renamed is harvester]:
            del self._by_previous_path[path]
        self._waiting.discard(harvester)
        self._continued.discard(harvester)
        if (predecessor := self._predecessor.pop(harvester, None)) is not None:
            del self._successor[predecessor]
        successor = self._successor.pop(harvester, None)
        if successor is None:
            return None
        del self._predecessor[successor]
        waited = successor in self._waiting
        self._waiting.discard(successor)
        return successor if waited else None


def _came_before(harvester: Harvester, successor: Harvester, previous_path: str) -> bool:
    """True if the file was at the successor's path, `previous_path`, before the successor: it was rotated too, and is
    not a copy."""
    return (
        not harvester.content.compressed
        and is_named_after(harvester.state.path, previous_path)
        and harvester.state.path not in possible_originals(previous_path)
        and _age(harvester) < _age(successor)
        and not begins_as(successor.content, harvester.content, harvester.content.size)
    )


def _age(harvester: Harvester) -> int:
    return os.fstat(harvester.fd).st_mtime_ns


def _ends_with_line(harvester: Harvester) -> bool:
    end = harvester.policy.line_end
    return os.pread(harvester.fd, len(end), max(harvester.read_to - len(end), 0)) == end
