"""Find touched files (resend_on_touch): all of the file was shipped, its size is the same, its time is later.

A write changes the time of a file just before its size. So a time less than a second old decides nothing: the next
survey looks at the file again.
"""

import logging

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.spec import key_of
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile

logger = logging.getLogger(__name__)

SETTLED_AFTER = 1.0  # seconds
LATEST = 2**63 - 1  # nanoseconds, the last time that the registry can hold


def is_touched(state: FileState, opened: OpenedFile, *, was_read: bool) -> bool:
    """Return True if the file was touched since its entry's state. `was_read`: it was closed at its end, which may be
    after the position. A copy has the content of another file, but its own times. Raises OSError."""
    is_same = key_of(state) == opened.key and (state.birth == opened.birth or 0 in (state.birth, opened.birth))
    if not is_same or not state.position or not 0 < state.modified < min(opened.modified, LATEST):
        return False
    if opened.content.compressed:
        return state.compressed == opened.size
    if opened.scanned.size != opened.size:
        return False  # it ends with NULs: its writer mapped or preallocated it, and writes without a change of size
    is_read = opened.size == state.position or (was_read and opened.size == state.size_seen)
    return is_read and opened.content.matches(state)


def log_touch(state: FileState) -> None:
    logger.info(
        "%s (file id %s) was touched; sending it again from the start as a new file (resend_on_touch)",
        state.path,
        state.id,
    )


def is_settled(modified: int, now: float) -> bool:
    """Return True if the modification time, in nanoseconds, is that of a finished write. A time in the future comes
    from another clock, or was set."""
    return not 0 <= now - modified / 10**9 < SETTLED_AFTER
