"""Where events go that the output will never take: one JSON object a line, on disk before the event is resolved.

`message` is the text, and `event` what parsers and processors found beside it, where there is something. What all
events of the file share is left out: it follows from the path and the configuration.

A repeat is possible, like everywhere before an acknowledgement is saved: a reader goes by file id and offset.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from registry.files import DiskFile, DiskFiles, write_all
from shipper.clock import Clock
from shipper.event import GONE, Batch, Rejection
from shipper.output.encode import dumps
from shipper.record import readable_path, timestamp


class DeadLetter:
    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock

    def write(self, batch: Batch, topic: str, rejected: Sequence[Rejection]) -> None:
        """Append and fsync. Raises OSError when the disk refuses: then nothing of the batch may be resolved."""
        lines = b"".join(self._line(batch, topic, rejection) for rejection in rejected)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            try:
                write_all(DiskFile(fd), lines if _ends_whole(fd, size) else b"\n" + lines)
                os.fsync(fd)
            except OSError:
                os.ftruncate(fd, size)  # a half line would damage the next one
                raise
        finally:
            os.close(fd)
        # Each time: a file that a killed run made new may not be in its directory for good yet. Rejections are rare.
        DiskFiles().fsync_dir(self.path.parent)

    def _line(self, batch: Batch, topic: str, rejection: Rejection) -> bytes:
        messages, source, index = batch.messages, batch.source, rejection.index
        letter = {
            "time": timestamp(self._clock.time()),
            "reason": rejection.reason,
            "topic": topic,
            "file_id": source.file_id,
            "path": readable_path(source.path),
            "offset": messages.offsets[index],
            "length": messages.lengths[index],
            "message": messages.texts[index],
        }
        event = messages.docs[index] if messages.docs else {}
        if members := {name: value for name, value in event.items() if value is not GONE}:
            letter["event"] = members
        return f"{dumps(letter)}\n".encode()


def _ends_whole(fd: int, size: int) -> bool:
    """Whether the last line has its end: a power failure in the middle of a write may have left a part of one."""
    return size == 0 or os.pread(fd, 1, size - 1) == b"\n"
