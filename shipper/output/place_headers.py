"""The headers of records whose payload is a text: what JSON records have of the event's place, and the sink lands by.

log.file.id, log.offset, log.length    where the event is: together with host.name they identify it
@timestamp, log.file.path, host.name   as in JSON records
log.flags                              joined by commas, only where there are any
log.part                               of an event that was split: 2/3 is the second of three
"""

from typing import Any
from weakref import WeakKeyDictionary

from log_shipper.shipper.event import DELETED, SPLIT, Batch, Constants, Doc
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.formats.text import dumps, without_surrogates

Headers = list[tuple[str, str]]

# Per record: the names, offset and length of at most 20 digits each, the time and the flags.
_OF_EVENT = 256


class PlaceHeaders:
    """Caches the headers that all events of a file share."""

    def __init__(self) -> None:
        self._shared: WeakKeyDictionary[Constants, Headers] = WeakKeyDictionary()

    def size(self, batch: Batch) -> int:
        """Return the maximum bytes of an event's headers, unless a processor made its host or path longer."""
        return _OF_EVENT + sum(len(value.encode()) for _, value in self._shared_by(batch.constants))

    def __call__(self, batch: Batch) -> list[Headers]:
        """Return the headers of each event, in order."""
        messages, time = batch.messages, timestamp(batch.time)
        shared = self._shared_by(batch.constants)
        made = [
            [*shared, ("log.offset", str(offset)), ("log.length", str(length)), ("@timestamp", time)]
            for offset, length in zip(messages.offsets, messages.lengths, strict=True)
        ]
        for index, doc in enumerate(messages.docs or ()):
            if "@timestamp" in doc:
                made[index][-1] = ("@timestamp", doc["@timestamp"])
            if "host" in doc or "log" in doc:
                made[index][: len(shared)] = _of_members(_with_own(batch.constants.members, doc))
        for index, flags in messages.flags.items():
            made[index].append(("log.flags", ",".join(flags)))
            part = messages.docs[index].get("log", {}).get("part") if SPLIT in flags and messages.docs else None
            if isinstance(part, dict) and part.keys() == {"number", "count"}:  # otherwise a field of the event itself
                made[index].append(("log.part", f"{_text(part['number'])}/{_text(part['count'])}"))
        return made

    def _shared_by(self, constants: Constants) -> Headers:
        headers = self._shared.get(constants)
        if headers is None:
            headers = self._shared[constants] = _of_members(constants.members)
        return headers


def _with_own(shared: Doc, doc: Doc) -> Doc:
    log = {**shared["log"], **doc.get("log", {})}
    return {"log": log, "host": doc.get("host", shared.get("host"))}


def _of_members(members: Doc) -> Headers:
    file, host = members["log"]["file"], members.get("host")
    values = {
        "log.file.id": file["id"],
        "log.file.path": file.get("path"),
        "host.name": host.get("name") if isinstance(host, dict) else None,
    }
    return [(name, _text(value)) for name, value in values.items() if value is not None and value is not DELETED]


def _text(value: Any) -> str:
    return without_surrogates(value) if isinstance(value, str) else dumps(value)
