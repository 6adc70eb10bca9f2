"""Spans of interleaved messages (`Messages.interleaved`), and the offsets at which a reading may begin."""

from bisect import bisect_left

from log_shipper.shipper.event import Messages


def with_messages(run: Messages) -> tuple[tuple[int, int], ...]:
    """Return the run's interleaved spans, each extended by the messages it touches: if these are dropped, nothing else
    shows that no reading may begin in them."""
    spans: list[tuple[int, int]] = []
    for start, end in run.interleaved:
        start, end = _span_of_message(run, start)[0], _span_of_message(run, end)[1]
        if spans and start < spans[-1][1]:
            start, end = spans[-1][0], max(end, spans[-1][1])
            spans.pop()
        spans.append((start, end))
    return tuple(spans)


def _span_of_message(run: Messages, offset: int) -> tuple[int, int]:
    """Return start and end of the message around the offset; the offset twice if there is none."""
    index = bisect_left(run.offsets, offset) - 1
    if index < 0 or run.offsets[index] + run.lengths[index] <= offset:
        return offset, offset
    return run.offsets[index], run.offsets[index] + run.lengths[index]


def snap_back(run: Messages, offset: int) -> int:
    """Return the last offset up to `offset`, a message start, at which a reading may begin."""
    return next((start for start, end in run.interleaved if start < offset < end), offset)


def snap_forward(run: Messages, offset: int) -> int:
    """Return the first offset from `offset`, a message start, at which a reading may begin; at most the run's end."""
    return next((end for start, end in run.interleaved if start < offset < end), offset)
