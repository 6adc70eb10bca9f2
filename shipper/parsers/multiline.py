"""The parser `multiline`: joins lines that belong together, such as a stack trace, into one message.

A rule decides where messages end in a run of lines, so all messages within the run are joined by slicing its columns.
The lines of the last message stay pending until it ends: by content, by timeout (`finish`), or at a cut, where an
earlier reading ended it by time. Until then the run's `end`, and so the position, stays before them.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.patterns import Pattern, column_searcher
from log_shipper.config.text.units import Duration
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import MULTILINE, Messages
from log_shipper.shipper.reader.base import ParserConfig, ParserContext, Reader
from log_shipper.shipper.reader.interleaved import snap_back, with_messages
from log_shipper.shipper.reader.multiline_open import MessageLimits, PendingMessage
from log_shipper.shipper.reader.multiline_rules import Flushed, Rule, after, alike, before, counting

MultilineType = Literal["pattern", "count", "while_pattern"]

# The types that use an option; other types accept only its default.
_BELONGS: dict[str, tuple[MultilineType, ...]] = {
    "pattern": ("pattern", "while_pattern"),
    "negate": ("pattern", "while_pattern"),
    "match": ("pattern",),
    "flush_pattern": ("pattern",),
    "count_lines": ("count",),
}
_DEFAULTS = {"negate": False, "match": "after"}


# Seconds. In Filebeat a count never ends by time (all later messages would begin at a wrong line), nor does any type
# with timeout 0. There the message ends when its file is closed as inactive, after the same time.
LONG_TIMEOUT = 300.0


_JOINED = (MULTILINE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultilineConfig(ParserConfig):
    """Joins lines that belong together into one message."""

    name: ClassVar = "multiline"
    example: ClassVar = """multiline: {pattern: '^\\s'} -> [error, '  at a', up] -> ["error\\n  at a", up]"""
    type: MultilineType = field(
        default="pattern",
        metadata={"doc": "How lines are joined: by a pattern, in fixed numbers, or while consecutive lines match."},
    )
    pattern: Pattern | None = field(
        default=None,
        metadata={"doc": "A regular expression to find in each line; not with `type: count`."},
    )
    negate: bool = field(
        default=False,
        metadata={"doc": "Whether lines that do not match are joined, instead of those that match."},
    )
    match: Literal["after", "before"] = field(
        default="after",
        metadata={
            "doc": "Whether a joined line is appended to the previous line (after) or prepended to the next "
            "one (before); with `type: pattern`."
        },
    )
    flush_pattern: Pattern | None = field(
        default=None,
        metadata={"since": "0.3", "doc": "A line that matches this ends the message; with `type: pattern`."},
    )
    count_lines: int | None = field(
        default=None,
        metadata={
            "since": "0.3",
            "doc": "The number of lines in a message; with `type: count`.",
            "unit": "lines",
            "min": 1,
        },
    )
    max_lines: int | None = field(
        default=None,
        metadata={
            "doc": "The maximum lines of a message: further lines are dropped and the message is flagged; "
            "500 when absent, `count_lines` with `type: count`; 0 means no limit except the maximum "
            "message size.",
            "unit": "lines",
            "min": 0,
        },
    )
    timeout: Duration | None = field(
        default=None,
        metadata={
            "doc": "The time without a further line after which a message is sent; 5s when absent, 5m with "
            "`type: count`; 0 means 5m too.",
        },
    )
    skip_newline: bool = field(
        default=False, metadata={"since": "0.3", "doc": "Whether lines are joined without a newline between them."}
    )

    @property
    def max_kept_lines(self) -> int | None:
        """Return the maximum number of lines kept of a message; None means all."""
        if self.max_lines is not None:
            return self.max_lines or None
        return 500 if self.count_lines is None else self.count_lines

    @property
    def ends_after(self) -> float:
        """Return the seconds without a further line after which a message ends."""
        return self.timeout or (5.0 if self.timeout is None and self.type != "count" else LONG_TIMEOUT)

    def check(self) -> Iterator[Finding]:
        needed = "count_lines" if self.type == "count" else "pattern"
        if getattr(self, needed) is None:
            yield needed, f"required with type: {self.type}"
        for name, types in _BELONGS.items():
            if self.type not in types and getattr(self, name) != _DEFAULTS.get(name):
                yield name, f"belongs to type: {' or '.join(types)}; this is type: {self.type}"

    def build(self, reader: Reader, context: ParserContext) -> Reader:
        newline = "" if self.skip_newline else "\n"
        limits = MessageLimits(
            self.max_kept_lines or sys.maxsize, context.max_bytes, newline, of_first=context.of_first_line
        )
        return MultilineReader(reader, self._rule(), limits, context.clock)

    def _rule(self) -> Rule:
        if self.type == "count":
            return counting(self.count_lines or 1)
        search, negate = column_searcher([self.pattern or ""]), self.negate
        if self.type == "while_pattern":
            return alike(search, negate)
        if self.flush_pattern is not None:
            return Flushed(search, negate, column_searcher([self.flush_pattern]), before=self.match == "before")
        return before(search, negate) if self.match == "before" else after(search, negate)


class MultilineReader:
    def __init__(self, reader: Reader, rule: Rule, limits: MessageLimits, clock: Clock) -> None:
        self._reader = reader
        self._rule = rule
        self._limits = limits
        self._clock = clock
        self._open = PendingMessage(limits)
        self._pending_since: float | None = None
        self._read_to = 0
        self._deferred: Messages | None = None  # ended, but interleaved with the pending message

    @property
    def pending_since(self) -> float | None:
        inner = self._reader.pending_since
        own = self._pending_since
        return own if inner is None else inner if own is None else max(inner, own)

    def next(self) -> Messages | None:
        lines = self._reader.next()
        if lines is None:
            return None
        self._read_to = lines.end  # may be beyond the last line, if a parser below dropped bytes
        joined = self._join_all(lines)
        if lines.cut:
            self._close(joined)
            joined.cut = True
        joined.end = self._open.start if self._open.lines else lines.end
        if joined.interleaved:
            joined = self._defer(joined)
        self._note_pending(bool(lines.texts))
        return joined

    def finish(self) -> Messages | None:
        remaining = self._reader.finish()
        if remaining is None:
            if not self._open.lines:
                return None
            remaining = Messages(self._read_to, self._read_to)
        joined = self._join_all(remaining)
        self._close(joined)
        joined.end = remaining.end
        self._pending_since = None
        return joined

    def _join_all(self, lines: Messages) -> Messages:
        """Return all messages that end in the run, and those deferred before."""
        joined, self._deferred = self._deferred, None
        if joined is None:
            joined = Messages(self._open.start if self._open.lines else lines.start, lines.end)
        if not lines.interleaved and not joined.interleaved:
            self._join(lines, joined)
            return joined
        settled: list[tuple[int, int]] = []
        for piece in lines.split_at([end for _, end in lines.interleaved]):
            self._join(piece, joined)
            joined.interleaved += piece.interleaved
            settled += self._settled(joined, piece)
        joined.interleaved = (*settled, *joined.interleaved)
        return joined

    def _settled(self, joined: Messages, piece: Messages) -> list[tuple[int, int]]:
        """Keep the spans in `joined.interleaved` that the pending message may touch; return those before them."""
        end = self._open.start if self._open.lines else piece.end
        joined.interleaved = tuple(
            span for span in with_messages(joined) if span[0] < end
        )  # the others lie within that message
        boundary = snap_back(joined, end)
        # The data that waits for this message is bounded; it is counted where a span ends, independent of the reads.
        if boundary < end and piece.interleaved and piece.end - boundary > self._limits.waiting:
            self._close(joined)
            return self._settled(joined, piece)
        settled = [span for span in joined.interleaved if span[1] <= boundary]
        joined.interleaved = joined.interleaved[len(settled) :]
        return settled

    def _defer(self, joined: Messages) -> Messages:
        """Defer the messages in the span in which the pending message begins until that message ends: no reading may
        begin within a span. Return the messages before it."""
        boundary = snap_back(joined, joined.end)
        if boundary == joined.end:
            return joined
        ready, self._deferred = joined.split_at([boundary])
        return ready

    def _note_pending(self, new_lines: bool) -> None:
        if not self._open.lines:
            self._pending_since = None
        elif new_lines:
            self._pending_since = self._clock.monotonic()

    def _join(self, lines: Messages, joined: Messages) -> None:
        """Append all messages that end in the run; the lines after them belong to the pending message."""
        ends = list(self._rule(lines.texts, self._open.lines)) if lines.texts else []
        if ends:
            self._open.add(lines, 0, ends[0])
            self._close(joined)
            if lines.flags or lines.docs is not None or joined.docs is not None:
                self._join_one_by_one(lines, ends, joined)
            else:
                self._join_columns(lines, ends, joined)
        self._open.add(lines, ends[-1] if ends else 0, len(lines.texts))

    def _join_one_by_one(self, lines: Messages, ends: list[int], joined: Messages) -> None:
        for start, end in pairwise(ends):
            self._open.add(lines, start, end)
            self._close(joined)

    def _join_columns(self, lines: Messages, ends: list[int], joined: Messages) -> None:
        """Join all messages at once, for lines without flags and documents: first as if each message had one line."""
        known, begins = len(joined.texts), ends[:-1]
        joined.texts += [lines.texts[start] for start in begins]
        joined.offsets += [lines.offsets[start] for start in begins]
        joined.lengths += [lines.lengths[start] for start in begins]
        for index, (start, end) in enumerate(pairwise(ends), known):
            if end - start > 1:
                self._join_lines(lines, start, end, joined, index)

    def _join_lines(self, lines: Messages, start: int, end: int, joined: Messages, index: int) -> None:
        """Make message `index` of several lines, one by one only if a limit or a leading empty line requires it."""
        limits, texts = self._limits, lines.texts[start:end]
        joined.texts[index] = text = limits.separator.join(texts)
        joined.lengths[index] = lines.offsets[end - 1] + lines.lengths[end - 1] - lines.offsets[start]
        joined.flags[index] = _JOINED
        if end - start > limits.lines or len(text) >= limits.max_bytes or not texts[0]:
            message = PendingMessage(limits)
            message.add(lines, start, end)
            joined.texts[index], joined.flags[index] = message.text, message.flags

    def _close(self, joined: Messages) -> None:
        if self._open.lines:
            self._open.close(joined)
            self._open = PendingMessage(self._limits)
