"""Joins lines that belong together, a stack trace for instance, into one message.

A rule decides where in a run of lines messages end, so all messages that lie within the run are joined by slices of its
columns. The lines of the last message of a run stay here until it ends: by its content, by the timeout (`finish`), or
at a cut, where an earlier reading of the file ended it by time. Until then the run's `end`, and so the position, stays
before them.
"""

import sys
from collections.abc import Collection
from itertools import pairwise

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import MULTILINE, Messages
from log_shipper.shipper.options.multiline import MultilineConfig
from log_shipper.shipper.reader.base import Reader
from log_shipper.shipper.reader.interleaved import snap_back, with_messages
from log_shipper.shipper.reader.multiline_open import TIME, Limits, Open
from log_shipper.shipper.reader.multiline_rules import Rule, rule_of

_JOINED = (MULTILINE,)


def build(
    config: MultilineConfig, reader: Reader, max_bytes: int, clock: Clock, of_first: Collection[str] = TIME
) -> Reader:
    """Return a reader of joined messages, of which about `max_bytes` bytes are kept. `of_first`: as Limits has it."""
    limits = Limits(config.most_lines or sys.maxsize, max_bytes, "" if config.skip_newline else "\n", of_first=of_first)
    return MultilineReader(reader, rule_of(config), limits, clock)


class MultilineReader:
    def __init__(self, reader: Reader, rule: Rule, limits: Limits, clock: Clock) -> None:
        self._reader = reader
        self._rule = rule
        self._limits = limits
        self._clock = clock
        self._open = Open(limits)
        self._pending_since: float | None = None
        self._read_to = 0
        self._deferred: Messages | None = None  # ended, and interleaved with the pending message

    @property
    def pending_since(self) -> float | None:
        inner = self._reader.pending_since
        own = self._pending_since
        return own if inner is None else inner if own is None else max(inner, own)

    def next(self) -> Messages | None:
        lines = self._reader.next()
        if lines is None:
            return None
        self._read_to = lines.end  # may lie beyond the last line, where a parser below dropped bytes
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
        """Return all messages that end in the run, and those that were deferred before."""
        joined, self._deferred = self._deferred, None
        if joined is None:
            joined = Messages(self._open.start if self._open.lines else lines.start, lines.end)
        if not lines.interleaved and not joined.interleaved:
            self._join(lines, joined)
            return joined
        settled: list[tuple[int, int]] = []
        for piece in lines.pieces([end for _, end in lines.interleaved]):
            self._join(piece, joined)
            joined.interleaved += piece.interleaved
            settled += self._settled(joined, piece)
        joined.interleaved = (*settled, *joined.interleaved)
        return joined

    def _settled(self, joined: Messages, piece: Messages) -> list[tuple[int, int]]:
        """Keep only the spans in `joined.interleaved` that the pending message may touch; return those before them."""
        end = self._open.start if self._open.lines else piece.end
        joined.interleaved = tuple(
            span for span in with_messages(joined) if span[0] < end
        )  # the others lie within that message
        boundary = snap_back(joined, end)
        # What waits for that message is bounded; it is counted where a span ends, whatever the reads were.
        if boundary < end and piece.interleaved and piece.end - boundary > self._limits.waiting:
            self._close(joined)
            return self._settled(joined, piece)
        settled = [span for span in joined.interleaved if span[1] <= boundary]
        joined.interleaved = joined.interleaved[len(settled) :]
        return settled

    def _defer(self, joined: Messages) -> Messages:
        """Defer what lies in the span in which the pending message begins, until that message has ended: no reading may
        begin within a span. Return the messages before it."""
        boundary = snap_back(joined, joined.end)
        if boundary == joined.end:
            return joined
        ready, self._deferred = joined.pieces([boundary])
        return ready

    def _note_pending(self, new_lines: bool) -> None:
        if not self._open.lines:
            self._pending_since = None
        elif new_lines:
            self._pending_since = self._clock.monotonic()

    def _join(self, lines: Messages, joined: Messages) -> None:
        """Append all messages that end in the run; the lines behind them are those of the pending message."""
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
        """Make message `index` of several lines, one by one only if a limit or an empty line at its beginning requires
        it."""
        limits, texts = self._limits, lines.texts[start:end]
        joined.texts[index] = text = limits.separator.join(texts)
        joined.lengths[index] = lines.offsets[end - 1] + lines.lengths[end - 1] - lines.offsets[start]
        joined.flags[index] = _JOINED
        if end - start > limits.lines or len(text) >= limits.max_bytes or not texts[0]:
            message = Open(limits)
            message.add(lines, start, end)
            joined.texts[index], joined.flags[index] = message.text, message.flags

    def _close(self, joined: Messages) -> None:
        if self._open.lines:
            self._open.close(joined)
            self._open = Open(self._limits)
