"""The bytes of a registry file, as pure functions; `store.py` describes what they are for.

Every file is one header line and then groups; a group is entry lines and one closing line:

    {"registry":"log","version":4,"group":12,"crc":"9a0b1c2d"}
    {"id":"f1", …}
    {"removed":"f2"}
    {"group":13,"entries":2,"size":257,"crc":"0f1e2d3c"}

A third kind, "recent", has what changed since a group of the log (`store.py`).

A closing line's crc32 covers the group's entry lines and the closing line up to the crc itself. As a closing line
can be computed from the number and the entries, it is checked by comparing bytes: no damage in it goes unseen.
The mark `{"group":` occurs nowhere else in a file that is whole, because JSON escapes the quotes inside strings.
Header lines stay as they are in every version, so that another version and damage can be distinguished.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import orjson

from log_shipper.registry.state import FileState, from_dict, to_dict

VERSION = 4

Kind = Literal["log", "checkpoint", "recent"]

_MARK = b'{"group":'
_NUMBER = re.compile(rb'\{"group":(\d+),')
# A checkpoint of many entries is written in pieces: one of 200 MB would take the memory twice, and keep the
# interpreter lock while it is put together.
_PIECE = 1 << 18


class Damaged(Exception):
    """Bytes that cannot be what was written; `load` adds the file's name."""

    def __init__(self, offset: int, why: str) -> None:
        self.offset = offset
        self.why = why
        super().__init__(f"byte {offset}: {why}")


class ForeignVersion(Exception):
    """Raised for a file that another release wrote in another form."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(str(version))


@dataclass(frozen=True, slots=True)
class Header:
    group: int
    end: int  # byte offset behind it


@dataclass(frozen=True, slots=True)
class Group:
    number: int
    start: int  # byte offsets in the file
    mark: int  # where the entries end and the closing line begins
    end: int
    entries: int


def sealed(prefix: bytes, crc: int = 0) -> bytes:
    """Return the line that begins with `prefix`, closed with a checksum that continues `crc`."""
    return b'%s,"crc":"%08x"}\n' % (prefix, crc32(prefix, crc))


def header(kind: Kind, group: int) -> bytes:
    prefix = b'{"registry":"%s","version":%d,"group":%d' % (kind.encode(), VERSION, group)
    return sealed(prefix)


def read_header(data: bytes, kind: Kind) -> Header:
    """Return the header of a file. Raises Damaged, ForeignVersion."""
    end = data.find(b"\n") + 1
    prefix, _, _ = data[:end].rpartition(b',"crc":"')
    if not end or data[:end] != sealed(prefix):
        raise Damaged(0, "the header line is not whole")
    values: dict[str, Any] = json.loads(data[:end])
    if values["version"] != VERSION:
        raise ForeignVersion(values["version"])
    if values["registry"] != kind:
        raise Damaged(0, f"this is a {values['registry']}, not a {kind}")
    return Header(values["group"], end)


def entry(state: FileState) -> bytes:
    return _line(to_dict(state))


def removal(file_id: str) -> bytes:
    return _line({"removed": file_id})


def read_entry(line: bytes) -> FileState:
    """Return the state of a line that `entry` made. Raises TypeError or ValueError for another."""
    return from_dict(_read_line(line), {})


def _line(values: dict[str, Any]) -> bytes:
    try:
        # A copy: what orjson gives keeps its whole buffer, ten times the line, as long as it is referenced.
        return b"%b" % orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # UTF-8 has no bytes for the surrogate escapes of a path that is not UTF-8: as ASCII they survive as \udcXX.
        return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"


def _read_line(line: bytes) -> dict[str, Any]:
    try:
        values = orjson.loads(line)
    except ValueError:
        values = json.loads(line)  # surrogate escapes: see _line
    if not isinstance(values, dict):
        raise TypeError("not a JSON object")
    return values


def group(number: int, lines: Iterable[bytes]) -> bytes:
    return b"".join(pieces(number, lines))


def pieces(number: int, lines: Iterable[bytes], before: bytes = b"") -> Iterator[bytes]:
    """Yield the bytes of `before` and of a group, in pieces that are built and written one by one."""
    entries, size, crc = 0, 0, 0
    piece = bytearray(before)
    for line in lines:
        entries, size, crc = entries + 1, size + len(line), crc32(line, crc)
        piece += line
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece) + _closing(number, entries, size, crc)


def _closing(number: int, entries: int, size: int, crc: int) -> bytes:
    return sealed(b'{"group":%d,"entries":%d,"size":%d' % (number, entries, size), crc)


def groups(data: bytes, start: int, number: int) -> Iterator[Group]:
    """Yield the complete groups from `start` on, numbered from `number` on, up to the first that is incomplete."""
    while (whole := _group_at(data, start, number)) is not None:
        yield whole
        start, number = whole.end, number + 1


def _group_at(data: bytes, start: int, number: int) -> Group | None:
    mark = data.find(_MARK, start)
    end = data.find(b"\n", mark) + 1
    if mark < 0 or not end:
        return None
    entries = data.count(b"\n", start, mark)
    crc = crc32(memoryview(data)[start:mark])
    if data[mark:end] != _closing(number, entries, mark - start, crc):
        return None
    return Group(number, start, mark, end, entries)


def check_tail(data: bytes, start: int, number: int) -> None:
    """Raise Damaged unless the bytes from `start` on can be what a crash left of the one group `number`.

    Only the last group can be unfinished, because each is on disk before the next is begun. So a closing line that is
    followed by anything, or that has another number, proves that a group was damaged after it was whole.
    """
    mark = data.find(_MARK, start)
    if mark < 0:
        return
    end = data.find(b"\n", mark) + 1
    closing = _NUMBER.match(data, mark)
    if (end and end < len(data)) or (closing and int(closing[1]) != number):
        raise Damaged(start, f"group {number} does not match its checksum, and a later group follows")


def changes(data: bytes, whole: Group) -> Iterator[tuple[str, FileState | None]]:
    """Yield the entries of a group: each id with its state, or None where it was removed. Raises Damaged for an entry
    that is not a FileState although the checksum is right."""
    offset, shared = whole.start, dict[Any, Any]()
    while offset < whole.mark:
        end = data.index(b"\n", offset) + 1
        try:
            values = _read_line(data[offset:end])
            if "removed" in values:
                if not isinstance(values["removed"], str):
                    raise TypeError("what is removed is not a file id")
                yield values["removed"], None
            else:
                state = from_dict(values, shared)
                yield state.id, state
        except (TypeError, ValueError) as error:
            raise Damaged(offset, f"not an entry of a registry: {error}") from error
        offset = end


def apply(data: bytes, whole: Group, states: dict[str, FileState]) -> None:
    """Apply the entries of a group to the states. Raises as `changes`."""
    for file_id, state in changes(data, whole):
        if state is None:
            states.pop(file_id, None)
        else:
            states[file_id] = state
