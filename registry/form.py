"""The bytes of a registry file, as pure functions; `store.py` says what they are for.

Every file is one header line and then groups; a group is entry lines and one closing line:

    {"registry":"log","version":1,"group":12,"crc":"9a0b1c2d"}
    {"id":"f1", …}
    {"removed":"f2"}
    {"group":13,"entries":2,"size":257,"crc":"0f1e2d3c"}

A closing line's crc32 covers the group's entry lines and the closing line up to the crc itself. As a closing line
can be computed from the number and the entries, it is checked by comparing bytes: no damage in it goes unseen.
The mark `{"group":` occurs nowhere else in a file that is whole, because JSON escapes the quotes inside strings.
Header lines stay as they are in every later version, so that "too new" and "damaged" can be told apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

from registry.state import FileState, from_dict, to_dict

VERSION = 1

Kind = Literal["log", "checkpoint"]

_MARK = b'{"group":'
_NUMBER = re.compile(rb'\{"group":(\d+),')


class Damaged(Exception):
    """Bytes that cannot be what was written; `load` adds the file's name."""

    def __init__(self, offset: int, why: str) -> None:
        self.offset = offset
        self.why = why
        super().__init__(f"byte {offset}: {why}")


class TooNew(Exception):
    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(str(version))


@dataclass(frozen=True, slots=True)
class Group:
    number: int
    start: int  # byte offsets in the file, closing line included
    end: int
    entries: int
    body: bytes


def sealed(prefix: bytes, before: bytes = b"") -> bytes:
    """The line that `prefix` begins, closed with a checksum of `before` and `prefix`."""
    return b'%s,"crc":"%08x"}\n' % (prefix, crc32(prefix, crc32(before)))


def header(kind: Kind, group: int) -> bytes:
    prefix = b'{"registry":"%s","version":%d,"group":%d' % (kind.encode(), VERSION, group)
    return sealed(prefix)


def read_header(data: bytes, kind: Kind) -> tuple[int, int]:
    """The group in the header, and the offset behind it. Raises Damaged, TooNew."""
    end = data.find(b"\n") + 1
    prefix, _, _ = data[:end].rpartition(b',"crc":"')
    if not end or data[:end] != sealed(prefix):
        raise Damaged(0, "the header line is not whole")
    values: dict[str, Any] = json.loads(data[:end])
    if values["version"] > VERSION:
        raise TooNew(values["version"])
    if values["registry"] != kind:
        raise Damaged(0, f"this is a {values['registry']}, not a {kind}")
    return values["group"], end


def entry(state: FileState) -> bytes:
    # ASCII only, so that surrogate escapes survive as \udcXX; UTF-8 has no bytes for them.
    return json.dumps(to_dict(state), separators=(",", ":")).encode("ascii") + b"\n"


def removal(file_id: str) -> bytes:
    return json.dumps({"removed": file_id}, separators=(",", ":")).encode("ascii") + b"\n"


def group(number: int, lines: Iterable[bytes]) -> bytes:
    body = b"".join(lines)
    return body + _closing(number, body)


def _closing(number: int, body: bytes) -> bytes:
    prefix = b'{"group":%d,"entries":%d,"size":%d' % (number, body.count(b"\n"), len(body))
    return sealed(prefix, body)


def groups(data: bytes, start: int, number: int) -> Iterator[Group]:
    """The whole groups from `start` on, numbered from `number` on, up to the first that is not whole."""
    while (found := _group_at(data, start, number)) is not None:
        yield found
        start, number = found.end, number + 1


def _group_at(data: bytes, start: int, number: int) -> Group | None:
    mark = data.find(_MARK, start)
    end = data.find(b"\n", mark) + 1
    if mark < 0 or not end:
        return None
    body = data[start:mark]
    if data[mark:end] != _closing(number, body):
        return None
    return Group(number, start, end, body.count(b"\n"), body)


def check_tail(data: bytes, start: int, number: int) -> None:
    """Raises Damaged unless the bytes from `start` on can be what a crash left of the one group `number`.

    Only the last group can be unfinished, because each is on disk before the next is begun. So a closing line that is
    followed by anything, or that has another number, proves that a group was damaged after it was whole.
    """
    mark = data.find(_MARK, start)
    if mark < 0:
        return
    end = data.find(b"\n", mark) + 1
    told = _NUMBER.match(data, mark)
    if (end and end < len(data)) or (told and int(told[1]) != number):
        raise Damaged(start, f"group {number} does not match its checksum, and a later group follows")


def apply(found: Group, states: dict[str, FileState]) -> None:
    """Raises Damaged for an entry that is no FileState although the checksum is right."""
    offset = found.start
    for line in found.body.splitlines(keepends=True):
        try:
            values = json.loads(line)
            if "removed" in values:
                states.pop(values["removed"], None)
            else:
                state = from_dict(values)
                states[state.id] = state
        except (TypeError, ValueError) as error:
            raise Damaged(offset, f"not an entry of a registry: {error}") from error
        offset += len(line)
