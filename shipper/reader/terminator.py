"""What ends a line: where it is in raw bytes, and how decoded text is split at it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from shipper.event import Messages


@dataclass(frozen=True, slots=True)
class Terminator:
    """`raw`: as bytes; `text`: as characters. `auto`: one carriage return before it is no part of the line either.
    `units`: Python's codec where bytes come in pairs, which begin at even offsets of the file; else empty."""

    raw: bytes
    text: str
    auto: bool
    units: str = ""

    def first(self, data: bytes, offset: int) -> int:
        """Where the first one begins in `data`, which begins at `offset` in the file; -1 without one."""
        found = data.find(self.raw)
        straddles = self.units and found >= 0 and (offset + found) % 2
        return self._by_units(data, offset, str.find) if straddles else found

    def last(self, data: bytes, offset: int) -> int:
        found = data.rfind(self.raw)
        straddles = self.units and found >= 0 and (offset + found) % 2
        return self._by_units(data, offset, str.rfind) if straddles else found

    def _by_units(self, data: bytes, offset: int, find: Callable[[str, str], int]) -> int:
        """Not from one misleading pair of bytes to the next: there may be as many as there are characters."""
        skip = offset % 2
        pairs = data[skip : len(data) - (len(data) - skip) % 2]
        text = pairs.decode(self.units, "replace")
        found = find(text, self.text)
        return skip + len(text[:found].encode(self.units)) if found >= 0 else -1

    def strip(self, lines: list[str], text: str) -> list[str]:
        """The lines of a text, without what is no part of them."""
        if self.auto and "\r" in text:
            return [line[:-1] if line[-1:] == "\r" else line for line in lines]
        return lines


def run(start: int, end: int, texts: list[str], lengths: list[int]) -> Messages:
    """The run of lines that follow each other from `start` on."""
    offsets = list(accumulate(lengths, initial=start))
    offsets.pop()
    return Messages(start, end, texts, offsets, lengths)
