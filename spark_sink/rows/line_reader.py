"""Reads lines from the values and headers of records, and the reasons of bad records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import MsgspecError

from log_shipper.spark_sink.rows.decoding import FieldDecoder, Line
from log_shipper.spark_sink.rows.json_text import Json, read, write
from log_shipper.spark_sink.rows.judging import MAX_BYTES, RecordJudge
from log_shipper.spark_sink.rows.place_headers import BadRecord, Headers, TextLine, document, text_line

NO_VALUE = "no value"


@dataclass(slots=True)
class JudgedLines:
    """The records of a run. `lines`: None if `reasons` has the record's index. `texts`: records whose value is the
    message; `documents`: records that the judge accepted."""

    values: Sequence[bytes | None]
    lines: list[Line | None]
    reasons: dict[int, str] = field(default_factory=dict)
    texts: dict[int, TextLine] = field(default_factory=dict)
    documents: dict[int, dict[str, Json]] = field(default_factory=dict)

    def refuse(self, index: int, reason: str) -> None:
        self.reasons[index] = reason
        self.lines[index] = None

    def whole(self, index: int) -> str:
        """Return the JSON text of a good record."""
        if index in self.texts:
            return write(document(self.texts[index])).decode()
        if index in self.documents:
            return write(self.documents[index]).decode()
        value = self.values[index] or b""
        content, is_plain = read(value)
        return value.decode() if is_plain else write(content).decode()


@dataclass(frozen=True, slots=True)
class LineReader:
    """Reads records with the fast decoder, and those that it refuses with the exact judge."""

    decoder: FieldDecoder
    judge: RecordJudge

    def read(self, values: Sequence[bytes | None], headers: Sequence[Headers | None]) -> JudgedLines:
        """Return the lines."""
        reading = JudgedLines(values, [None] * len(values))
        if any(headers):
            self._find_texts(reading, headers)
        while not self._decode_all(reading):
            pass
        for index, text in reading.texts.items():
            reading.lines[index] = self.decoder.text_line(text)
        for index in _not_utf8(values):
            if index not in reading.reasons and index not in reading.texts:
                reading.refuse(index, "not UTF-8")
        return reading

    def judge_decoded(self, reading: JudgedLines, index: int) -> None:
        """Judge a record that was decoded but may still be bad."""
        value = reading.values[index]
        try:
            if index in reading.texts:
                self.judge.check(document(reading.texts[index]))
            elif index not in reading.documents and value is not None:
                judged = self.judge.document(value)
                reading.lines[index] = self.decoder.line(judged)
                reading.documents[index] = judged
                return
        except BadRecord as bad:
            reading.refuse(index, str(bad))
            return
        reading.refuse(index, "not JSON")  # the judge accepted it, but the extraction still refuses it

    def _find_texts(self, reading: JudgedLines, headers: Sequence[Headers | None]) -> None:
        for index, given in enumerate(headers):
            value = reading.values[index]
            if given and value is not None:
                try:
                    if (line := text_line(value, given)) is not None:
                        reading.texts[index] = line
                except BadRecord as bad:
                    reading.reasons[index] = str(bad)

    def _decode_all(self, reading: JudgedLines) -> bool:
        """Return False if a name was learned: all records must be decoded again."""
        lines, decode, decided = reading.lines, self.decoder.decode, reading.texts.keys() | reading.reasons.keys()
        for index, value in enumerate(reading.values):
            try:
                if value is not None and len(value) <= MAX_BYTES:
                    lines[index] = decode(value)
                    continue
            except (MsgspecError, UnicodeDecodeError, RecursionError):
                pass
            if index not in decided and not self._judge(reading, index, value):
                return False
        for index in decided:  # a text may look like a JSON record
            lines[index] = None
        return True

    def _judge(self, reading: JudgedLines, index: int, value: bytes | None) -> bool:
        """Judge a record that the decoder refused. Returns False if a name was learned."""
        if value is None:
            reading.reasons[index] = NO_VALUE
            return True
        try:
            judged = reading.documents.get(index) or self.judge.document(value)
        except BadRecord as bad:
            reading.reasons[index] = str(bad)
            return True
        if index not in reading.documents and self.decoder.add_names(judged):
            return False
        reading.documents[index] = judged
        reading.lines[index] = self.decoder.line(judged)
        return True


def _not_utf8(values: Sequence[bytes | None]) -> Iterator[int]:
    """Yield the indexes of values that are not UTF-8: the decoder checks only the last value of a repeated name."""
    if b"".join(filter(None, values)).isascii():
        return
    for index, value in enumerate(values):
        if value is not None and not value.isascii():
            try:
                value.decode()
            except UnicodeDecodeError:
                yield index
