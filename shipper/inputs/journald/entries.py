"""Decode the lines of `journalctl --output=json` as entries."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.event import TRUNCATED
from log_shipper.shipper.formats.text import cut_text
from log_shipper.shipper.inputs.journald.conversion import message_of

logger = logging.getLogger(__name__)

# Damaged journals may have others, which neither a date nor the queue on disk can represent.
MAX_NUMBER = 2**63 - 1
END_OF_TIME = 253_402_300_800 * 10**6  # microseconds, at the end of the year 9999

Key = tuple[str, str]  # id of the sequence, id of the boot


@dataclass(slots=True)
class JournalEntry:
    """A journal entry. `fields`: without its message and its cursor. `time` in microseconds since 1970, `size` in bytes
    of its line."""

    key: Key
    number: int
    cursor: str
    time: int
    text: str
    fields: dict[str, Any]
    size: int
    flags: tuple[str, ...] = ()


class EntryDecoder:
    """The decoder of lines. `max_bytes`: maximum length of a message that is kept whole. `refused`: the lines of the
    last call that are not entries."""

    def __init__(self, where: str, max_bytes: int, throttle: Throttle) -> None:
        self._where = where
        self._max_bytes = max_bytes
        self._throttle = throttle
        self.refused: list[bytes] = []

    def entries(self, lines: Iterable[bytes]) -> list[JournalEntry]:
        decoded: list[JournalEntry] = []
        self.refused = []
        for line in lines:
            try:
                decoded.append(self._entry(line))
            except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
                if line and not line.startswith(b"--"):  # "-- No entries --", "-- Boot ... --"
                    self._refuse(line, error)
        return decoded

    def _entry(self, line: bytes) -> JournalEntry:
        fields = orjson.loads(line)
        cursor = fields.pop("__CURSOR")
        sequence, number, boot = cursor.split(";", 3)[:3]
        if sequence[:2] != "s=" or number[:2] != "i=" or boot[:2] != "b=":
            raise ValueError(f"unknown format of cursor {cursor[:100]!r}")
        place, time = int(number[2:], 16), int(fields["__REALTIME_TIMESTAMP"])
        if place >= MAX_NUMBER or not 0 <= time < END_OF_TIME:
            raise ValueError(f"invalid number ({place}) or time ({time})")
        text = fields.pop("MESSAGE", "")
        if type(text) is not str:
            text = message_of(text)
        flags: tuple[str, ...] = ()
        if len(text) * 4 > self._max_bytes:
            cut = cut_text(text, self._max_bytes)
            flags, text = (() if cut is text else (TRUNCATED,)), cut
        key = sequence[2:], boot[2:]
        return JournalEntry(key, place, cursor, time, text, fields, len(line), flags)

    def _refuse(self, line: bytes, error: Exception) -> None:
        self.refused.append(line)
        if self._throttle.is_due():
            logger.error(
                "%s: skipped a line of journalctl that is not an entry (%s: %s), and %d others since the last "
                "report: %r (at most one a minute)",
                self._where,
                type(error).__name__,
                error,
                self._throttle.suppressed,
                line[:200],
            )


def number_of(cursor: str) -> tuple[Key, int] | None:
    """Return the sequence and number in a cursor; None for another format."""
    parts = dict(part.partition("=")[::2] for part in cursor.split(";"))
    try:
        return (parts["s"], parts["b"]), int(parts["i"], 16)
    except (KeyError, ValueError):
        return None
