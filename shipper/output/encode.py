"""Encodes events as JSON records (docs/reference/kafka-records.md; the contract is tests/golden/record.json).

The constants of a file are encoded once, and the texts of a batch are escaped in one call: joined by a character that
JSON does not escape and that does not occur in them, then split again. Records are spliced from these fragments.
Members of events cost one more call; a member that shadows a constant replaces its fragment.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import orjson

from log_shipper.shipper.event import DELETED, TRUNCATED, Batch, Constants, Doc, Rejection, add_flag
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.formats.text import cut_text, dumps, text_of, without_surrogates

# DEL is the only control character that JSON does not escape; it is very rare in logs.
SEPARATOR = "\x7f"
# The maximum bytes of JSON per byte of text: a control character becomes \u00XX.
WORST_ESCAPE = 6
# Written from the columns; a parser may have found members with these names.
LOG_COLUMNS = frozenset({"offset", "length", "flags"})


NOTHING_REFUSED: Mapping[int, str] = {}


class Codec(Protocol):
    """Encodes events as payloads."""

    def refused(self, batch: Batch) -> Mapping[int, str]:
        """Return the reasons of events without a payload, by index."""

    def encode(self, batch: Batch) -> list[str]:
        """Return the payload of each event, in order. None of them may be refused."""


def sendable(batch: Batch, refused: Mapping[int, str]) -> Batch:
    """Return the batch without the refused events."""
    return batch.part([index for index in range(batch.events) if index not in refused]) if refused else batch


def rejections(refused: Mapping[int, str]) -> list[Rejection]:
    return [Rejection(index, reason) for index, reason in refused.items()]


class Encoder:
    """`max_bytes`: the maximum record size in bytes of UTF-8; the message of a larger record is truncated and
    flagged."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._fragments: WeakKeyDictionary[Constants, Fragments] = WeakKeyDictionary()

    def refused(self, batch: Batch) -> Mapping[int, str]:
        return NOTHING_REFUSED

    def encode(self, batch: Batch) -> list[str]:
        """Return one JSON object for each event, in order."""
        messages = batch.messages
        if not messages.texts:
            return []
        fragments = self.constant_fragments(batch.constants)
        file, tail, time = fragments.file, fragments.tail, timestamp(batch.time)
        head = f'{{"@timestamp":"{time}","message":"'
        escaped = escape(messages.texts)
        if messages.docs is None:
            records = [
                f'{head}{text}","log":{{"offset":{offset},"length":{length},{file}}}{tail}'
                for text, offset, length in zip(escaped, messages.offsets, messages.lengths, strict=True)
            ]
            for index in messages.flags:
                records[index] = _record(fragments, time, escaped[index], batch, index)
        else:
            records = _documents(batch, fragments, time, escaped, messages.docs)
        # A raw byte may become U+FFFD, three bytes; nothing grows more than a control character.
        longest = max(messages.lengths) * WORST_ESCAPE + len(head) + len(file) + len(tail) + 64
        if messages.docs is not None or longest > self._max_bytes:
            self._fit(records, batch)
        return records

    def constant_fragments(self, constants: Constants) -> "Fragments":
        """Return the constants as JSON fragments, created once per file."""
        fragments = self._fragments.get(constants)
        if fragments is None:
            fragments = self._fragments[constants] = Fragments(constants.members)
        return fragments

    def _fit(self, records: list[str], batch: Batch) -> None:
        if max(map(len, records)) * 4 <= self._max_bytes:
            return
        for index, record in enumerate(records):
            if len(record) * 4 > self._max_bytes and len(record.encode()) > self._max_bytes:
                records[index] = self.cut(batch, index, self._max_bytes)

    def cut(self, batch: Batch, index: int, max_bytes: int) -> str:
        """Return the record with as much of its message as fits: the same bytes each time."""
        part = batch.part([index])
        part.messages.flags = {0: add_flag(batch.messages.flags.get(index, ()), TRUNCATED)}
        fragments, time = self.constant_fragments(batch.constants), timestamp(batch.time)
        text = without_surrogates(part.messages.texts[0])
        room = max_bytes - len(_record(fragments, time, "", part, 0).encode())
        while text and (size := len(orjson.dumps(text)) - 2) > room:
            kept = len(text.encode()) * max(room, 0) // size
            text = cut_text(text, kept)
        return _record(fragments, time, orjson.dumps(text)[1:-1].decode(), part, 0)


def _documents(batch: Batch, fragments: "Fragments", time: str, escaped: list[str], docs: list[Doc]) -> list[str]:
    """Return the records of events with documents. They are encoded in one call, except those with flags or with a
    member that shadows a constant."""
    messages, flags, file, tail = batch.messages, batch.messages.flags, fragments.file, fragments.tail
    easy = list(map(fragments.apart.isdisjoint, docs))
    written = _column(docs) if any(easy) else None
    if written is None:
        return [_record(fragments, time, text, batch, index) for index, text in enumerate(escaped)]
    head = f'{{"@timestamp":"{time}",'
    heads = ["{" if "@timestamp" in doc else head for doc in docs]  # it has its own among its members
    rows = zip(heads, escaped, messages.offsets, messages.lengths, written, strict=True)
    records = [
        f'{head}"message":"{text}","log":{{"offset":{offset},"length":{length},{file}}}{own}{tail}'
        if text
        else f'{head}"log":{{"offset":{offset},"length":{length},{file}}}{own}{tail}'
        for head, text, offset, length, own in rows
    ]
    if flags or not all(easy):
        for index, is_easy in enumerate(easy):
            if not is_easy or index in flags:
                records[index] = _record(fragments, time, escaped[index], batch, index)
    return records


def _column(docs: list[Doc]) -> list[str] | None:
    """Return the members of each document, with a leading comma; None if they cannot be encoded in one call, because
    orjson refuses one of them, or a list in one contains the separator."""
    mixed: list[Any] = [SEPARATOR] * (2 * len(docs) - 1)
    mixed[::2] = docs
    try:
        written = orjson.dumps(mixed, text_of).decode()
    except TypeError:
        return None
    fragments = written[1:-1].split(f',"{SEPARATOR}",')
    if len(fragments) != len(docs):
        return None
    return [f",{fragment[1:-1]}" if len(fragment) > 2 else "" for fragment in fragments]


def _record(fragments: "Fragments", time: str, text: str, batch: Batch, index: int) -> str:
    """Return the record of an event with its own flags, log or constants; `text` is its escaped message."""
    messages = batch.messages
    doc = messages.docs[index] if messages.docs else {}
    message = "" if messages.docs and not messages.texts[index] else f'"message":"{text}",'
    log = f'"offset":{messages.offsets[index]},"length":{messages.lengths[index]}'
    own_log = doc.get("log")
    if own_log and not LOG_COLUMNS.isdisjoint(own_log):
        own_log = {name: value for name, value in own_log.items() if name not in LOG_COLUMNS}
    if not own_log or "file" not in own_log:
        log += f",{fragments.file}"
    if index in messages.flags:
        log += f',"flags":{dumps(messages.flags[index])}'
    if own_log:
        log += f",{dumps(own_log)[1:-1]}"
    own = {name: value for name, value in doc.items() if value is not DELETED and name != "log"}
    written = f",{dumps(own)[1:-1]}" if own else ""
    head = "" if "@timestamp" in doc else f'"@timestamp":"{time}",'
    return f'{{{head}{message}"log":{{{log}}}{written}{fragments.without(doc)}'


def escape(texts: list[str]) -> list[str]:
    """Return each text as it is written between the quotes of a JSON string."""
    joined = SEPARATOR.join(texts)
    try:
        encoded = orjson.dumps(joined)
    except TypeError:
        return escape([without_surrogates(text) for text in texts])
    if len(encoded) == len(joined) + 2 and joined.isascii():
        return texts  # same length: nothing was escaped
    fragments = encoded[1:-1].decode().split(SEPARATOR)
    if len(fragments) == len(texts):
        return fragments
    return [orjson.dumps(text)[1:-1].decode() for text in texts]


class Fragments:
    """The constants of a file as JSON: `file` within `log`, other members with a leading comma, and `tail`, all of
    these with the closing brace. A document with a name in `apart` cannot be inserted unchanged."""

    __slots__ = ("_names", "_without", "apart", "file", "members", "tail")

    def __init__(self, constants: Doc) -> None:
        self.file = dumps(constants["log"])[1:-1]
        self.members = {name: f",{dumps({name: value})[1:-1]}" for name, value in constants.items() if name != "log"}
        self.tail = "".join(self.members.values()) + "}"
        self.apart = frozenset(constants)
        self._names = frozenset(self.members)
        self._without: dict[frozenset[str], str] = {}

    def without(self, doc: Doc) -> str:
        """Return `tail` without the members that a document shadows."""
        shadowed = self._names.intersection(doc)
        if shadowed not in self._without:
            if len(self._without) == 256:  # the log determines the subsets, and a dozen fields_under_root give many
                self._without.clear()
            rest = (fragment for name, fragment in self.members.items() if name not in shadowed)
            self._without[shadowed] = "".join(rest) + "}"
        return self._without[shadowed]
