"""Whether a .gz file holds certain bytes before a position: all before them must be decompressed, which takes seconds
for big files, so it is done on a thread of its own; zlib runs without the interpreter's lock.
"""

import os
import threading

from shipper.reader.gzip_file import tail_digest
from shipper.reader.log_file import TAIL_SIZE
from shipper.source.identity import digest

_ONE_AT_A_TIME = threading.Lock()  # who runs many would take all cores from what is to be shipped


def is_before(fd: int, position: int, tail_hash: str) -> bool:
    """Raises OSError."""
    tail = tail_digest(fd, position, TAIL_SIZE)
    return tail is not None and digest(tail) == tail_hash


class Comparison:
    """Begins at once, and is nobody's to wait for: an agent that is stopped does not."""

    def __init__(self, fd: int, position: int, tail_hash: str) -> None:
        """Raises OSError. The descriptor stays the caller's."""
        self._fd = os.dup(fd)
        self._result: bool | None = None
        self._error: OSError | None = None
        threading.Thread(target=self._run, args=(position, tail_hash), name="comparison", daemon=True).start()

    @property
    def result(self) -> bool | None:
        """None: not known yet. Raises OSError."""
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self, position: int, tail_hash: str) -> None:
        try:
            with _ONE_AT_A_TIME:
                self._result = is_before(self._fd, position, tail_hash)
        except OSError as error:
            self._error = error
        finally:
            os.close(self._fd)
