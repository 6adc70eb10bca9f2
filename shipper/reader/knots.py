"""Places at which a second reading may begin, where messages are entangled (`Messages.knots`)."""

from bisect import bisect_left

from shipper.event import Messages


def widened(run: Messages) -> tuple[tuple[int, int], ...]:
    """The run's knots, each with the messages into which it reaches: when these are dropped, nothing else will say that
    no reading may begin in them."""
    knots: list[tuple[int, int]] = []
    for start, end in run.knots:
        start, end = _message_at(run, start)[0], _message_at(run, end)[1]
        if knots and start < knots[-1][1]:
            start, end = knots[-1][0], max(end, knots[-1][1])
            knots.pop()
        knots.append((start, end))
    return tuple(knots)


def _message_at(run: Messages, place: int) -> tuple[int, int]:
    """From where to where the message reaches that this place is in the middle of; else only the place itself."""
    index = bisect_left(run.offsets, place) - 1
    if index < 0 or run.offsets[index] + run.lengths[index] <= place:
        return place, place
    return run.offsets[index], run.offsets[index] + run.lengths[index]


def last_place(run: Messages, place: int) -> int:
    """The last one up to `place`, which is where a message begins."""
    return next((start for start, end in run.knots if start < place < end), place)


def first_place(run: Messages, place: int) -> int:
    """The first one from `place` on, which is where a message of the run begins; the run's end at the latest."""
    return next((end for start, end in run.knots if start < place < end), place)
