"""Cuts in the group: a message that ended by time ends there in each reading, whichever member reads.

The group keeps a text beside each offset that is committed. It has the cuts that lie behind that offset, so a cut is in
Kafka before its message is sent, and leaves with the position that passes it. Who commits with another tool leaves a
text that is not ours, or none: then there are no cuts.
"""

from collections.abc import Iterable

PREFIX = "shipper cuts 1: "  # the number is that of the form
MOST_BYTES = 2048  # of a text: brokers take 4096, unless offset.metadata.max.bytes says otherwise


def metadata_of(cuts: Iterable[int]) -> str:
    """Return the text of cuts, empty if there are none."""
    numbers = ",".join(map(str, cuts))
    return PREFIX + numbers if numbers else ""


def cuts_in(metadata: str | None, offset: int) -> tuple[int, ...]:
    """Return the cuts behind an offset that its text has, ascending."""
    if not metadata or not metadata.startswith(PREFIX):
        return ()
    numbers = metadata.removeprefix(PREFIX).split(",")
    if not all(number.isascii() and number.isdigit() for number in numbers):
        return ()
    return tuple(sorted({cut for number in numbers if (cut := int(number)) > offset}))
