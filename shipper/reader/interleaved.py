"""Stretches in which messages are interleaved (`Messages.interleaved`), and where a second reading may begin."""

from bisect import bisect_left

from shipper.event import Messages


def with_messages(run: Messages) -> tuple[tuple[int, int], ...]:
    """Return the run's stretches, each with the messages into which it reaches: when these are dropped, nothing else
    shows that no reading may begin in them."""
    stretches: list[tuple[int, int]] = []
    for start, end in run.interleaved:
        start, end = _message_at(run, start)[0], _message_at(run, end)[1]
        if stretches and start < stretches[-1][1]:
            start, end = stretches[-1][0], max(end, stretches[-1][1])
            stretches.pop()
        stretches.append((start, end))
    return tuple(stretches)


def _message_at(run: Messages, offset: int) -> tuple[int, int]:
    """Return from where to where the message reaches in the middle of which the offset lies; else only the offset."""
    index = bisect_left(run.offsets, offset) - 1
    if index < 0 or run.offsets[index] + run.lengths[index] <= offset:
        return offset, offset
    return run.offsets[index], run.offsets[index] + run.lengths[index]


def snap_back(run: Messages, offset: int) -> int:
    """Return the last offset up to this one, which is where a message begins, at which a reading may begin."""
    return next((start for start, end in run.interleaved if start < offset < end), offset)


def snap_forward(run: Messages, offset: int) -> int:
    """Return the first offset from this one on, which is where a message of the run begins, at which a reading may
    begin; the run's end at the latest."""
    return next((end for start, end in run.interleaved if start < offset < end), offset)
