"""Recognises batches that are put again although they are on disk, or were delivered from there.

A batch is on disk before its source's position is, so a process killed in between reads it again. At-least-once allows
that; with `delivery: exactly_once`, its messages are dropped by file id and offset. The data of a file on disk has no
gaps, because its batches are put in file order.

The segments may be removed before such a file is read again. So the end of each file is also kept in the queue's
registry entry (`text`), until the file's own entry has reached it.
"""

import json
from collections.abc import Callable

from log_shipper.shipper.event import Batch


class Repeats:
    def __init__(self, text: str = "") -> None:
        """`text`: of an earlier process."""
        self._ends: dict[str, int] = json.loads(text) if text else {}  # by file id
        self.text = text

    def note(self, file_id: str, end: int) -> None:
        """Note that the file is on disk up to this offset."""
        self._ends[file_id] = max(end, self._ends.get(file_id, 0))

    def keep(self, position_of: Callable[[str], int | None]) -> None:
        """Keep only files whose registry position is before their end; `position_of` returns None for an unknown
        file."""
        for file_id, end in list(self._ends.items()):
            position = position_of(file_id)
            if position is None or position >= end:
                del self._ends[file_id]
        self._changed()

    def without_known(self, batch: Batch) -> Batch | None:
        """Return the part of the batch that is not on disk; None if all is, and the batch is then resolved."""
        if not self._ends:
            return batch
        file_id, messages = batch.source.file_id, batch.messages
        end = self._ends.get(file_id)
        if end is None:
            return batch
        if messages.end < end:
            batch.resolve()
            return None
        resolve = batch.resolve

        def forget() -> None:
            resolve()
            if self._ends.pop(file_id, None) is not None:
                self._changed()

        if messages.end == end:
            forget()
            return None
        if messages.start < end:
            batch = batch.part([index for index, offset in enumerate(messages.offsets) if offset >= end])
        batch.resolve = forget  # the file's entry is saved before the queue's
        return batch

    def _changed(self) -> None:
        self.text = json.dumps(self._ends, separators=(",", ":")) if self._ends else ""
