"""Encodes JSON records in the styles of `codec.json`."""

from collections.abc import Mapping

import orjson

from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.encode import Encoder

# As in Go's encoder, for embedding in HTML. Outside of texts, JSON has none of these.
_ESCAPED = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})

_NEARLY = 64  # bytes


class StyledEncoder:
    """`max_bytes`: the maximum record size in its style; the message of a larger record is truncated and flagged."""

    def __init__(self, encoder: Encoder, max_bytes: int, *, pretty: bool = False, escape_html: bool = False) -> None:
        self._encoder = encoder
        self._max_bytes = max_bytes
        self._pretty = pretty
        self._escape_html = escape_html

    def refused(self, batch: Batch) -> Mapping[int, str]:
        return self._encoder.refused(batch)

    def encode(self, batch: Batch) -> list[str]:
        """Return one JSON object for each event, in order."""
        records = [self._styled(record) for record in self._encoder.encode(batch)]
        for index, record in enumerate(records):
            if len(record) * 4 > self._max_bytes and len(record.encode()) > self._max_bytes:
                records[index] = self._cut(batch, index)
        return records

    def _cut(self, batch: Batch, index: int) -> str:
        """Return the record with nearly as much of its message as fits, found by binary search: the overhead of a style
        depends on the rest of the message."""
        room, too_much = 0, self._max_bytes
        while too_much - room > _NEARLY:
            middle = (room + too_much) // 2
            if len(self._styled(self._encoder.cut(batch, index, middle)).encode()) <= self._max_bytes:
                room = middle
            else:
                too_much = middle
        return self._styled(self._encoder.cut(batch, index, room))

    def _styled(self, record: str) -> str:
        if self._pretty:
            record = orjson.dumps(orjson.loads(record), option=orjson.OPT_INDENT_2).decode()
        return record.translate(_ESCAPED) if self._escape_html else record
