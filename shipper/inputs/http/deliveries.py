"""Pass the events of requests to the mailbox, in parts of about one read, and report back when a request is settled.

A request belongs to the reading thread from the moment its first part is taken; until then the server may take it back,
because its sender has left or its time is over. Both sides `claim` it, and only one gets it.
"""

import threading
from collections.abc import Callable, Iterator

from log_shipper.shipper.event import EVENT_OVERHEAD, Messages
from log_shipper.shipper.inputs.mailbox import Mailbox

PART_BYTES = 128 * 1024
PART_EVENTS = 4096


class Delivery:
    """The events of one request. `settled` is called by the reading thread once all of them are delivered or on disk.
    `cost`: their approximate memory in bytes."""

    def __init__(self, messages: Messages, cost: int, settled: Callable[["Delivery"], None]) -> None:
        self.cost = cost
        self.parts = list(_parts(messages))
        self.is_taken = False
        self._settled = settled
        self._missing = len(self.parts)
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """Return True for the first caller only. Called by both threads."""
        return self._claim.acquire(blocking=False)

    def resolve_part(self) -> None:
        """Count a resolved part. Called once for each part."""
        self._missing -= 1
        if not self._missing:
            self._settled(self)


Part = tuple[Delivery, Messages]


def cost_of(messages: Messages) -> int:
    return messages.end - messages.start + len(messages.texts) * EVENT_OVERHEAD


def take_run(parts: Mailbox[Part]) -> tuple[Messages, list[Delivery]] | None:
    """Return a run of about one read, with the deliveries that have one part in it; None if there is none."""
    run: Messages | None = None
    deliveries: list[Delivery] = []
    while (first := parts.first) is not None:
        delivery, part = first
        if run is not None and (_is_full(run, part) or part.start != run.end):
            break
        parts.pop()
        if not delivery.is_taken:
            delivery.is_taken = delivery.claim()
        if delivery.is_taken:
            run = part if run is None else _joined(run, part)
            deliveries.append(delivery)
    return None if run is None else (run, deliveries)


def _is_full(run: Messages, part: Messages) -> bool:
    return part.end - run.start > PART_BYTES or len(run.texts) + len(part.texts) > PART_EVENTS


def _joined(run: Messages, part: Messages) -> Messages:
    if run.docs is not None or part.docs is not None:
        run.documents().extend(part.documents())
    before = len(run.texts)
    run.flags |= {before + index: flags for index, flags in part.flags.items()}
    run.texts += part.texts
    run.offsets += part.offsets
    run.lengths += part.lengths
    run.end = part.end
    return run


def _parts(messages: Messages) -> Iterator[Messages]:
    """Yield a run in pieces that are small enough; at least one."""
    offsets, places, start, first = messages.offsets, list[int](), messages.start, 0
    if messages.end - start <= PART_BYTES and len(offsets) <= PART_EVENTS:
        return iter((messages,))
    for index, (offset, length) in enumerate(zip(offsets, messages.lengths, strict=True)):
        if index > first and (offset + length - start > PART_BYTES or index - first >= PART_EVENTS):
            places.append(offset)
            start, first = offset, index
    return messages.split_at(places)
