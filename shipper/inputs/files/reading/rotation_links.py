"""Link a rotated file to the file that continues it, so that a message that spans the rotation is read whole.

A renamed file's successor is the new file at its previous path; of several that appeared meanwhile (two rotations
between two scans) each is followed by the next younger one (succession.py). The link is in the registry
(`continues_in`) before anything of the successor is sent, and until the split message is acknowledged: after a restart
the message is joined again.

A scan notes files that were renamed or left the paths (crawler.py), `on_new_files` links them to the new ones
(starting.py), `continue_or_release` continues at the end of a file (batch_reader.py), where continued_file.py joins the
message. If none appears, or it stays empty or does not end the message, batch_reader.py ends that at the harvester's
`message_deadline`.
"""

import os
from collections.abc import Sequence
from itertools import pairwise

from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.identity.rotated_names import (
    generation_of,
    is_named_after,
    log_of,
    name_of,
    was_rotated_before,
)
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.schedule import Turn
from log_shipper.shipper.inputs.files.reading.sighting import PathState
from log_shipper.shipper.inputs.files.reading.succession import is_known_to_be_older, successors, was_written_before

HOLE = 4  # NULs with which no text begins


class RotationLinks:
    """The links between files. Used by the reading thread only."""

    def __init__(self) -> None:
        # By input and the path before the renaming; for a copy by the file that was truncated there.
        self._by_previous_path: dict[tuple[str, str, FileKey | None], Harvester] = {}
        self._waiting: set[Harvester] = set()  # successors, read once their predecessors are at their ends
        # Files opened again before the successor that their entry names, by its id.
        self._named: dict[str, Harvester] = {}
        # Rotated files that are not read and have no predecessor, with their input and log.
        self._unlinked: dict[Harvester, tuple[str, str]] = {}

    def note_renamed(
        self, harvester: Harvester, previous_path: str, path: str, *, truncated: FileKey | None = None
    ) -> None:
        """Note that a file was renamed from the path at which it was written: an older generation that is shifted has
        its successor already, and one that becomes the log again has none at its old name. Only messages of several
        lines can continue in another file. A file whose entry names a successor has no other, even if that one is
        missing. The copy of a `truncated` file is followed by what is written to that file, not by a file that later
        appears at its path."""
        is_free = harvester.links.successor is None and harvester.state.continues_in is None
        may_continue = harvester.policy.multiline_timeout is not None
        is_back = name_of(path) != name_of(previous_path) and is_named_after(previous_path, path)
        if may_continue and is_free and not is_back and not was_rotated_before(path, previous_path):
            self._by_previous_path[harvester.source.input_id, previous_path, truncated] = harvester

    def note_left_paths(self, harvester: Harvester) -> None:
        """Note that a file has just left the paths of its input. If it was not removed, it was renamed to a name that
        no glob matches, as the kubelet rotates the log of a container. A generation (app.log.1) has its successor
        already."""
        path = harvester.state.path
        if harvester.path_state is PathState.MOVED and generation_of(path, log_of(path)) is None:
            self.note_renamed(harvester, path, path)

    def note_missed(self) -> None:
        """Note that a file may have come and gone unread: it may be the successor of any of those noted."""
        self._by_previous_path.clear()

    def on_new_files(
        self, fresh: list[Harvester], known: Sequence[Harvester] = (), *, others_wait: bool = False
    ) -> list[Harvester]:
        """Link new files, which are opened and not read yet, to their predecessors. Return the linked predecessors,
        whose state must be saved. `known` were opened with them, and `others_wait` for their turn: one of these may be
        between two."""
        changed: list[Harvester] = []
        self._note_unlinked(known)
        if others_wait and fresh:
            self.note_missed()
        for (input_id, previous_path, truncated), harvester in list(self._by_previous_path.items()):
            del self._by_previous_path[input_id, previous_path, truncated]
            if harvester.links.successor is not None:
                continue  # its entry named it
            came = [new for new in fresh if new.source.input_id == input_id]
            following = self._following(harvester, previous_path, came, was_truncated=truncated is not None)
            if following is None:
                continue
            if truncated is not None and bool(following) != (truncated in [new.key for new in following or came]):
                continue  # the successor appeared later, or the truncated file has another name and no successor yet
            for first, second in pairwise([harvester, *following]):
                self._pair(first, second)
                changed.append(first)
            last = following[-1] if following else harvester
            if last.state.path != previous_path or last is harvester:
                # Its successor has not appeared yet.
                self._by_previous_path[input_id, previous_path, truncated if last is harvester else None] = last
        self._note_unlinked(fresh)
        return changed

    def _following(
        self, harvester: Harvester, previous_path: str, came: list[Harvester], *, was_truncated: bool
    ) -> list[Harvester] | None:
        """Return those of the new files that follow this one, in order; None if that is not known."""
        unlinked = [new for new in came if new.links.predecessor is None and new is not harvester]
        try:
            following = successors(harvester, previous_path, unlinked)
            if following is None or self._has_earlier_successor(harvester, previous_path):
                return None
            if not was_truncated and any(is_known_to_be_older(file, harvester) for file in following):
                return None  # an old file was moved to this path
        except OSError:
            return None  # the read of the file that cannot be looked at reports it
        return following

    def _note_unlinked(self, opened: Sequence[Harvester]) -> None:
        for harvester in opened:
            if harvester.policy.multiline_timeout is not None and harvester.links.predecessor is None:
                log = log_of(harvester.state.path)
                if name_of(harvester.state.path) != log and not harvester.offset:
                    self._unlinked[harvester] = harvester.source.input_id, log

    def _has_earlier_successor(self, harvester: Harvester, previous_path: str) -> bool:
        """Return True if a file that appeared before may be the successor of this one, which waited as a suspected copy
        meanwhile. Raises OSError."""
        log = harvester.source.input_id, log_of(previous_path)
        others = [file for file, place in self._unlinked.items() if place == log and file is not harvester]
        return any(not was_written_before(file, harvester) for file in others)

    def resumes(self, opened: Harvester) -> bool:
        """Return True if the entry of a file that was opened again names a successor, or is named by that of
        another."""
        return opened.state.continues_in is not None or opened.state.id in self._named

    def resume(self, opened: list[Harvester], running: dict[str, Harvester]) -> None:
        """Link files that were opened again to the successors that their entries name, whichever of the two was opened
        first: where few may be open, one waits for its turn. `running` by file id."""
        for harvester in opened:
            if harvester.state.continues_in is not None:
                self._named[harvester.state.continues_in] = harvester
        for harvester, successor in [
            (self._named[file_id], running[file_id]) for file_id in self._named.keys() & running
        ]:
            del self._named[successor.state.id]
            if harvester.state.continues_in is None:
                continue
            if successor.links.is_alone:
                harvester.update(continues_in=None)
                continue
            is_free = successor.links.predecessor is None and harvester.links.successor is None
            if is_free and harvester.policy.multiline_timeout is not None:
                self._link(harvester, successor)

    def _pair(self, harvester: Harvester, successor: Harvester) -> None:
        self._link(harvester, successor)
        harvester.update(continues_in=successor.state.id)

    def _link(self, harvester: Harvester, successor: Harvester) -> None:
        harvester.links.successor, successor.links.predecessor = successor, harvester
        if not successor.offset:  # else it was read already before a restart
            self._waiting.add(successor)

    def waits_for(self, harvester: Harvester) -> Harvester | None:
        """Return the file that must be read to its end before this one is read; mostly None."""
        return harvester.links.predecessor if harvester in self._waiting else None

    @property
    def waited_for(self) -> set[Harvester]:
        """The files for which another waits: one that is never read again would block its successor permanently."""
        return {harvester.links.predecessor for harvester in self._waiting if harvester.links.predecessor is not None}

    def continue_or_release(self, harvester: Harvester) -> Harvester | None:
        """Note that a file was read to its end, or its message to the end of the file in which it continues. Return the
        file to read next; None for neither."""
        last = harvester
        while last.links.continues_behind and last.links.successor is not None:
            last = last.links.successor
        if last is not harvester and not harvester.is_continued:
            return self.forget(harvester)  # all of it belongs to the message of a previous file
        successor = last.links.successor
        if successor is None:
            return None
        if harvester.message_deadline is not None:
            # Until the successor is saved, the link to it may not be on disk.
            if successor.schedule.turn is Turn.SAVING or not self._has_content(successor):
                return None
            if harvester.continue_in(successor):
                last.links.continues_behind = True
                return harvester
        if last is not harvester:
            return None
        harvester.update(continues_in=None)
        return self.forget(harvester)

    def _has_content(self, harvester: Harvester | None) -> bool:
        """Return True if there is content in the file or its successors. A hole at the start of one is none: its writer
        did not append, and it may be larger than a message. Raises OSError."""
        while harvester is not None and not os.fstat(harvester.fd).st_size:
            harvester = harvester.links.successor
        return harvester is not None and os.pread(harvester.fd, HOLE, 0) != bytes(HOLE)

    def gave_batch(self, harvester: Harvester) -> Harvester | None:
        """Return the file that may be read now, because the message for which it waited was read to its end; mostly
        None."""
        if not harvester.links.continues_behind or harvester.is_continued:
            return None
        return self.forget(harvester)

    def closed(self, harvester: Harvester) -> Harvester | None:
        """Note that a file is no longer read; return the file that waited for it, if any."""
        self._unlinked.pop(harvester, None)
        successor = self.forget(harvester)
        if successor is not None:
            successor.links.is_alone = True
        return successor

    def forget(self, harvester: Harvester) -> Harvester | None:
        """Remove all links of a file; return the file that waited for it, if any."""
        for place in [place for place, renamed in self._by_previous_path.items() if renamed is harvester]:
            del self._by_previous_path[place]
        for file_id in [file_id for file_id, named in self._named.items() if named is harvester]:
            del self._named[file_id]
        self._waiting.discard(harvester)
        harvester.links.continues_behind = False
        predecessor, harvester.links.predecessor = harvester.links.predecessor, None
        if predecessor is not None:
            predecessor.links.successor = None
        successor, harvester.links.successor = harvester.links.successor, None
        if successor is None:
            return None
        successor.links.predecessor = None
        waited = successor in self._waiting
        self._waiting.discard(successor)
        return successor if waited else None


def is_read_on(harvester: Harvester) -> bool:
    """Return True if the message of the predecessor continues in this file."""
    predecessor = harvester.links.predecessor
    return predecessor is not None and predecessor.links.continues_behind
