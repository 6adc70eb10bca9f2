"""Joins lines that belong together, a stack trace for instance, into one message.

The pattern decides for each line alone whether it continues a message, so a run of lines is cut into messages by
indices. The lines of the last message of a run stay here until the message ends: by its content, by the timeout
(`finish`), or at a cut, where an earlier reading of the file ended it by time. Until then the run's `end` stays
before them, and so does the position.
"""

from dataclasses import dataclass
from re import Pattern

from shipper.clock import Clock
from shipper.event import MULTILINE, TRUNCATED, Messages, add_flag
from shipper.reader.base import Reader


@dataclass(frozen=True, slots=True)
class MultilineRule:
    """A line for which (`pattern` found) != `negate` is joined after the line before it, or, with `before`, before the
    line that follows. Of a message at most `max_lines` lines, and about `max_bytes` bytes, are kept."""

    pattern: Pattern[str]
    negate: bool = False
    before: bool = False
    max_lines: int = 500
    max_bytes: int = 10 * 1024 * 1024


class MultilineReader:
    def __init__(self, reader: Reader, rule: MultilineRule, clock: Clock) -> None:
        self._reader = reader
        self._rule = rule
        self._clock = clock
        self._open = _Open()
        self._pending_since: float | None = None

    @property
    def pending_since(self) -> float | None:
        inner = self._reader.pending_since
        own = self._pending_since
        return own if inner is None else inner if own is None else max(inner, own)

    def next(self) -> Messages | None:
        lines = self._reader.next()
        if lines is None:
            return None
        joined = Messages(self._open.start if self._open.lines else lines.start, lines.end)
        self._join(lines, joined)
        if lines.cut:
            self._close(joined)
            joined.cut = True
        joined.end = self._open.start if self._open.lines else lines.end
        self._note_pending(bool(lines.texts))
        return joined

    def finish(self) -> Messages | None:
        rest = self._reader.finish()
        if rest is None:
            if not self._open.lines:
                return None
            rest = Messages(self._open.end, self._open.end)
        joined = Messages(self._open.start if self._open.lines else rest.start, rest.end)
        self._join(rest, joined)
        self._close(joined)
        self._pending_since = None
        return joined

    def _note_pending(self, new_lines: bool) -> None:
        if not self._open.lines:
            self._pending_since = None
        elif new_lines:
            self._pending_since = self._clock.monotonic()

    def _join(self, lines: Messages, joined: Messages) -> None:
        search, negate, before = self._rule.pattern.search, self._rule.negate, self._rule.before
        for index, text in enumerate(lines.texts):
            continues = (search(text) is not None) != negate
            if not before and not continues:
                self._close(joined)
            self._add(lines, index)
            if before and not continues:
                self._close(joined)

    def _add(self, lines: Messages, index: int) -> None:
        message, rule, text = self._open, self._rule, lines.texts[index]
        if not message.lines:
            message.start = lines.offsets[index]
        message.lines += 1
        message.end = lines.offsets[index] + lines.lengths[index]
        for flag in lines.flags.get(index, ()):
            message.flags = add_flag(message.flags, flag)
        if message.lines <= rule.max_lines and message.size < rule.max_bytes:
            message.texts.append(text)
            message.size += len(text) + 1
        else:
            message.flags = add_flag(message.flags, TRUNCATED)

    def _close(self, joined: Messages) -> None:
        message = self._open
        if message.lines:
            flags = add_flag(message.flags, MULTILINE) if message.lines > 1 else message.flags
            joined.append("\n".join(message.texts), message.start, message.end - message.start, flags)
            self._open = _Open()


class _Open:
    """The message under way: its first and last raw byte, and the lines that are kept of it."""

    __slots__ = ("end", "flags", "lines", "size", "start", "texts")

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.lines = 0
        self.size = 0
        self.texts: list[str] = []
        self.flags: tuple[str, ...] = ()
