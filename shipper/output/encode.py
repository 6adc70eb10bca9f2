"""Events -> JSON records (ARCHITECTURE.md, "The record"; the contract is tests/golden/record.json).

What is constant for a file is encoded once, and the texts of a batch are escaped in one call: joined by a character
that JSON leaves as it is and that does not occur in them, and split again. A record is then a splice of ready pieces.
An event that has members of its own costs one more call for these; those that shadow a constant take its piece's place.
"""

from typing import Any

import orjson

from shipper.event import GONE, TRUNCATED, Batch, Constants, Doc, add_flag
from shipper.reader.limit import cut_text
from shipper.record import timestamp

# DEL is the one control character that JSON does not escape, and all but unknown in logs.
SEPARATOR = "\x7f"
# The most bytes that one byte of text takes in JSON: a control character becomes \u00XX.
WORST_ESCAPE = 6


class Encoder:
    """`max_bytes` is the longest record in bytes of UTF-8; a longer one has its message cut and is flagged."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def encode(self, batch: Batch) -> list[str]:
        """One JSON object for each event, in order."""
        messages = batch.messages
        if not messages.texts:
            return []
        pieces = pieces_of(batch.constants)
        file, tail, time = pieces.file, pieces.tail, timestamp(batch.time)
        head = f'{{"@timestamp":"{time}","message":"'
        escaped = escape(messages.texts)
        if messages.docs is None:
            records = [
                f'{head}{text}","log":{{"offset":{offset},"length":{length},{file}}}{tail}'
                for text, offset, length in zip(escaped, messages.offsets, messages.lengths, strict=True)
            ]
            for index in messages.flags:
                records[index] = _record(pieces, time, escaped[index], batch, index)
        else:
            records = _documents(batch, pieces, time, escaped, messages.docs)
        # U+FFFD for a raw byte makes three; no other character grows more than a control character does.
        longest = max(messages.lengths) * WORST_ESCAPE + len(head) + len(file) + len(tail) + 64
        if messages.docs is not None or longest > self._max_bytes:
            self._fit(records, batch)
        return records

    def _fit(self, records: list[str], batch: Batch) -> None:
        for index, record in enumerate(records):
            if len(record) * 4 > self._max_bytes and len(record.encode()) > self._max_bytes:
                records[index] = self._cut(batch, index)

    def _cut(self, batch: Batch, index: int) -> str:
        """The record with as much of its message as fits: the same bytes each time it is encoded."""
        part = batch.part([index])
        part.messages.flags = {0: add_flag(batch.messages.flags.get(index, ()), TRUNCATED)}
        pieces, time, text = pieces_of(batch.constants), timestamp(batch.time), part.messages.texts[0]
        room = self._max_bytes - len(_record(pieces, time, "", part, 0).encode())
        while text and (size := len(orjson.dumps(text)) - 2) > room:
            kept = len(text.encode()) * max(room, 0) // size
            text = cut_text(text, kept)
        return _record(pieces, time, orjson.dumps(text)[1:-1].decode(), part, 0)


def _documents(batch: Batch, pieces: "Pieces", time: str, escaped: list[str], docs: list[Doc]) -> list[str]:
    messages, flags = batch.messages, batch.messages.flags
    file, shared, tail = pieces.file, pieces.apart, pieces.tail
    records: list[str] = []
    rows = zip(escaped, messages.offsets, messages.lengths, docs, strict=True)
    for index, (text, offset, length, doc) in enumerate(rows):
        if index in flags or not shared.isdisjoint(doc):
            records.append(_record(pieces, time, text, batch, index))
            continue
        message = f'"message":"{text}",' if text else ""
        own = f",{dumps(doc)[1:-1]}" if doc else ""
        log = f'"log":{{"offset":{offset},"length":{length},{file}}}'
        records.append(f'{{"@timestamp":"{time}",{message}{log}{own}{tail}')
    return records


def _record(pieces: "Pieces", time: str, text: str, batch: Batch, index: int) -> str:
    """The record of an event whose flags, time, log or constants are its own; `text` is its message, escaped."""
    messages = batch.messages
    doc = messages.docs[index] if messages.docs else {}
    message = "" if messages.docs and not messages.texts[index] else f'"message":"{text}",'
    own_log = doc.get("log", {})
    log = f'"offset":{messages.offsets[index]},"length":{messages.lengths[index]}'
    if "file" not in own_log:
        log += f",{pieces.file}"
    if index in messages.flags:
        log += f',"flags":{dumps(messages.flags[index])}'
    if own_log:
        log += f",{dumps(own_log)[1:-1]}"
    own = {name: value for name, value in doc.items() if value is not GONE and name not in ("@timestamp", "log")}
    written = f",{dumps(own)[1:-1]}" if own else ""
    shared = "".join(piece for name, piece in pieces.members.items() if name not in doc)
    return f'{{"@timestamp":"{doc.get("@timestamp", time)}",{message}"log":{{{log}}}{written}{shared}}}'


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


class Pieces:
    """The constants of a file as JSON text: `file` within `log`, each other member with a comma before it, and `tail`:
    all of these with the closing brace. A document with a name of `apart` cannot be written between these as it is."""

    __slots__ = ("apart", "file", "members", "tail")

    def __init__(self, constants: Doc) -> None:
        self.file = dumps(constants["log"])[1:-1]
        self.members = {name: f",{dumps({name: value})[1:-1]}" for name, value in constants.items() if name != "log"}
        self.tail = "".join(self.members.values()) + "}"
        self.apart = frozenset(("@timestamp", *constants))


def pieces_of(constants: Constants) -> Pieces:
    if constants.encoded is None:
        constants.encoded = Pieces(constants.members)
    pieces: Pieces = constants.encoded
    return pieces


def dumps(value: object) -> str:
    """JSON text of whatever a parser or a processor has made: what JSON has no form for is written as text."""
    try:
        return orjson.dumps(value, default=str).decode()
    except TypeError:
        return orjson.dumps(_writable(value), default=str).decode()


def _writable(value: Any) -> Any:
    """Without what orjson refuses: half characters, numbers of more than 64 bits, keys that are no texts."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {str(_writable(key)): _writable(each) for key, each in value.items()}
        case list() | tuple():
            return [_writable(each) for each in value]
        case int() if not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            return str(value)
    return value
