import pytest

from log_shipper.shipper.event import Messages
from log_shipper.shipper.reader.interleaved import snap_back, snap_forward, with_messages


def run(*interleaved: tuple[int, int], messages: tuple[tuple[int, int], ...] = ()) -> Messages:
    """Return a run up to byte 100, whose messages span these bytes."""
    made = Messages(0, 100, interleaved=interleaved)
    for start, end in messages:
        made.append("text", start, end - start)
    return made


@pytest.mark.parametrize(
    ("place", "last", "first"), [(10, 10, 10), (11, 10, 20), (20, 20, 20), (25, 25, 25), (39, 30, 40), (100, 100, 100)]
)
def test_a_reading_begins_before_or_behind_an_interleaved_stretch(place: int, last: int, first: int) -> None:
    assert snap_back(run((10, 20), (30, 40)), place) == last
    assert snap_forward(run((10, 20), (30, 40)), place) == first


@pytest.mark.parametrize(
    ("messages", "interleaved"),
    [
        ((), ((10, 20), (30, 40))),
        (((0, 10), (10, 20), (20, 30)), ((10, 20), (30, 40))),
        (((0, 11),), ((0, 20), (30, 40))),
        (((12, 15), (19, 25)), ((10, 25), (30, 40))),
        (((15, 31),), ((10, 40),)),
        (((5, 12), (18, 30), (38, 41)), ((5, 30), (30, 41))),
    ],
)
def test_an_interleaved_stretch_takes_in_the_messages_that_reach_into_it(
    messages: tuple[tuple[int, int], ...], interleaved: tuple[tuple[int, int], ...]
) -> None:
    assert with_messages(run((10, 20), (30, 40), messages=messages)) == interleaved
