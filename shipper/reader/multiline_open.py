"""The pending message of the multiline reader."""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Doc, Messages, add_flag

WAITING_BYTES = 4 * 1024 * 1024
TIME = ("@timestamp",)
TEXTS_APART = 4096  # short lines cost far more than their characters while each is a separate text


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """How much of a message is kept: at most `lines` lines, and only lines that begin before about byte `max_bytes`.
    The limit behind this reader cuts the last one: lines are dropped here only to save memory. `waiting`: the bytes
    that may wait behind interleaved messages before the pending one is ended. `of_first`: members taken from the
    document of the first line only, even if it lacks them."""

    lines: int
    max_bytes: int
    separator: str
    waiting: int = WAITING_BYTES
    of_first: Collection[str] = TIME


class PendingMessage:
    """A pending message. `start` and `end`: offsets of its raw bytes so far; `lines`: its number of lines, including
    dropped ones.

    As in Filebeat, leading empty lines count but add nothing to the text. A dropped line adds nothing to the document
    either, nor does a line that begins beyond `max_bytes` of the raw bytes: lines with a document may have short texts,
    which would not bound the documents.
    """

    __slots__ = ("_doc", "_flags", "_joined", "_limits", "_size", "_texts", "end", "lines", "start")

    def __init__(self, limits: MessageLimits) -> None:
        self._limits = limits
        self._joined: list[str] = []  # the first texts, joined by the thousand
        self._texts: list[str] = []
        self._size = 0  # characters of the text
        self._flags: tuple[str, ...] = ()
        self._doc: Doc | None = None
        self.start = 0
        self.end = 0
        self.lines = 0

    def add(self, lines: Messages, start: int, end: int) -> None:
        """Add the lines with these indices."""
        if start == end:
            return
        if not self.lines:
            self.start = lines.offsets[start]
        self.end = lines.offsets[end - 1] + lines.lengths[end - 1]
        is_first = not self.lines
        kept = self._keep(lines.texts[start : min(end, start + max(self._limits.lines - self.lines, 0))])
        self.lines += end - start
        if kept < end - start:
            self._flags = add_flag(self._flags, TRUNCATED)
        if lines.flags:
            self._add_flags(lines, start, end)
        if lines.docs is not None:
            near = bisect_right(lines.offsets, self.start + self._limits.max_bytes, start, start + kept)
            self._merge_docs(lines.docs[start:near], is_first)

    @property
    def text(self) -> str:
        return self._limits.separator.join((*self._joined, *self._texts))

    @property
    def flags(self) -> tuple[str, ...]:
        return add_flag(self._flags, MULTILINE) if self.lines > 1 else self._flags

    def close(self, joined: Messages) -> None:
        """Append the message to `joined`."""
        if self._doc is not None:
            joined.documents()
        text = self.text
        joined.append(text, self.start, self.end - self.start, self.flags)
        if self._doc is not None:
            if text:
                self._doc.pop("message", None)
            joined.documents()[-1] = self._doc

    def _keep(self, texts: list[str]) -> int:
        """Keep the texts within the byte limit; return how many."""
        gap = len(self._limits.separator)
        if self._size + sum(map(len, texts)) + gap * len(texts) < self._limits.max_bytes:
            self._extend(texts)
            return len(texts)
        for index, text in enumerate(texts):
            if self._size and self._size + gap >= self._limits.max_bytes:
                return index
            self._extend([text])
        return len(texts)

    def _extend(self, texts: Sequence[str]) -> None:
        if not self._size:
            first = next((index for index, text in enumerate(texts) if text), len(texts))
            texts = texts[first:]
        gap = len(self._limits.separator)
        self._size += sum(map(len, texts)) + gap * (len(texts) if self._size else max(len(texts) - 1, 0))
        self._texts += texts
        if len(self._texts) > TEXTS_APART:
            self._joined.append(self._limits.separator.join(self._texts))
            self._texts = []

    def _add_flags(self, lines: Messages, start: int, end: int) -> None:
        for index in range(start, end):
            for flag in lines.flags.get(index, ()):
                self._flags = add_flag(self._flags, flag)

    def _merge_docs(self, docs: Sequence[Doc], is_first: bool) -> None:
        for index, doc in enumerate(docs):
            if index or not is_first:
                for name in self._limits.of_first:
                    doc.pop(name, None)
            if self._doc is None:
                self._doc = doc
            elif doc:
                _merge(self._doc, doc)


def _merge(into: Doc, doc: Doc) -> None:
    """Merge `doc` into `into`, member by member; its values win. Not recursive: a document may be deep."""
    pairs = [(into, doc)]
    while pairs:
        into, doc = pairs.pop()
        for name, value in doc.items():
            known = into.get(name)
            if isinstance(known, dict) and isinstance(value, dict):
                pairs.append((known, value))
            else:
                into[name] = value
