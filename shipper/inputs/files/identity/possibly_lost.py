"""Track entries whose file disappeared before all of it was shipped: a loss, unless another file has the rest."""

import logging
from collections.abc import Callable, Container
from dataclasses import replace

from log_shipper.registry.state import TRUNCATED, FileState
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)

STOPPED = "had ended before all of its data was acknowledged, and the agent was stopped"
NO_FILE = (
    "no longer exists under the paths: its unread data is lost if it was deleted; if it was moved, add its new path "
    "to the paths"
)
NO_INPUT = (
    "no longer belongs to an input: its unread data is shipped if an input with the same id, or with take_over, "
    "includes it again"
)
REWRITTEN = "was truncated or rewritten: its new content is read as a new file"
NOT_IN_COPY = "was truncated, and its copy was rewritten before it was read"
INODE_USED_AGAIN = "no longer exists, and its inode is reused by another file"


class PossiblyLost:
    """The entries that may be lost. Used by the reading thread only. `current` returns the entry if its file is still
    missing, else None; `change` replaces it."""

    def __init__(
        self,
        metrics: Metrics,
        current: Callable[[FileState], FileState | None],
        change: Callable[[FileState], None],
    ) -> None:
        self._metrics = metrics
        self._current = current
        self._change = change
        self._lost: dict[str, tuple[FileState, str]] = {}  # by file id: the entry, and why
        self._tried: set[str] = set()  # ids that a file resumes from, until it is proven to be the entry's file

    def add(self, state: FileState, why: str = NO_FILE) -> None:
        self._lost[state.id] = state, why

    def add_copied(self, state: FileState) -> None:
        """Add an entry whose unread data only a suspected copy has."""
        self.add(state, NOT_IN_COPY)

    def mark_tried(self, file_id: str) -> None:
        self._tried.add(file_id)

    def mark_disproved(self, file_id: str) -> None:
        self._tried.discard(file_id)

    def mark_proven(self, file_id: str) -> None:
        if file_id in self._tried:
            self._tried.discard(file_id)
            self._lost.pop(file_id, None)

    def report(self, awaited: Container[str] = ()) -> None:
        """Log and count losses. Called when opened files are identified. `awaited`: ids of which a suspected
        copy waits."""
        for file_id in [file_id for file_id in self._lost.keys() - self._tried if file_id not in awaited]:
            added, why = self._lost.pop(file_id)
            state = self._current(added)
            behind = state.size_seen - state.position if state is not None else 0
            if state is not None and (behind > 0 or state.ended == TRUNCATED):
                self._change(replace(state, size_seen=state.position))  # reported once
                if behind <= 0:
                    logger.info(
                        "%s (file id %s) %s; all of its data was acknowledged", state.path, state.id, why, extra=EACH
                    )
                    continue
                self._metrics.bytes_lost += behind
                logger.warning(
                    f"{state.path} (file id {state.id}) {why}; {behind} bytes from offset {state.position} were not "
                    "shipped",
                    extra=EACH,
                )


def report_truncation(state: FileState, size: int, unread: range, copied: int, *, is_outside: bool) -> int:
    """Log the truncation of an open file: it has `size` bytes now, and `unread` were not read. A copy has those before
    the offset `copied`. Return the number of lost bytes, including the new content of a file to which no path of
    the inputs leads."""
    lost, new = unread.stop - max(copied, unread.start), size if is_outside else 0
    if not unread:
        fate = "all of it had been read"
    elif copied > unread.start:
        fate = f"{len(unread)} bytes from offset {unread.start} are read from its copy"
        fate += f", except the last {lost}, which are not in the copy and may be lost" if lost else ""
    else:
        fate = f"up to {len(unread)} bytes from offset {unread.start} may be lost"
    logger.log(
        logging.WARNING if lost or new else logging.INFO,
        "%s (file id %s) was truncated or rewritten: %s; its new content (%d bytes) %s",
        state.path,
        state.id,
        fate,
        size,
        "may be lost: no path of the inputs leads to it" if new else "is read from the start as a new file",
        extra=EACH,
    )
    return lost + new
