"""Sends dead letters again, as the events that they were, through the output that is configured now.

After a kill, only the letters that were in flight are sent a second time, and the sink recognises them by file id and
offset. Letters that are refused again are new letters; those that could not be sent stay.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from shipper.clock import Clock
from shipper.event import Batch
from shipper.letter_box import LetterBox, Resending, StoredLetter
from shipper.metrics import Metrics
from shipper.output.base import Output
from shipper.pipeline.publisher import Publisher
from shipper.pipeline.queue import MemoryQueue

Fit = Callable[[Batch], None]

IN_FLIGHT = 100
POLL = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class ResendPipeline:
    """The parts of the agent's pipeline that are behind its processors. `fit` replaces events that are too large."""

    queue: MemoryQueue
    publisher: Publisher
    output: Output
    metrics: Metrics
    clock: Clock
    fit: Fit


@dataclass(slots=True)
class Resent:
    """How many letters: `unsent` are those that were wanted; `left` in the files are these and all others."""

    sent: int = 0
    refused: int = 0
    unsent: int = 0
    left: int = 0


def resend(
    box: LetterBox, pipeline: ResendPipeline, is_wanted: Callable[[StoredLetter], bool], timeout: float
) -> Resent:
    """Send the letters that are wanted again; wait for at most `timeout` seconds for one of them to be acknowledged.
    Raises FileInUse, OSError."""
    result = Resent()
    with closing(Resending(box)) as resending:
        for _ in resending.files():
            wanted = [stored for stored in resending.letters() if stored.letter is not None and is_wanted(stored)]
            if not result.unsent:
                result.unsent = _send(resending, pipeline, wanted, timeout)
            else:
                result.unsent += len(wanted)
            result.left += resending.end_file()
    result.refused = pipeline.metrics.events_dead_lettered
    result.sent = pipeline.metrics.events_acked
    return result


def _send(resending: Resending, pipeline: ResendPipeline, wanted: Sequence[StoredLetter], timeout: float) -> int:
    """Return how many were neither delivered nor refused."""
    waiting, in_flight, settled = list(reversed(wanted)), set[str](), list[str]()
    deadline = pipeline.clock.monotonic() + timeout
    while (waiting or in_flight) and pipeline.clock.monotonic() < deadline:
        while waiting and len(in_flight) < IN_FLIGHT:
            stored = waiting.pop()
            assert stored.letter is not None
            in_flight.add(stored.id)
            batch = stored.letter.batch(partial(settled.append, stored.id))
            pipeline.fit(batch)
            pipeline.queue.put(batch)
        pipeline.publisher.step(pipeline.output)
        pipeline.output.poll(POLL)
        if settled:
            resending.note_sent(settled)
            in_flight -= set(settled)
            settled.clear()
            deadline = pipeline.clock.monotonic() + timeout
    if in_flight:
        pipeline.output.close()  # what arrives now is reported before the others are written back
        resending.note_sent(settled)
        in_flight -= set(settled)
    return len(waiting) + len(in_flight)
