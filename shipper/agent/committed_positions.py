"""At the start with `delivery: exactly_once`: the positions that were committed with the records, which may be further
than those of the registry, because a kill may come between the commit and the registry's write."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from log_shipper.registry.entry import decoded
from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.output.base import CommitsPositions

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """Raised when the agent is to stop before it has started."""


def resume(
    output: CommitsPositions, known: Mapping[str, FileState], *, is_new: bool, stopping: Callable[[], bool]
) -> list[FileState]:
    """Wait for Kafka, and return the committed positions that the registry, which has the `known` ones, is to take.
    `is_new`: it was created just now, so the topic alone knows the files. Raises Stopped, StartError."""
    entries = output.start(stopping)
    if entries is None:
        raise Stopped
    newer = _newer(_states(entries), known, is_new=is_new)
    if newer:
        logger.info(
            "%d files resume at the positions that were committed in Kafka; the registry %s",
            len(newer),
            "is new" if is_new else "was behind",
        )
    elif known and not entries:
        logger.info("no positions were committed in Kafka under this transactional id yet: the registry's count")
    return newer


def _states(entries: Mapping[str, bytes]) -> list[FileState]:
    try:
        return [decoded(entry) for entry in entries.values()]
    except (TypeError, ValueError) as error:
        raise StartError(
            f"output.kafka.transaction.topic: it has a position that this release cannot read ({error}): was another "
            "release in use? Run that one, or name another topic, and what the registry does not know is sent again"
        ) from error


def _newer(committed: list[FileState], known: Mapping[str, FileState], *, is_new: bool) -> list[FileState]:
    """Return the states that the registry is to take. An entry that it does not have was removed on purpose, unless the
    registry is new: a file's entry is on disk before its first line is sent."""
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
    """Return the registry's entry with what was committed. Where the file is and what happened to it may have been
    noted after that."""
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
    """Return the cuts behind what was committed. Of what is no file they have no order, and a passed one does no
    harm."""
    if entry.kind:
        return tuple(dict.fromkeys((*state.cuts, *entry.cuts)))
    return tuple(sorted({cut for cut in (*entry.cuts, *state.cuts) if cut > state.position}))


def _settled(state: FileState, committed: Mapping[str, FileState]) -> FileState:
    """Return the state without the link to the file that continues it, if that was read from behind the message that
    lies across the two: both entries were in the transaction of that message. Else either entry may have been made
    before the link was."""
    successor = committed.get(state.continues_in or "")
    return state if successor is None or not successor.position else replace(state, continues_in=None)
