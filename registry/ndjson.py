"""Read the registry of releases up to 0.2, for the first start of this one: a log and a checkpoint of JSON lines.

A file is a header line and groups; a group is entry lines and a closing line:

    {"registry":"log","version":4,"group":12,"crc":"9a0b1c2d"}
    {"id":"f1", ...}
    {"removed":"f2"}
    {"group":13,"entries":2,"size":257,"crc":"0f1e2d3c"}

The crc32 of a closing line covers the group's entry lines and the closing line up to the crc itself. The checkpoint has
all entries up to the group in its header, the log what changed since, and "recent" what changed since the last group of
the log. That one was not fsynced: what can be read of it, up to the first damage, counts. A last group of the log that
does not match its closing line is what a crash left; damage before a later group is an error, as is a missing file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from log_shipper.registry.entry import members
from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState, from_dict

VERSION = 4
CHECKPOINT, LOG, RECENT = "checkpoint.ndjson", "log.ndjson", "recent.ndjson"
NAMES = (CHECKPOINT, LOG, RECENT)

_MARK = b'{"group":'
_NUMBER = re.compile(rb'\{"group":(\d+),')


class _Damaged(Exception):
    def __init__(self, offset: int, why: str) -> None:
        self.offset = offset
        self.why = why


class _Part(NamedTuple):
    """The groups of one file: the number in its header, the last complete one, and their entries in order."""

    before: int
    last: int
    changes: list[tuple[int, str, FileState | None]]  # of a group: an id with its state, None if it was removed
    end: int


def read(directory: Path, files: DiskFiles) -> dict[str, FileState] | None:
    """Return the entries, None if there is no such registry. Raises RegistryCorrupt, RegistryForeignVersion,
    RegistryMisplaced, OSError."""
    content = {name: files.read(directory / name) for name in NAMES}
    if content[CHECKPOINT] is None and content[LOG] is None:
        return None
    states: dict[str, FileState] = {}
    number = _read_checkpoint(directory, content[CHECKPOINT], states)
    log = content[LOG]
    if log is None:
        raise RegistryCorrupt(directory / LOG, "the file is missing, but a checkpoint exists", 0)
    part = _part(directory / LOG, "log", log)
    if part.before > number:
        why = f"groups up to {part.before} are missing: no checkpoint contains them"
        raise RegistryCorrupt(directory / CHECKPOINT, why, 0)
    _apply(part, states, after=number)
    recent = content[RECENT]
    if recent is not None:
        try:
            newer = _part(directory / RECENT, "recent", recent, torn=True)
        except (RegistryCorrupt, RegistryForeignVersion):
            return states
        if newer.before == max(number, part.last):
            _apply(newer, states)
    return states


def _read_checkpoint(directory: Path, data: bytes | None, states: dict[str, FileState]) -> int:
    if data is None:
        return 0
    part = _part(directory / CHECKPOINT, "checkpoint", data)
    if part.end != len(data) or part.last != part.before:
        why = "the entries do not match the final count and checksum"
        raise RegistryCorrupt(directory / CHECKPOINT, why, part.end)
    _apply(part, states)
    return part.last


def _apply(part: _Part, states: dict[str, FileState], after: int = 0) -> None:
    for group, file_id, state in part.changes:
        if group <= after:
            continue  # a crash between checkpoint and new log: the checkpoint has it
        if state is None:
            states.pop(file_id, None)
        else:
            states[file_id] = state


def _part(file: Path, kind: str, data: bytes, *, torn: bool = False) -> _Part:
    """Return the groups of a file. `torn`: ignore everything after the complete groups."""
    try:
        before, end = _header(file, kind, data)
        number = before + (kind != "checkpoint")
        changes: list[tuple[int, str, FileState | None]] = []
        while (mark := _closed(data, end, number)) is not None:
            changes += _changes(data, end, mark, number)
            number, end = number + 1, data.index(b"\n", mark) + 1
        if not torn:
            _check_tail(data, end, number)
    except _Damaged as damage:
        raise RegistryCorrupt(file, damage.why, damage.offset) from damage
    return _Part(before, number - 1, changes, end)


def _header(file: Path, kind: str, data: bytes) -> tuple[int, int]:
    end = data.find(b"\n") + 1
    prefix, _, _ = data[:end].rpartition(b',"crc":"')
    if not end or data[:end] != _sealed(prefix):
        raise _Damaged(0, "the header line is incomplete")
    values: dict[str, Any] = json.loads(data[:end])
    if values["version"] != VERSION:
        raise RegistryForeignVersion(file, values["version"], VERSION)
    if values["registry"] != kind:
        raise _Damaged(0, f"this is a {values['registry']}, not a {kind}")
    return values["group"], end


def _sealed(prefix: bytes, crc: int = 0) -> bytes:
    return b'%s,"crc":"%08x"}\n' % (prefix, crc32(prefix, crc))


def _closed(data: bytes, start: int, number: int) -> int | None:
    """Return where the closing line of a complete group begins."""
    mark = data.find(_MARK, start)
    end = data.find(b"\n", mark) + 1
    if mark < 0 or not end:
        return None
    closing = b'{"group":%d,"entries":%d,"size":%d' % (number, data.count(b"\n", start, mark), mark - start)
    return mark if data[mark:end] == _sealed(closing, crc32(memoryview(data)[start:mark])) else None


def _check_tail(data: bytes, start: int, number: int) -> None:
    """Raise _Damaged unless the bytes from `start` can be what a crash left of group `number`, the last one: a closing
    line that is followed by anything, or has another number, was written after that group was complete."""
    mark = data.find(_MARK, start)
    if mark < 0:
        return
    end = data.find(b"\n", mark) + 1
    closing = _NUMBER.match(data, mark)
    if (end and end < len(data)) or (closing and int(closing[1]) != number):
        raise _Damaged(start, f"group {number} does not match its checksum, and another group follows it")


def _changes(data: bytes, start: int, mark: int, number: int) -> list[tuple[int, str, FileState | None]]:
    changes: list[tuple[int, str, FileState | None]] = []
    shared: dict[Any, Any] = {}
    for line in data[start:mark].splitlines(keepends=True):
        try:
            values = members(line)
            state = None if "removed" in values else from_dict(values, shared)
            changes.append((number, values["removed"] if state is None else state.id, state))
        except (TypeError, ValueError) as error:
            raise _Damaged(start, f"not a registry entry: {error}") from error
    return changes
