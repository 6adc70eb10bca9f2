"""Split the bytes of a connection into messages.

Messages must not depend on where reads end, and neither may the cost: a sender may send a message of megabytes byte by
byte. So no byte of an unfinished message is examined twice, and nothing is kept beyond the limit and what shows that it
is exceeded.
"""

from dataclasses import dataclass, field
from typing import Protocol

from log_shipper.shipper.event import TRUNCATED

# Bytes kept beyond the limit: a character that begins before it (up to 4), so that a later cut gives the same text.
MARGIN = 4
DIGITS = frozenset(b"0123456789")
MAX_DIGITS = 10


@dataclass(slots=True)
class Frames:
    """Messages in order, each with its length in raw bytes, including the frame. `flags` has an entry only for flagged
    ones."""

    texts: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    flags: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def append(self, text: str, length: int, *, cut: bool = False) -> None:
        if cut:
            self.flags[len(self.texts)] = (TRUNCATED,)
        self.texts.append(text)
        self.lengths.append(length)


class Framing(Protocol):
    """The messages of one connection. `failure`: why there can be no more of them: no message can begin with these
    bytes, and the start of the next one is unknown. Empty while all is well."""

    failure: str

    def add(self, data: bytes) -> Frames:
        """Return the messages that end in these bytes."""

    def cut(self) -> Frames:
        """Give out the kept part of the unfinished message, flagged, because all unfinished messages together are too
        large; its rest is dropped."""

    def end(self) -> tuple[Frames, int]:
        """Return the rest when the peer has closed the connection, and the number of lost bytes."""

    @property
    def pending(self) -> int:
        """Return the number of kept bytes."""


class PartialLine:
    """The beginning of a message whose delimiter has not come yet."""

    __slots__ = ("_delimiter", "_head", "_keep", "_overlap", "is_dropped", "length")

    def __init__(self, delimiter: bytes, keep: int) -> None:
        self._delimiter = delimiter
        self._keep = keep
        self._head = bytearray()
        self._overlap = b""  # the last bytes, which may be the beginning of the delimiter
        self.length = 0  # raw bytes so far
        self.is_dropped = False  # the rest of one that was given out

    @property
    def kept(self) -> int:
        return len(self._head)

    def end_in(self, data: bytes, start: int = 0) -> int:
        """Return the index in `data` after the first delimiter from `start`; -1 if there is none."""
        size, overlap = len(self._delimiter), len(self._overlap)
        if overlap:
            index = (self._overlap + data[start : start + size - 1]).find(self._delimiter)
            if index >= 0:
                return start + index + size - overlap
        index = data.find(self._delimiter, start)
        return index + size if index >= 0 else -1

    def keep(self, data: bytes) -> None:
        self.length += len(data)
        if not self.is_dropped and len(self._head) < self._keep:
            self._head += data[: self._keep - len(self._head)]
        if len(self._delimiter) > 1:
            self._overlap = (self._overlap + data[1 - len(self._delimiter) :])[1 - len(self._delimiter) :]

    def pop(self, *, ended: bool = True) -> tuple[bytes, int]:
        """Return the message without its delimiter, which is there if `ended`, and the raw length."""
        size = self.length - len(self._delimiter) if ended else self.length
        head, length = bytes(self._head[:size]), self.length
        self._forget()
        return head, length

    def drop(self) -> tuple[bytes, int]:
        """Return what is kept, and drop the rest when it comes."""
        head, length, overlap = bytes(self._head), self.length, self._overlap
        self._forget()
        self._overlap, self.is_dropped = overlap, True
        return head, length

    def _forget(self) -> None:
        self._head, self._overlap, self.length, self.is_dropped = bytearray(), b"", 0, False


def _decoded(raw: bytes, delimiter: str) -> str:
    """Return a message without its delimiter as text; a carriage return before a line feed belongs to the delimiter."""
    text = raw.decode("utf-8", "replace")
    return text[:-1] if delimiter == "\n" and text[-1:] == "\r" else text


class DelimiterFraming:
    """Messages that end with a delimiter. `limit`: only the first bytes of longer ones are kept."""

    failure = ""

    def __init__(self, delimiter: str, limit: int) -> None:
        self._text = delimiter
        self._delimiter = delimiter.encode()
        self._keep = limit + MARGIN
        self._line = PartialLine(self._delimiter, self._keep + len(self._delimiter))

    @property
    def pending(self) -> int:
        return self._line.kept

    def add(self, data: bytes) -> Frames:
        line = self._line
        if not line.length and not line.is_dropped:
            return self._split(data, Frames())
        end = line.end_in(data)
        if end < 0:
            line.keep(data)
            return Frames()
        frames, was_dropped = Frames(), line.is_dropped
        line.keep(data[:end])
        raw, length = line.pop()
        if not was_dropped:
            frames.append(_decoded(raw, self._text), length)
        return self._split(data[end:], frames)

    def _split(self, data: bytes, frames: Frames) -> Frames:
        """Add the messages of a block that begins with one."""
        size = len(self._delimiter)
        if size == 1:
            last = data.rfind(self._delimiter)
        else:  # from the left: a delimiter may overlap with itself
            last = len(data) - len(data.split(self._delimiter)[-1]) - size if self._delimiter in data else -1
        if last >= 0:
            block = data[:last]
            text = block.decode("utf-8", "replace")
            texts = text.split(self._text)
            pieces = texts if text.isascii() else block.split(self._delimiter)
            frames.lengths += [len(piece) + size for piece in pieces]
            if self._text == "\n" and "\r" in text:
                texts = [line[:-1] if line[-1:] == "\r" else line for line in texts]
            frames.texts += texts
        if last + size < len(data) or last < 0:
            self._line.keep(data[last + size :] if last >= 0 else data)
        return frames

    def cut(self) -> Frames:
        frames = Frames()
        if self._line.kept:
            raw, length = self._line.drop()
            frames.append(raw.decode("utf-8", "replace"), length, cut=True)
        return frames

    def end(self) -> tuple[Frames, int]:
        frames, dropped = Frames(), self._line.is_dropped
        raw, length = self._line.pop(ended=False)
        if length and not dropped:
            frames.append(_decoded(raw, self._text), length)
        return frames, 0


class OctetFraming:
    """Messages of RFC 6587: one that begins with a digit has its length in front (octet counting), any other ends with
    the delimiter (non-transparent framing)."""

    def __init__(self, delimiter: str, limit: int) -> None:
        self.failure = ""
        self._keep = limit + MARGIN
        self._text = delimiter
        self._size = len(delimiter.encode())
        self._line = PartialLine(delimiter.encode(), self._keep + self._size)
        self._header = b""  # the beginning of a length
        self._body = bytearray()  # the kept part of a message of known length
        self._missing = 0  # its bytes that have not come yet
        self._length = 0  # its raw length
        self._is_dropped = False  # its rest: it was given out

    @property
    def pending(self) -> int:
        return self._line.kept + len(self._body)

    def add(self, data: bytes) -> Frames:
        frames = Frames()
        if self._header:
            data, self._header = self._header + data, b""
        index, size = 0, len(data)
        while index < size and not self.failure:
            if self._missing:
                index = self._continue_body(data, index, frames)
            elif self._line.length or self._line.is_dropped or data[index] not in DIGITS:
                index = self._continue_line(data, index, frames)
            else:
                index = self._begin_body(data, index, frames)
        return frames

    def _begin_body(self, data: bytes, index: int, frames: Frames) -> int:
        blank = data.find(b" ", index, index + MAX_DIGITS + 1)
        digits = data[index : blank if blank >= 0 else index + MAX_DIGITS + 1]
        if not digits.isdigit() or (blank < 0 and len(digits) > MAX_DIGITS):
            self.failure = f"{data[index : index + 20]!r} does not begin with a message length, such as b'42 <13>...'"
            return index
        if blank < 0:
            self._header = digits
            return len(data)
        start = blank + 1
        end = start + int(digits)
        if end <= len(data):
            frames.append(data[start : min(end, start + self._keep)].decode("utf-8", "replace"), end - index)
            return end
        self._length, self._missing = end - index, end - start
        return start

    def _continue_body(self, data: bytes, index: int, frames: Frames) -> int:
        end = min(index + self._missing, len(data))
        self._missing -= end - index
        if not self._is_dropped:
            self._body += data[index : min(end, index + self._keep - len(self._body))]
        if not self._missing:
            if not self._is_dropped:
                frames.append(self._body.decode("utf-8", "replace"), self._length)
            self._body, self._is_dropped = bytearray(), False
        return end

    def _continue_line(self, data: bytes, index: int, frames: Frames) -> int:
        line = self._line
        end = line.end_in(data, index)
        if end < 0:
            line.keep(data[index:])
            return len(data)
        was_dropped = line.is_dropped
        line.keep(data[index:end])
        raw, length = line.pop()
        if not was_dropped:
            frames.append(_decoded(raw, self._text), length)
        return end

    def cut(self) -> Frames:
        frames = Frames()
        if self._line.kept:
            raw, length = self._line.drop()
            frames.append(raw.decode("utf-8", "replace"), length, cut=True)
        elif self._body:
            frames.append(self._body.decode("utf-8", "replace"), self._length, cut=True)
            self._body, self._is_dropped = bytearray(), True
        return frames

    def end(self) -> tuple[Frames, int]:
        frames, lost = Frames(), len(self._header)
        if self._missing and not self._is_dropped:
            lost += self._length - self._missing
        dropped = self._line.is_dropped
        raw, length = self._line.pop(ended=False)
        if length and not dropped:
            frames.append(_decoded(raw, self._text), length)
        return frames, lost
