"""Make runs of messages from received bytes, each of one sender if that is worth it.

Events have the address of their sender. As a constant of a source it is encoded once, which costs about as much as a
few events with an address in their own documents. So messages that came together are sorted by sender (there is no
order between senders), frequent senders get a run of their own, and the rest share one.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import accumulate

from log_shipper.shipper.event import TRUNCATED, Doc, Messages, Source
from log_shipper.shipper.inputs.sockets.connection import Connection
from log_shipper.shipper.inputs.sockets.framing import Frames
from log_shipper.shipper.inputs.sockets.system_calls import Datagrams, address_of

ENOUGH = 8  # messages of a sender that make a run
MAX_SENDERS = 1024  # of datagrams whose sources are kept

Run = tuple[Source, Messages]


class Senders:
    """The senders of one input, and their messages since the last `runs`. Used by the reading thread only."""

    def __init__(self, make_source: Callable[[Doc | None], Source]) -> None:
        """Take `make_source`, which returns the source of events with these fields."""
        self._make_source = make_source
        self._shared = make_source(None)
        self._of_names: OrderedDict[bytes, Source] = OrderedDict()
        self._arrived: dict[bytes | Connection, Frames] = {}

    @property
    def shared(self) -> Source:
        """Return the source of events whose sender is not a constant."""
        return self._shared

    def add_datagrams(self, datagrams: Datagrams, limit: int) -> int:
        """Add datagrams. Return how many of them were truncated to `limit`."""
        texts = [text.decode("utf-8", "replace") for text in datagrams.texts]
        lengths, names = datagrams.lengths, datagrams.names
        truncated = sum(length > limit for length in lengths) if max(lengths) > limit else 0
        if len(names) <= 1:
            frames = self._frames_of(names[0] if names else b"")
            first = len(frames.texts)
            frames.texts += texts
            frames.lengths += lengths
            if truncated:
                frames.flags |= {first + i: (TRUNCATED,) for i, length in enumerate(lengths) if length > limit}
        else:
            for name, text, length in zip(names, texts, lengths, strict=True):
                self._frames_of(name).append(text, length, cut=length > limit)
        return truncated

    def add_frames(self, connection: Connection, frames: Frames) -> None:
        if not frames.texts:
            return
        known = self._arrived.get(connection)
        if known is None:
            self._arrived[connection] = frames
        else:
            first = len(known.texts)
            known.flags |= {first + index: flags for index, flags in frames.flags.items()}
            known.texts += frames.texts
            known.lengths += frames.lengths

    def runs(self, start: int) -> Iterator[Run]:
        """Yield the added messages, as runs that follow each other from `start`."""
        arrived, self._arrived = self._arrived, {}
        few: list[tuple[bytes | Connection, Frames]] = []
        for sender, frames in arrived.items():
            if sender and len(frames.texts) < ENOUGH:
                few.append((sender, frames))
                continue
            messages = _run(start, frames)
            start = messages.end
            yield self._source_of(sender), messages
        if few:
            yield self._shared, _run_of_several(start, few)

    def _frames_of(self, name: bytes) -> Frames:
        frames = self._arrived.get(name)
        if frames is None:
            frames = self._arrived[name] = Frames()
        return frames

    def _source_of(self, sender: bytes | Connection) -> Source:
        if isinstance(sender, Connection):
            if sender.source is None:
                sender.source = self._make_source({"log": {"source": sender.sender}})
            return sender.source
        if not sender:
            return self._shared
        source = self._of_names.get(sender)
        if source is None:
            source = self._of_names[sender] = self._make_source({"log": {"source": _log_source(sender)}})
            if len(self._of_names) > MAX_SENDERS:
                self._of_names.popitem(last=False)
        else:
            self._of_names.move_to_end(sender)
        return source


def _run(start: int, frames: Frames) -> Messages:
    offsets = list(accumulate(frames.lengths, initial=start))
    end = offsets.pop()
    return Messages(start, end, frames.texts, offsets, frames.lengths, frames.flags)


def _run_of_several(start: int, senders: list[tuple[bytes | Connection, Frames]]) -> Messages:
    """Return the run of several senders' messages, each with its sender."""
    together = Frames()
    docs: list[Doc] = []
    for sender, frames in senders:
        first = len(together.texts)
        together.flags |= {first + index: flags for index, flags in frames.flags.items()}
        together.texts += frames.texts
        together.lengths += frames.lengths
        written = _log_source(sender)
        # Without a document, an empty message is dropped like any other.
        docs += [{"log": {"source": dict(written)}} if text else {} for text in frames.texts]
    messages = _run(start, together)
    messages.docs = docs
    return messages


def _log_source(sender: bytes | Connection) -> Doc:
    return sender.sender if isinstance(sender, Connection) else {"address": address_of(sender)}
