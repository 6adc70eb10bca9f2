"""What was put again although it is on disk.

A batch is on disk before its source's position is, so a process that is killed in between reads it again. That is what
at-least-once allows; with `delivery: exactly_once` its messages are left out, by their names: file id and offset. What
is on disk of a file then has no gaps: its batches are put in the order of the file.
"""

from shipper.event import Batch


class Repeats:
    def __init__(self) -> None:
        self._ends: dict[str, int] = {}  # of what is on disk, by file id

    def note(self, file_id: str, end: int) -> None:
        """Note that the file is on disk up to this place."""
        self._ends[file_id] = max(end, self._ends.get(file_id, 0))

    def without_known(self, batch: Batch) -> Batch | None:
        """Return what of the batch is not on disk; None if all is."""
        if not self._ends:
            return batch
        file_id, messages = batch.source.file_id, batch.messages
        end = self._ends.get(file_id)
        if end is None:
            return batch
        if messages.end <= end:
            return None
        del self._ends[file_id]
        if messages.start >= end:
            return batch
        return batch.part([index for index, offset in enumerate(messages.offsets) if offset >= end])
