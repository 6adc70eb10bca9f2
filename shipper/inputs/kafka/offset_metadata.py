"""Encode the metadata that the group keeps beside an offset: the topic, its partitions, and the ends of messages after
it.

- *The topic*, by Kafka's id: a re-created topic has the same name, but another id. An offset of the old one may be
  committed after that, and means nothing in the new one.
- *How many partitions* the topic had when the group began to read it: a partition added later is read from its first
  record, also by a group that began at the end. 0: the whole topic is newer.
- *Cuts*: a message that was ended by time ends there in each reading, whichever member reads. A cut is in Kafka before
  its message is sent, and is removed by the position that passes it.

The text of another tool, or none, says nothing.
"""

import re
from dataclasses import dataclass, replace
from typing import Self

MAX_BYTES = 2048  # of a text: brokers take 4096, unless offset.metadata.max.bytes differs
# The first number is the version of the format.
_FORM = re.compile(r"shipper 1:(?: topic (\S+))?(?: of ([0-9]+))?(?: cuts ([0-9]+(?:,[0-9]+)*))?")


@dataclass(frozen=True, slots=True)
class OffsetMetadata:
    """The metadata of an offset. `topic_id`: empty if unknown. `partitions`: None if unknown. `cuts`: ascending."""

    topic_id: str = ""
    partitions: int | None = None
    cuts: tuple[int, ...] = ()

    @classmethod
    def read(cls, text: str | None, offset: int) -> Self:
        """Return the metadata in a text beside an offset, without the cuts before it."""
        match = _FORM.fullmatch(text or "")
        if match is None:
            return cls()
        numbers = (match[3] or "").split(",")
        cuts = tuple(sorted({cut for number in numbers if number and (cut := int(number)) > offset}))
        return cls(match[1] or "", int(match[2]) if match[2] else None, cuts)

    def behind(self, position: int) -> Self:
        """Return the metadata for a new position, without the cuts before it."""
        return replace(self, cuts=tuple(cut for cut in self.cuts if cut > position))

    @property
    def text(self) -> str:
        """Return the text, which is empty if there is nothing to keep."""
        topic = f" topic {self.topic_id}" if self.topic_id else ""
        cuts = f" cuts {','.join(map(str, self.cuts))}" if self.cuts else ""
        partitions = f" of {self.partitions}" if self.partitions is not None else ""
        return f"shipper 1:{topic}{partitions}{cuts}" if topic or partitions or cuts else ""
