"""Places at which a second reading may begin, where messages are entangled (`Messages.knots`)."""

from shipper.event import Messages


def last_place(run: Messages, place: int) -> int:
    """The last one up to `place`: neither within a knot nor within a message of the run."""
    index = len(run.texts)
    for start, end in reversed(run.knots):
        if start < place < end:
            place = start
            while index and run.offsets[index - 1] + run.lengths[index - 1] > place:
                index -= 1
                place = min(place, run.offsets[index])
    return place


def first_place(run: Messages, place: int) -> int:
    """The first one from `place` on, which is where a message of the run begins; the run's end at the latest."""
    inside = any(start < place < end for start, end in run.knots)
    return run.end if inside else place
