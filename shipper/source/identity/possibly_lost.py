"""Entries whose file disappeared before all of it was shipped: a loss, unless another file has the remainder."""

import logging
from dataclasses import replace

from registry.registrar import Registrar
from registry.state import TRUNCATED
from shipper.metrics import Metrics
from shipper.source.identity.unclaimed import UnclaimedEntries

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
    """Used by the reading thread only."""

    def __init__(self, registrar: Registrar, metrics: Metrics, unclaimed: UnclaimedEntries) -> None:
        self._registrar = registrar
        self._metrics = metrics
        self._unclaimed = unclaimed
        self._why: dict[str, str] = {}  # by file id
        self._tried: set[str] = set()  # a file resumes from the entry, once it is proven to be its file

    def add(self, file_id: str, why: str) -> None:
        self._why[file_id] = why

    def tried(self, file_id: str) -> None:
        self._tried.add(file_id)

    def disproved(self, file_id: str) -> None:
        self._tried.discard(file_id)

    def proven(self, file_id: str) -> None:
        if file_id in self._tried:
            self._tried.discard(file_id)
            self._why.pop(file_id, None)

    def report(self) -> None:
        """Log and count what is lost. Called after a scan, when its files are identified."""
        for file_id in self._why.keys() - self._tried:
            why = self._why.pop(file_id)
            state = self._unclaimed.states.get(file_id)
            behind = state.size_seen - state.position if state is not None else 0
            if state is not None and (behind > 0 or state.ended == TRUNCATED):
                self._metrics.bytes_lost += max(behind, 0)
                logged = replace(self._unclaimed.remove(file_id), size_seen=state.position)  # reported once
                self._unclaimed.add(logged)
                self._registrar.note(logged)
                logger.warning(
                    "%s (file id %s) %s; %d bytes from offset %d on were not shipped",
                    state.path,
                    state.id,
                    why,
                    max(behind, 0),
                    state.position,
                )
