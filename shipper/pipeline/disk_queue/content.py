"""Encodes a batch as bytes, and decodes it: all that the output needs, so that a record is the same however long it
waited.

Sections, each preceded by its length in bytes: the source (JSON), facts of the batch (JSON), the length of each text in
characters, offsets, raw lengths, documents (JSON, or empty), the concatenated texts. Numbers of a column are
little-endian: 4 bytes for text lengths, else 8. Lone surrogates of texts and paths survive.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any

import orjson
import zstandard

from log_shipper.shipper.event import DELETED, Batch, Constants, Doc, Messages, Source
from log_shipper.shipper.formats.text import dumps, text_of
from log_shipper.shipper.pipeline.disk_queue.frames import PLAIN, ZSTD

LEVEL = 1
_SIZE = struct.Struct("<Q")
_BY_JSON = b" "  # the prefix of values that only `json` reads unchanged
_MAX_SOURCES = 1024  # kept, so that constants of a file are encoded once


class _HasDeleted(Exception):
    """Raised by orjson's callback for a document with a DELETED member."""


def encoded(batch: Batch) -> bytes:
    """Return the batch as bytes. Callable from any thread: a queued batch does not change."""
    messages = batch.messages
    facts: dict[str, Any] = {
        "start": messages.start,
        "end": messages.end,
        "time": batch.time,
        "grown": batch.grown,
        "flags": [[index, flags] for index, flags in messages.flags.items()],
    }
    docs = b""
    if messages.docs is not None:
        docs, facts["deleted"] = _documents(messages.docs)
    texts = "".join(messages.texts).encode("utf-8", "surrogatepass")
    columns = (
        _column("I", map(len, messages.texts)),
        _column("q", messages.offsets),
        _column("q", messages.lengths),
    )
    sections = (_source(batch.source, batch.constants), _json(facts), *columns, docs, texts)
    return b"".join(piece for section in sections for piece in (_SIZE.pack(len(section)), section))


def _source(source: Source, constants: Constants) -> bytes:
    values = [source.file_id, source.path, source.inode, source.device, source.input_id, source.input_type]
    return _json([*values, constants.members])


def _documents(docs: list[Doc]) -> tuple[bytes, list[list[Any]]]:
    """Return the documents as JSON, and the names of DELETED members, by index."""
    try:
        return _json(docs), []
    except _HasDeleted:
        kept = [{name: value for name, value in doc.items() if value is not DELETED} for doc in docs]
        deleted = [[name for name, value in doc.items() if value is DELETED] for doc in docs]
        return _json(kept), [[index, names] for index, names in enumerate(deleted) if names]


def _json(values: dict[str, Any] | list[Any]) -> bytes:
    try:
        return orjson.dumps(values, default=_text_of)
    except TypeError as error:
        if isinstance(error.__cause__, _HasDeleted):
            raise error.__cause__ from None
        is_deep = "ecursion" in str(error)
    try:
        if not is_deep:
            # It preserves surrogates and numbers of more than 64 bits.
            return _BY_JSON + json.dumps(values, default=_text_of, separators=(",", ":")).encode("ascii")
    except (TypeError, RecursionError):
        pass
    if any(isinstance(item, dict) and _has_deleted(item) for item in values):
        raise _HasDeleted
    return f"[{','.join(map(dumps, values))}]".encode()  # as they would be sent


def _has_deleted(doc: Doc) -> bool:
    return any(value is DELETED for value in doc.values())


def _text_of(value: object) -> str:
    if value is DELETED:
        raise _HasDeleted
    return text_of(value)


def _column(kind: str, numbers: Iterable[int]) -> bytes:
    column = array(kind, numbers)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


class BatchDecoder:
    """Decodes batches. Batches of one file share their source, and the encoder's work on it."""

    def __init__(self) -> None:
        self._sources: dict[bytes, Source] = {}

    def batch(self, data: bytes, resolve: Callable[[], None]) -> Batch:
        """Return the batch of these bytes. Raises ValueError."""
        try:
            return self._batch(data, resolve)
        except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
            raise ValueError(f"not a batch ({error})") from error

    def _batch(self, data: bytes, resolve: Callable[[], None]) -> Batch:
        source, head, sizes, offsets, lengths, docs, texts = _sections(data)
        facts = _value(head)
        messages = Messages(
            facts["start"],
            facts["end"],
            _split(texts.decode("utf-8", "surrogatepass"), _numbers("I", sizes)),
            _numbers("q", offsets),
            _numbers("q", lengths),
            {index: tuple(flags) for index, flags in facts["flags"]},
        )
        if docs:
            messages.docs = _value(docs)
            for index, names in facts["deleted"]:
                messages.docs[index].update(dict.fromkeys(names, DELETED))
        return Batch(self._source(source), messages, facts["time"], resolve, facts["grown"])

    def file_end(self, data: bytes) -> tuple[str, int]:
        """Return the file id of a batch, and its end."""
        source, head, *_ = _sections(data)
        return self._source(source).file_id, _value(head)["end"]

    def _source(self, data: bytes) -> Source:
        source = self._sources.get(data)
        if source is None:
            if len(self._sources) == _MAX_SOURCES:
                self._sources.clear()
            file_id, path, inode, device, input_id, input_type, members = _value(data)
            source = Source(file_id, path, inode, device, input_id, input_type, Constants(members))
            self._sources[data] = source
        return source


def _sections(data: bytes) -> list[bytes]:
    sections, offset = [], 0
    while offset < len(data):
        (size,) = _SIZE.unpack_from(data, offset)
        offset += _SIZE.size
        sections.append(data[offset : offset + size])
        offset += size
    return sections


def _value(data: bytes) -> Any:
    return json.loads(data) if data.startswith(_BY_JSON) else orjson.loads(data)


def _numbers(kind: str, data: bytes) -> list[int]:
    column = array(kind)
    column.frombytes(data)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tolist()


def _split(texts: str, sizes: list[int]) -> list[str]:
    ends = list(accumulate(sizes, initial=0))
    return [texts[start:end] for start, end in pairwise(ends)]


class Compression:
    """Compresses payloads; used by one thread."""

    def __init__(self, *, compress: bool) -> None:
        self._compressor = zstandard.ZstdCompressor(level=LEVEL) if compress else None

    def compress(self, content: bytes) -> tuple[int, bytes]:
        """Return the kind of the payload, and its bytes."""
        if self._compressor is None:
            return PLAIN, content
        return ZSTD, self._compressor.compress(content)


def expanded(kind: int, content: bytes) -> bytes:
    """Return the content of a payload. Raises ValueError."""
    if kind == PLAIN:
        return content
    if kind != ZSTD:
        raise ValueError(f"unknown payload kind {kind}")
    try:
        return zstandard.decompress(content)
    except zstandard.ZstdError as error:
        raise ValueError(f"payload cannot be decompressed ({error})") from error
