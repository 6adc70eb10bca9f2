"""What the group keeps beside an offset, as a text: of which topic the offset is, and where messages behind it end.

- *The topic*, by Kafka's id: one that is deleted and made again has the same name, but another id. An offset of the
  former may be committed after that, and means nothing in the new topic.
- *How many partitions* the topic had when the group began to read it: all records of one that was added later came
  after that, so it is read from the first one, also by a group that began at the end. 0: all of the topic came after.
- *Cuts*: a message that ended by time ends there in each reading, whichever member reads. A cut is in Kafka before its
  message is sent, and leaves with the position that passes it.

Another tool that commits leaves a text that is not ours, or none: then neither is known.
"""

import re
from dataclasses import dataclass, replace
from typing import Self

MAX_BYTES = 2048  # of a text: brokers take 4096, unless offset.metadata.max.bytes says otherwise
# The first number is that of the form.
_FORM = re.compile(r"shipper 1:(?: topic (\S+))?(?: of ([0-9]+))?(?: cuts ([0-9]+(?:,[0-9]+)*))?")


@dataclass(frozen=True, slots=True)
class OffsetMetadata:
    """`topic_id`: empty if it is not known. `partitions`: None if that is not known. `cuts`: ascending."""

    topic_id: str = ""
    partitions: int | None = None
    cuts: tuple[int, ...] = ()

    @classmethod
    def read(cls, text: str | None, offset: int) -> Self:
        """Return what a text says beside an offset, without the cuts that it has passed."""
        match = _FORM.fullmatch(text or "")
        if match is None:
            return cls()
        numbers = (match[3] or "").split(",")
        cuts = tuple(sorted({cut for number in numbers if number and (cut := int(number)) > offset}))
        return cls(match[1] or "", int(match[2]) if match[2] else None, cuts)

    def behind(self, position: int) -> Self:
        """Return what is left of it once the position is there."""
        return replace(self, cuts=tuple(cut for cut in self.cuts if cut > position))

    @property
    def text(self) -> str:
        """Return the text, which is empty if there is nothing to keep."""
        topic = f" topic {self.topic_id}" if self.topic_id else ""
        cuts = f" cuts {','.join(map(str, self.cuts))}" if self.cuts else ""
        partitions = f" of {self.partitions}" if self.partitions is not None else ""
        return f"shipper 1:{topic}{partitions}{cuts}" if topic or partitions or cuts else ""
