"""Entries whose file disappeared before all of it was shipped: a loss, unless another file has the remainder."""

import logging
from collections.abc import Callable
from dataclasses import replace

from logs.folding import EACH
from registry.state import TRUNCATED, FileState
from shipper.metrics import Metrics

logger = logging.getLogger(__name__)

STOPPED = "had ended before all that was read of it was acknowledged, and then the agent was stopped"
NO_FILE = (
    "no longer exists under the paths: lost if it was deleted; if it was moved, add its new path to the paths, and "
    "what is missing is shipped"
)
NO_INPUT = "belongs to no input any more: what is missing is shipped if an input names it again within a day"
REWRITTEN = (
    "does not hold what was read of it before: truncated or rewritten; its new content is read as a new file, and "
    "what was not shipped of it is lost"
)
INODE_USED_AGAIN = "no longer exists, and another file has its inode: what was not shipped of it is lost"


class PossiblyLost:
    """Used by the reading thread only. `current` returns what an entry is now if its file is still missing, else None;
    `change` replaces it."""

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
        self._tried: set[str] = set()  # a file resumes from the entry, once it is proven to be its file

    def add(self, state: FileState, why: str) -> None:
        self._lost[state.id] = state, why

    def tried(self, file_id: str) -> None:
        self._tried.add(file_id)

    def disproved(self, file_id: str) -> None:
        self._tried.discard(file_id)

    def proven(self, file_id: str) -> None:
        if file_id in self._tried:
            self._tried.discard(file_id)
            self._lost.pop(file_id, None)

    def report(self) -> None:
        """Log and count what is lost. Called after a scan, when its files are identified."""
        for file_id in self._lost.keys() - self._tried:
            added, why = self._lost.pop(file_id)
            state = self._current(added)
            behind = state.size_seen - state.position if state is not None else 0
            if state is not None and (behind > 0 or state.ended == TRUNCATED):
                self._metrics.bytes_lost += max(behind, 0)
                self._change(replace(state, size_seen=state.position))  # reported once
                logger.warning(
                    "%s (file id %s) %s; %d bytes from offset %d on were not shipped",
                    state.path,
                    state.id,
                    why,
                    max(behind, 0),
                    state.position,
                    extra=EACH,
                )
