"""Lines out of raw bytes: split, decoded, with the offset and the raw length of each.

Whole blocks are decoded and split at once. That equals decoding line by line, because in UTF-8 the byte of the
terminator never belongs to another character, so a damaged sequence ends before it at the latest.

What a line becomes must not depend on where the reads happened to end, or a second reading would give the same
offset another text. So a line that is longer than the limit keeps a little more than the limit, and it is the
`LimitReader` alone that cuts and flags it.
"""

from itertools import accumulate

from shipper.event import Messages
from shipper.reader.base import RawFile


class LineReader:
    """Splits at `\\n` and takes off one `\\r` before it. Bytes that are not UTF-8 become U+FFFD.

    Of a line that is longer than `max_bytes` no more than two bytes beyond them are held while its end is awaited
    (one to see that it is too long, one for a `\\r`); its raw length is counted in full.
    """

    def __init__(self, file: RawFile, max_bytes: int) -> None:
        self._file = file
        self._keep_bytes = max_bytes + 2
        self._head = b""  # what is kept of the line whose end was not read yet
        self._skipped = 0  # raw bytes of that line that are not kept

    pending_since: float | None = None

    def next(self) -> Messages | None:
        data = self._file.next()
        cut = self._file.take_cut()
        if not data and not cut:  # a cut without data: that a gzip file ends may be known only after its last bytes
            return None
        messages = self._split(data)
        if cut:
            self._end_line(messages)
            messages.cut = True
        return messages

    def finish(self) -> Messages | None:
        return None

    def _split(self, data: bytes) -> Messages:
        data_start = self._file.offset - len(data)
        start = data_start - len(self._head) - self._skipped
        newline = data.rfind(b"\n")
        if newline < 0:
            self._keep(data)
            return Messages(start, start)
        end = data_start + newline + 1
        if self._skipped:
            messages = self._end_long_line(data, start, end)
        else:
            messages = self._lines(self._head + data[:newline] if self._head else data[:newline], start, end)
        self._head, self._skipped = b"", 0
        self._keep(data[newline + 1 :])
        return messages

    def _end_long_line(self, data: bytes, start: int, end: int) -> Messages:
        """The first line of `data` ends one of which only the head was kept; `start` to `end` is the whole run."""
        data_start = self._file.offset - len(data)
        first = data.index(b"\n") + 1
        messages = Messages(start, end)
        messages.append(_decode(self._head), start, data_start + first - start)
        if data_start + first < end:
            rest = self._lines(data[first : end - data_start - 1], data_start + first, end)
            messages.texts += rest.texts
            messages.offsets += rest.offsets
            messages.lengths += rest.lengths
        return messages

    def _lines(self, block: bytes, start: int, end: int) -> Messages:
        """Of a line that came in one piece no more is kept than if it had come in several, because a pattern that
        looks at it must see the same."""
        lines = _lines(block, start, end)
        if len(block) > self._keep_bytes:
            for index, length in enumerate(lines.lengths):
                if length - 1 > self._keep_bytes:
                    begin = lines.offsets[index] - start
                    lines.texts[index] = _decode(block[begin : begin + self._keep_bytes])
        return lines

    def _keep(self, data: bytes) -> None:
        kept = data[: self._keep_bytes - len(self._head)]
        self._head += kept
        self._skipped += len(data) - len(kept)

    def _end_line(self, messages: Messages) -> None:
        """End the line under way where the file was cut: it is a message of its own without a terminator."""
        length = len(self._head) + self._skipped
        if length:
            messages.append(_decode(self._head), messages.end, length)
            messages.end += length
        self._head, self._skipped = b"", 0


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _lines(block: bytes, start: int, end: int) -> Messages:
    """The lines of a block that has lost its last terminator."""
    text = _decode(block)
    texts = text.split("\n")
    lengths = [len(line) + 1 for line in (texts if text.isascii() else block.split(b"\n"))]
    offsets = list(accumulate(lengths, initial=start))
    offsets.pop()
    if "\r" in text:
        texts = [line[:-1] if line[-1:] == "\r" else line for line in texts]
    return Messages(start, end, texts, offsets, lengths)
