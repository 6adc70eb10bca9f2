"""A dead letter: a rejected event as a JSON object, with all that is needed to send it again.

`message` is the text; `event` has the members added by parsers and processors, and `constants` those shared by all
events of the file. `read` is the time of reading, the `@timestamp` of a record without its own time. A letter that was
resent and rejected again has `instead_of`, the id of its predecessor.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import orjson

from log_shipper.shipper.event import DELETED, Batch, Constants, Doc, Messages, Rejection, Source
from log_shipper.shipper.formats.record import readable_path, timestamp
from log_shipper.shipper.formats.text import dumps

HALF_A_MILLISECOND = 0.0005  # without it a number of seconds could round to the previous millisecond


def written(batch: Batch, rejection: Rejection, now: float) -> bytes:
    """Return the letter as a line; `now` is unix seconds."""
    messages, source, index = batch.messages, batch.source, rejection.index
    letter = {
        "time": timestamp(now),
        "reason": rejection.reason,
        "topic": rejection.topic,
        "file_id": source.file_id,
        "path": readable_path(source.path),
        "offset": messages.offsets[index],
        "length": messages.lengths[index],
        "message": messages.texts[index],
    }
    event = messages.docs[index] if messages.docs else {}
    if members := {name: value for name, value in event.items() if value is not DELETED}:
        letter["event"] = members
    if deleted := [name for name, value in event.items() if value is DELETED]:
        letter["deleted"] = deleted
    if flags := messages.flags.get(index):
        letter["flags"] = flags
    if source.letter:
        letter["instead_of"] = source.letter
    letter |= {"read": timestamp(batch.time), "constants": batch.constants.members}
    return f"{dumps(letter)}\n".encode()


@dataclass(frozen=True, slots=True)
class Letter:
    """A decoded letter. `event` has the members that shadow those of `constants`, including DELETED ones."""

    time: str
    reason: str
    topic: str
    file_id: str
    path: str
    offset: int
    length: int
    message: str
    event: Doc
    flags: tuple[str, ...]
    read: float
    constants: Doc
    inode: int
    device: int
    instead_of: str = ""

    @classmethod
    def parsed(cls, line: bytes) -> Letter:
        """Return the letter of a line. Raises ValueError."""
        try:
            values = orjson.loads(line)
            event = values.get("event", {}) | dict.fromkeys(values.get("deleted", ()), DELETED)
            file = values["constants"]["log"]["file"]  # a processor may have removed all but the id
            return cls(
                values["time"],
                values["reason"],
                values["topic"],
                values["file_id"],
                values["path"],
                int(values["offset"]),
                int(values["length"]),
                values["message"],
                event,
                tuple(values.get("flags", ())),
                datetime.fromisoformat(values["read"]).timestamp() + HALF_A_MILLISECOND,
                values["constants"],
                int(file.get("inode", 0)),
                int(file.get("device_id", 0)),
                str(values.get("instead_of", "")),
            )
        except KeyError as error:
            raise ValueError(f"this release cannot read it as a dead letter (lacks {error})") from error
        except (AttributeError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"this release cannot read it as a dead letter ({error})") from error

    def batch(self, resolve: Callable[[], None]) -> Batch:
        """Return the event as a batch, which becomes the original record."""
        origin = self.constants.get("input")
        origin = origin if isinstance(origin, dict) else {}
        constants = Constants(self.constants)
        messages = Messages(self.offset, self.offset + self.length)
        messages.append(self.message, self.offset, self.length, self.flags)
        if self.event:
            messages.docs = [self.event]
        source = Source(
            file_id=self.file_id,
            path=self.path,
            inode=self.inode,
            device=self.device,
            input_id=str(origin.get("id", "")),
            input_type=str(origin.get("type", "")),
            constants=constants,
        )
        return Batch(source, messages, self.read, resolve)
