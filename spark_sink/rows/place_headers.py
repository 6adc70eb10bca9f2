"""Records whose value is the message alone: the rest of the line is in their headers.

A record is of this form if it has any of the headers `log.file.id`, `log.offset` and `log.length`. With only some of
them it is bad: its repeats could not be recognised.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from log_shipper.spark_sink.rows.json_text import HIGHEST
from log_shipper.spark_sink.rows.kinds import SHOWN
from log_shipper.spark_sink.rows.times import is_in_range, micros_of

FILE_ID, OFFSET, LENGTH, TIME = "log.file.id", "log.offset", "log.length", "@timestamp"
FLAGS, PATH, HOST = "log.flags", "log.file.path", "host.name"

Headers = Sequence[tuple[str, bytes | None]]

_PLACE = frozenset((FILE_ID, OFFSET, LENGTH))
_MAX_DIGITS = 100  # including leading zeros


class BadRecord(ValueError):
    """Raised for a bad record; its text is the reason."""


class TextLine(NamedTuple):
    """A line whose message is the record's value."""

    time: str
    message: str
    offset: int
    length: int
    flags: list[str] | None
    path: str | None
    file_id: str
    host: str | None


def text_line(value: bytes, headers: Headers) -> TextLine | None:
    """Return the line, None if the record has none of these headers. Raises BadRecord."""
    given = dict(reversed(headers))  # of a repeated name the first one counts
    if _PLACE.isdisjoint(given):
        return None
    file_id = given.get(FILE_ID)
    if not file_id:
        raise _missing(FILE_ID)
    offset, length = _whole(given, OFFSET), _whole(given, LENGTH)
    time = given.get(TIME)
    if time is None:
        raise _missing(TIME)
    time_text = _time(time)
    try:
        flags, path, host = (_text(given, name) for name in (FLAGS, PATH, HOST))
        identity = file_id.decode()
    except UnicodeDecodeError:
        raise BadRecord("a header is not UTF-8") from None
    try:
        message = value.decode()
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8") from None
    return TextLine(
        time_text, message, offset, length, None if flags is None else flags.split(","), path, identity, host
    )


def document(line: TextLine) -> dict[str, object]:
    """Return the line in the form of a JSON record."""
    file = {"path": line.path} if line.path is not None else {}
    log = {"offset": line.offset, "length": line.length, "file": {**file, "id": line.file_id}}
    return {
        "@timestamp": line.time,
        "message": line.message,
        "log": log if line.flags is None else {**log, "flags": line.flags},
        **({} if line.host is None else {"host": {"name": line.host}}),
    }


def _text(given: Mapping[str, bytes | None], name: str) -> str | None:
    content = given.get(name)
    return None if content is None else content.decode()


def _whole(given: Mapping[str, bytes | None], name: str) -> int:
    content = given.get(name)
    if content is None:
        raise _missing(name)
    number = int(content) if content.isdigit() and len(content) <= _MAX_DIGITS else HIGHEST + 1
    if number > HIGHEST:
        raise _wrong(name, content.decode(errors="replace"), "a whole number")
    return number


@lru_cache(maxsize=4096)  # the records of a batch share few times
def _time(content: bytes) -> str:
    text = content.decode(errors="replace")
    micros = micros_of(text)
    if micros is None or not is_in_range(micros):
        raise _wrong(TIME, text, "an ISO 8601 time")
    return text


def _missing(name: str) -> BadRecord:
    return BadRecord(f"missing header {name}, needed to recognise repeats of a text")


def _wrong(name: str, text: str, expected: str) -> BadRecord:
    return BadRecord(f"the header {name} is not {expected}: {text[:SHOWN]}")
