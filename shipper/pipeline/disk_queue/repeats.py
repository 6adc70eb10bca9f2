"""What was put again although it is on disk, or was delivered from there.

A batch is on disk before its source's position is, so a process that is killed in between reads it again. That is what
at-least-once allows; with `delivery: exactly_once` its messages are left out, by their names: file id and offset. What
is on disk of a file then has no gaps: its batches are put in the order of the file.

The segments may be removed before such a file is read again. So where each ends is kept in the queue's entry in the
registry too (`text`), until the file's own entry is as far.
"""

import json
from collections.abc import Callable

from log_shipper.shipper.event import Batch


class Repeats:
    def __init__(self, text: str = "") -> None:
        """`text`: of an earlier one."""
        self._ends: dict[str, int] = json.loads(text) if text else {}  # of what is on disk, by file id
        self.text = text

    def note(self, file_id: str, end: int) -> None:
        """Note that the file is on disk up to this place."""
        self._ends[file_id] = max(end, self._ends.get(file_id, 0))

    def keep(self, position_of: Callable[[str], int | None]) -> None:
        """Keep files whose position in the registry is before their end; `position_of` returns None for one that is
        not in there."""
        for file_id, end in list(self._ends.items()):
            position = position_of(file_id)
            if position is None or position >= end:
                del self._ends[file_id]
        self._changed()

    def without_known(self, batch: Batch) -> Batch | None:
        """Return what of the batch is not on disk; None if all is, and then it is resolved."""
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
        batch.resolve = forget  # the file's entry is noted before the queue's
        return batch

    def _changed(self) -> None:
        self.text = json.dumps(self._ends, separators=(",", ":")) if self._ends else ""
