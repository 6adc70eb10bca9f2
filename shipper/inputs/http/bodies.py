"""Turn the body of a request into events: JSON (an object, a list of objects, or several in a row), or lines of text.

Plain bodies are read by the fast parser, a line at a time. What it rejects is examined by `_sequence`, exactly and
slowly: values without line feeds between them, bytes that are not UTF-8, and errors in a body, by line and column. A
request is accepted or refused as a whole, so that its sender knows what to send again.
"""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson

from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.event import TRUNCATED, Doc, Messages
from log_shipper.shipper.formats.json_fields import DEEPEST, SURELY_FLAT, NotJsonError, is_deep, parse
from log_shipper.shipper.formats.text import cut_text
from log_shipper.shipper.inputs.http.placing import Placing, original

LINES = "text/plain"
NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines")
_BLANK = re.compile("[ \t\r\n\ufeff]*")
_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
    list: "a list",
}


@dataclass(slots=True)
class _Values:
    """The objects of a body with the places of their bytes, and their texts if these are needed."""

    values: list[Doc]
    offsets: list[int]
    lengths: list[int]
    originals: list[str]


# Minimum memory of an object or a list, and the approximate memory of its members: a value after a comma, a name before
# a colon. Those within texts count as well, so program logs are estimated at four to five times their bytes.
_CONTAINER, _VALUE, _NAME = 64, 24, 40


def memory_of(body: bytes, content_type: str) -> int:
    """Return the approximate memory of a body's values, up to thirty times its size."""
    if content_type == LINES:
        return len(body)
    containers = body.count(b"{") + body.count(b"[")
    return len(body) + containers * _CONTAINER + body.count(b",") * _VALUE + body.count(b":") * _NAME


class BodyReader:
    """The reader of bodies. `max_bytes`: longer messages are truncated and flagged. `max_events`: maximum per body.
    `originals`: events keep their original text."""

    def __init__(self, placing: Placing, max_bytes: int, max_events: int, *, originals: bool) -> None:
        self._max_events = max_events
        self._placing = placing
        self._max_bytes = max_bytes
        self._originals = originals

    def read(self, body: bytes, content_type: str, headers: Doc | None) -> Messages:
        """Return the events of a body, whose first byte has the offset 0. Raises RefusedRequest with the line and the
        reason."""
        messages = self._lines(body) if content_type == LINES else self._json(body, content_type)
        messages.start, messages.end = 0, len(body)
        if headers:
            self._placing.add(messages.documents(), headers)
        self._limit(messages)
        return messages

    def _lines(self, body: bytes) -> Messages:
        self._check_count(body.count(b"\n"))
        messages, offset = Messages(0, 0), 0
        for line in body.split(b"\n"):
            text = line.decode("utf-8", "replace").removesuffix("\r")
            if text:
                messages.append(text, offset, min(len(line) + 1, len(body) - offset))
            offset += len(line) + 1
        if self._originals and messages.texts:
            self._placing.keep_originals(messages.documents(), messages.texts)
        return messages

    def _json(self, body: bytes, content_type: str) -> Messages:
        objects = self._fast(body, content_type)
        if objects is None:
            objects = _sequence(body, self._max_events, originals=self._originals)
            self._check_count(len(objects.values))
        texts, docs = self._placing.place(objects.values, has_null=b"null" in body)
        if self._originals:
            self._placing.keep_originals(docs, objects.originals)
        return Messages(0, 0, texts, objects.offsets, objects.lengths, docs=docs)

    def _fast(self, body: bytes, content_type: str) -> _Values | None:
        """Return the values of a plain body; None if it must be examined exactly."""
        try:
            if content_type in NDJSON:
                return self._of_lines(body)
            try:
                value = orjson.loads(body)
            except orjson.JSONDecodeError:
                return self._of_lines(body) if b"\n" in body else None
        except orjson.JSONDecodeError:
            return None
        if _may_be_deep(body) and is_deep(body.decode(), value):
            return None
        if type(value) is dict:
            return _Values([value], [0], [len(body)], [body.decode()] if self._originals else [])
        return self._of_list(value, len(body)) if _is_list_of_objects(value) else None

    def _of_lines(self, body: bytes) -> _Values | None:
        self._check_count(body.count(b"\n"))
        loads, size = orjson.loads, len(body)
        values, offsets, lengths, originals = list[Doc](), list[int](), list[int](), list[str]()
        offset = 0
        for line in body.split(b"\n"):
            length = len(line) + 1
            if line:
                value = loads(line)
                if type(value) is not dict or (length > SURELY_FLAT and _is_deep_line(line, value)):
                    return None
                values.append(value)
                offsets.append(offset)
                lengths.append(length)
                if self._originals:
                    originals.append(line.decode().strip())
            offset += length
        if lengths and offsets[-1] + lengths[-1] > size:
            lengths[-1] -= 1  # the last line has no line feed
        return _Values(values, offsets, lengths, originals)

    def _of_list(self, values: list[Doc], size: int) -> _Values:
        """Return equal shares of the bytes, because it is unknown where an object begins in a list."""
        self._check_count(len(values))
        places = _places(0, size, len(values))
        lengths = [after - before for before, after in pairwise(places)]
        originals = [original(value) for value in values] if self._originals else []
        return _Values(values, places[:-1], lengths, originals)

    def _check_count(self, events: int) -> None:
        if events > self._max_events:
            raise RefusedRequest(
                413,
                f"{events} events exceed the maximum of {self._max_events} (max_in_flight_bytes): send fewer at a time",
            )

    def _limit(self, messages: Messages) -> None:
        for index, text in enumerate(messages.texts):
            if len(text) * 4 > self._max_bytes:
                cut = cut_text(text, self._max_bytes)
                if cut is not text:
                    messages.texts[index] = cut
                    messages.flags[index] = (TRUNCATED,)


def _may_be_deep(body: bytes) -> bool:
    return len(body) > SURELY_FLAT and body.count(b"{") + body.count(b"[") > DEEPEST


def _is_deep_line(line: bytes, value: Doc) -> bool:
    return _may_be_deep(line) and is_deep(line.decode(), value)


def _is_list_of_objects(value: Any) -> bool:
    return type(value) is list and all(type(item) is dict for item in value)


# Numbers are not examined here: Python would refuse those with thousands of digits.
_DECODER = json.JSONDecoder(parse_int=float)


def _sequence(body: bytes, max_events: int, *, originals: bool) -> _Values:
    """Return the objects of JSON values in a row, whatever separates them; of too many, some. Raises RefusedRequest."""
    text = body.decode("utf-8", "replace")
    # Other texts have different bytes than characters: U+FFFD stands for some that are not UTF-8.
    exact = len(text) == len(body)
    objects = _Values([], [], [], [])
    place = _skip(text, 0)
    while place < len(text) and len(objects.values) <= max_events:
        piece, end = _piece(text, place)
        values = _objects(piece, text, place)
        following = _skip(text, end)
        first, stop = (place, following) if exact else _bytes_of(text, place, following, len(body))
        share = _places(first, stop, len(values))
        objects.offsets += share[:-1]
        objects.lengths += [after - before for before, after in pairwise(share)]
        objects.values += values
        if originals:
            objects.originals += [piece] if len(values) == 1 and piece[:1] == "{" else map(original, values)
        place = following
    return objects


def _places(first: int, stop: int, count: int) -> list[int]:
    """Return where so many equal shares of these bytes begin, and where the last one ends."""
    return [first + index * (stop - first) // count for index in range(count)] + [stop]


def _bytes_of(text: str, first: int, stop: int, size: int) -> tuple[int, int]:
    """Return approximately which bytes these characters are, in order and without overlap, of `size` bytes in all."""
    return first * size // len(text), stop * size // len(text)


def _skip(text: str, place: int) -> int:
    skipped = _BLANK.match(text, place)
    return place if skipped is None else skipped.end()


def _piece(text: str, place: int) -> tuple[str, int]:
    try:
        _, end = _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused(text, place, f"not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise _refused(text, place, f"nested deeper than {DEEPEST} levels") from error
    return text[place:end], end


def _objects(piece: str, text: str, place: int) -> list[Doc]:
    try:
        value = parse(piece)
    except NotJsonError as error:
        raise _refused(text, place, f"not JSON: {error}") from error
    values = value if isinstance(value, list) else [value]
    for index, item in enumerate(values):
        if not isinstance(item, dict):
            which = f"item {index + 1} of the list is " if values is value else ""
            raise _refused(text, place, f"{which}{_NAMES.get(type(item), 'another value')}, not an object")
    return values


def _refused(text: str, place: int, why: str) -> RefusedRequest:
    line = text.count("\n", 0, place) + 1
    return RefusedRequest(400, f"line {line}: {why}; the whole request is rejected")
