"""The file of events that the output rejected: one JSON object a line, on disk before the event is resolved.

`message` is the text, and `event` has the members that parsers and processors added, if there are any. What all events
of the file share is left out: it follows from the path and the configuration.

A repeat is possible, as everywhere before an acknowledgement is saved: readers recognise it by file id and offset.
"""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from shipper.append_file import AppendFile
from shipper.clock import Clock
from shipper.event import DELETED, Batch, Rejection
from shipper.record import readable_path, timestamp
from shipper.text import dumps


class DeadLetter:
    def __init__(self, path: Path, clock: Clock, fsync: Callable[[int], None] = os.fsync) -> None:
        self.path = path
        self._clock = clock
        self._fsync = fsync

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Append and fsync. Raises OSError if the disk refuses; nothing of the batch may be resolved then."""
        lines = b"".join(self._line(batch, rejection) for rejection in rejected)
        # Opened each time: rejections are rare, and the person who handles them may move the file away.
        with closing(AppendFile(self.path, self._fsync)) as file:
            file.append(lines)
            file.sync()
            if not file.holds_all():
                raise OSError(errno.ESTALE, "it was renamed, removed or truncated at that moment", str(self.path))

    def _line(self, batch: Batch, rejection: Rejection) -> bytes:
        messages, source, index = batch.messages, batch.source, rejection.index
        letter = {
            "time": timestamp(self._clock.time()),
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
        return f"{dumps(letter)}\n".encode()
