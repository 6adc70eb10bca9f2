"""Splits raw bytes into lines and decodes them, with the offset and raw length of each.

The text of a line must not depend on where reads end, or a second reading would give the same offset another text. So
the same bytes of an oversized line are kept whether it came in one piece or several: a little more than the limit, so
that `limit` notices and cuts it.
"""

from functools import partial

from log_shipper.config.text.encodings import LineTerminator, charset_of
from log_shipper.shipper.event import TRUNCATED, Messages
from log_shipper.shipper.reader.base import RawFile
from log_shipper.shipper.reader.codec import MARK_SIZE, ByteOrder, Codec, Utf16, codec_of
from log_shipper.shipper.reader.stream import Stream

# Bytes kept beyond the limit: a byte order mark (up to 4 bytes), a character that does not fit (4), half of one (3).
MARGIN = 12
BYTE_ORDER_MARK = "\ufeff"
LITTLE_ENDIAN = "utf-16-le"
UTF8 = codec_of("utf-8", "auto")


def build(encoding: str, terminator: LineTerminator, file: RawFile, max_bytes: int) -> "LineReader":
    """Return the reader. `max_bytes`: the maximum message size in bytes of UTF-8. Raises ValueError for a terminator
    that the encoding does not have."""
    charset = charset_of(encoding)
    if not charset.marked:
        return LineReader(file, max_bytes, codec_of(encoding, terminator))
    # A stream must not be refused: the data read would be lost, and could not be read again with another encoding.
    default = charset.codec or (LITTLE_ENDIAN if isinstance(file, Stream) else "")
    order = ByteOrder(default, terminator, partial(file.head, MARK_SIZE))
    return LineReader(file, max_bytes, Utf16(default or LITTLE_ENDIAN, terminator), order)


class LineReader:
    """Splits at the terminator, which is removed. Bytes invalid in the encoding become U+FFFD, and a byte order mark at
    the start of the file is not part of the first line.

    Of an oversized line only the first bytes are kept until its end; its raw length is counted in full. NULs at the
    start of a file belong to its first line, but not to the text: copytruncate leaves a hole there, as large as the old
    file, if the writer does not append.
    """

    def __init__(self, file: RawFile, max_bytes: int, codec: Codec = UTF8, order: ByteOrder | None = None) -> None:
        """`order` finds the codec to continue with, once there are enough bytes."""
        self._file = file
        self._codec = codec
        self._order = order
        self._size = len(codec.terminator.raw)
        self._keep_bytes = max_bytes * codec.spread + MARGIN
        self._length = 0  # raw bytes of the pending line, whose end was not read yet
        self._head = b""  # its first bytes, up to the limit
        self._tail = b""  # its last bytes, perhaps the start of a terminator
        # Bytes of a NUL that may be before the text; 0 if NULs end lines.
        self._unit = 0 if codec.terminator.text == "\0" else len("\0".encode(codec.terminator.units or "ascii"))
        self._nuls = 0  # raw bytes before the text of the first line

    pending_since: float | None = None

    def next(self) -> Messages | None:
        data = self._file.next()
        cut = self._file.pop_cut()
        if not data and not cut:  # a cut without data: the end of a gzip file may be known only after its last bytes
            return None
        if self._file.offset - len(data) - self._length == self._nuls and self._length < self._unit:
            data = self._without_nuls(data)
        messages = self._split(data)
        if cut:
            self._end_line(messages)
            messages.cut = True
        if 0 < self._nuls == messages.start:
            self._cover_nuls(messages)
        self._drop_mark(messages)
        return messages

    def finish(self) -> Messages | None:
        return None

    def _without_nuls(self, data: bytes) -> bytes:
        """Return the first data of the file, including half a character read before, without the NULs at its start."""
        data = self._head + data
        self._forget()
        nuls = len(data) - len(data.lstrip(b"\0"))
        nuls -= nuls % self._unit
        self._nuls += nuls
        return data[nuls:]

    def _cover_nuls(self, messages: Messages) -> None:
        """Let the first line begin with the file, or stay pending from there on. A cut ends one without text."""
        messages.start = 0
        if messages.texts:
            messages.offsets[0] = 0
            messages.lengths[0] += self._nuls
        elif messages.cut:
            self._nuls = -1
        else:
            messages.end = 0

    def _drop_mark(self, messages: Messages) -> None:
        """Remove a byte order mark, also that of a file in which a message continues after a rotation."""
        start = self._file.start
        if messages.start <= start and start in messages.offsets:
            index = messages.offsets.index(start)
            messages.texts[index] = messages.texts[index].removeprefix(BYTE_ORDER_MARK)

    def _split(self, data: bytes) -> Messages:
        seen = self._tail + data
        offset = self._file.offset - len(seen)
        start = self._file.offset - len(data) - self._length
        if self._order is not None:
            self._find_order(self._order, seen, offset)
        last = self._codec.terminator.last(seen, offset)
        if last < 0:
            self._keep(data)
            return Messages(start, start)
        if self._length <= self._keep_bytes:
            block = (self._head + data)[: offset + last - start]
            messages = self._lines(block, start, offset + last + self._size)
        else:
            messages = self._end_long_line(seen, offset, start, last)
        self._forget()
        self._keep(seen[last + self._size :])
        return messages

    def _find_order(self, order: ByteOrder, seen: bytes, offset: int) -> None:
        codec = order.find(seen, offset)
        if codec is not None:
            self._codec, self._order = codec, None

    def _end_long_line(self, seen: bytes, offset: int, start: int, last: int) -> Messages:
        """Return the lines of `seen`, read at `offset`. The first one ends an oversized line that began at `start`; the
        last terminator is at index `last`."""
        first = self._codec.terminator.first(seen, offset)
        end = offset + first + self._size
        length = end - start
        if length - self._size <= self._keep_bytes:  # only the beginning of its terminator was not kept
            messages = self._codec.lines(self._head[: length - self._size], start, end)
        else:
            messages = Messages(start, end)
            messages.append(self._codec.text(self._head, start, whole=False), start, length, (TRUNCATED,))
        if first < last:
            _extend(messages, self._lines(seen[first + self._size : last], end, offset + last + self._size))
        return messages

    def _lines(self, block: bytes, start: int, end: int) -> Messages:
        """Return the lines of a block. No more of a line is kept than if it had come in pieces, because a pattern must
        see the same text."""
        lines = self._codec.lines(block, start, end)
        if len(block) > self._keep_bytes:
            for index, length in enumerate(lines.lengths):
                if length - self._size > self._keep_bytes:
                    line_start = lines.offsets[index]
                    kept = block[line_start - start : line_start - start + self._keep_bytes]
                    lines.texts[index] = self._codec.text(kept, line_start, whole=False)
                    lines.flags[index] = (TRUNCATED,)
        return lines

    def _keep(self, data: bytes) -> None:
        self._length += len(data)
        self._head += data[: self._keep_bytes - len(self._head)]
        if self._size > 1:
            self._tail = (self._tail + data)[1 - self._size :]

    def _forget(self) -> None:
        self._length, self._head, self._tail = 0, b"", b""

    def _end_line(self, messages: Messages) -> None:
        """End the pending line at a cut: it is a message without a terminator."""
        if self._length:
            whole = self._length <= self._keep_bytes
            text = self._codec.text(self._head, messages.end, whole=whole)
            messages.append(text, messages.end, self._length, () if whole else (TRUNCATED,))
            messages.end += self._length
        self._forget()


def _extend(messages: Messages, more: Messages) -> None:
    """Append the following lines to a run; they have only texts and flags."""
    count = len(messages.texts)
    messages.flags.update({count + index: flags for index, flags in more.flags.items()})
    messages.texts += more.texts
    messages.offsets += more.offsets
    messages.lengths += more.lengths
    messages.end = more.end
