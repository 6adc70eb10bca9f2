"""Events -> JSON records (ARCHITECTURE.md, "The record"; the contract is tests/golden/record.json).

What is constant for a file is encoded once, and the texts of a batch are escaped in one call: joined by a character
that JSON leaves as it is and that does not occur in them, and split again. A record is then a splice of ready pieces.
"""

import os
import time
from dataclasses import dataclass
from functools import lru_cache

import orjson

from shipper.event import TRUNCATED, Batch, Source, add_flag
from shipper.reader.limit import cut_text

# DEL is the one control character that JSON does not escape, and all but unknown in logs.
SEPARATOR = "\x7f"
ECS_VERSION = "8.17.0"
# The most bytes that one byte of text takes in JSON: a control character becomes \u00XX.
WORST_ESCAPE = 6


@dataclass(frozen=True, slots=True)
class Agent:
    """Who sends: `host` and `name` for host.name and agent.name, `id` kept in the data path."""

    host: str
    name: str
    id: str
    version: str


class Encoder:
    """`max_bytes` is the longest record in bytes of UTF-8; a longer one has its message cut and is flagged."""

    def __init__(self, agent: Agent, max_bytes: int) -> None:
        self._agent = agent
        self._max_bytes = max_bytes

    def encode(self, batch: Batch) -> list[str]:
        """One JSON object for each event, in order."""
        messages = batch.messages
        if not messages.texts:
            return []
        file, tail = constant_parts(batch.source, self._agent)
        head = f'{{"@timestamp":"{timestamp(batch.time)}","message":"'
        escaped = escape(messages.texts)
        records = [
            f'{head}{text}","log":{{"offset":{offset},"length":{length},{file}}}{tail}'
            for text, offset, length in zip(escaped, messages.offsets, messages.lengths, strict=True)
        ]
        for index, flags in messages.flags.items():
            records[index] = self._flagged(head, escaped[index], batch, index, flags)
        # U+FFFD for a raw byte makes three; no other character grows more than a control character does.
        if max(messages.lengths) * WORST_ESCAPE + len(head) + len(file) + len(tail) + 64 > self._max_bytes:
            self._fit(records, head, batch)
        return records

    def _flagged(self, head: str, text: str, batch: Batch, index: int, flags: tuple[str, ...]) -> str:
        offset, length = batch.messages.offsets[index], batch.messages.lengths[index]
        file, tail = constant_parts(batch.source, self._agent)
        marks = orjson.dumps(flags).decode()
        return f'{head}{text}","log":{{"offset":{offset},"length":{length},{file},"flags":{marks}}}{tail}'

    def _fit(self, records: list[str], head: str, batch: Batch) -> None:
        for index, record in enumerate(records):
            if len(record) * 4 > self._max_bytes and len(record.encode()) > self._max_bytes:
                records[index] = self._cut(head, batch, index)

    def _cut(self, head: str, batch: Batch, index: int) -> str:
        """The record with as much of its message as fits: the same bytes each time it is encoded."""
        flags = add_flag(batch.messages.flags.get(index, ()), TRUNCATED)
        text = batch.messages.texts[index]
        room = self._max_bytes - len(self._flagged(head, "", batch, index, flags).encode())
        while text and (size := len(orjson.dumps(text)) - 2) > room:
            kept = len(text.encode()) * max(room, 0) // size
            text = cut_text(text, kept)
        return self._flagged(head, orjson.dumps(text)[1:-1].decode(), batch, index, flags)


def escape(texts: list[str]) -> list[str]:
    """Each text as it stands between the quotes of a JSON string."""
    joined = SEPARATOR.join(texts)
    encoded = orjson.dumps(joined)
    if len(encoded) == len(joined) + 2 and joined.isascii():
        return texts  # nothing grew, so nothing was escaped
    pieces = encoded[1:-1].decode().split(SEPARATOR)
    if len(pieces) == len(texts):
        return pieces
    return [orjson.dumps(text)[1:-1].decode() for text in texts]


def readable_path(path: str) -> str:
    """A path may hold any bytes; what is written or shown holds UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds, as Elastic Common Schema has it."""
    milliseconds = int(seconds * 1000)
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


@lru_cache(maxsize=1024)
def constant_parts(source: Source, agent: Agent) -> tuple[str, str]:
    """The member `file` of `log`, and all that follows `log`, for the records of one file."""
    file = {
        "path": readable_path(source.path),
        "inode": str(source.inode),
        "device_id": str(source.device),
        "id": source.file_id,
    }
    rest = {
        "input": {"type": source.input_type, "id": source.input_id},
        "host": {"name": agent.host},
        "agent": {"type": "shipper", "version": agent.version, "id": agent.id, "name": agent.name},
        "ecs": {"version": ECS_VERSION},
    }
    return f'"file":{orjson.dumps(file).decode()}', f"{source.static_json},{orjson.dumps(rest).decode()[1:]}"
