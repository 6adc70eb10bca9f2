"""At the start with `delivery: exactly_once`: the positions committed with the records. They may be ahead of the
registry's, if the agent was killed between the commit and the registry's write.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from log_shipper.registry.entry import decoded
from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.output.base import CommitsPositions

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """Raised when the agent is stopped before it has started."""


def resume(
    output: CommitsPositions, known: Mapping[str, FileState], *, is_new: bool, stopping: Callable[[], bool]
) -> list[FileState]:
    """Wait for Kafka, and return the committed positions that the registry should adopt. `known`: its own positions.
    `is_new`: it was just created, so only the topic knows the files. Raises Stopped, StartError.
    """
    entries = output.start(stopping)
    if entries is None:
        raise Stopped
    newer = _newer(_states(entries), known, is_new=is_new)
    if newer:
        logger.info(
            "%d files resume at positions committed in Kafka; the registry %s",
            len(newer),
            "is new" if is_new else "was behind",
        )
    elif known and not entries:
        logger.info("no positions are committed in Kafka under this transactional id: the registry's positions apply")
    return newer


def _states(entries: Mapping[str, bytes]) -> list[FileState]:
    try:
        return [decoded(entry) for entry in entries.values()]
    except (TypeError, ValueError) as error:
        raise StartError(
            f"output.kafka.transaction.topic: this release cannot read a committed position ({error}). Run "
            "the release that wrote it, or name another topic: events that the registry does not know as delivered are "
            "then sent again"
        ) from error


def _newer(committed: list[FileState], known: Mapping[str, FileState], *, is_new: bool) -> list[FileState]:
    """Return the states that the registry should adopt. An entry missing from it was removed on purpose, unless the
    registry is new: a file's entry is on disk before its first line is sent.
    """
    newer = []
    by_id = {state.id: state for state in committed}
    for state in committed:
        entry = known.get(state.id)
        if entry is None:
            newer += [state] if is_new else []
        elif entry.position < state.position:
            newer.append(_settled(_advanced(entry, state), by_id))
    return newer


def _advanced(entry: FileState, state: FileState) -> FileState:
    """Return the registry's entry with the committed position. The file's place and history may have been recorded
    later.
    """
    return replace(
        entry,
        position=state.position,
        tail_hash=state.tail_hash,
        proof=state.proof,
        fingerprint=max(entry.fingerprint, state.fingerprint),
        size_seen=max(entry.size_seen, state.size_seen),
        cuts=_cuts(entry, state),
        continues_in=entry.continues_in or state.continues_in,
        cursor=state.cursor,
    )


def _cuts(entry: FileState, state: FileState) -> tuple[int, ...]:
    """Return the cuts beyond the committed position. Those of sources other than files have no order, and passed ones
    do no harm.
    """
    if entry.kind:
        return tuple(dict.fromkeys((*state.cuts, *entry.cuts)))
    return tuple(sorted({cut for cut in (*entry.cuts, *state.cuts) if cut > state.position}))


def _settled(state: FileState, committed: Mapping[str, FileState]) -> FileState:
    """Return the state without the link to the continuing file, if that was read from beyond the message that spans
    both: the transaction of that message contained both entries. Otherwise, an entry may be older than the link.
    """
    successor = committed.get(state.continues_in or "")
    return state if successor is None or not successor.position else replace(state, continues_in=None)
