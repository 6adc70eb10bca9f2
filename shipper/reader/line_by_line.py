"""Lines one by one, where it matters on which line a message ends."""

from collections.abc import Iterator

from shipper.event import Messages
from shipper.reader.base import Reader
from shipper.reader.line import BYTE_ORDER_MARK
from shipper.reader.log_file import LogFile


class LineByLineReader:
    """While reading continues in the successor of a file, each line is a run of its own: so the readers that follow
    show as soon as a line ends the message that it has ended. The message may then be dropped, and nothing but the end
    of the run shows where it ended. Everywhere else runs pass as they are."""

    def __init__(self, reader: Reader, file: LogFile) -> None:
        self._reader = reader
        self._file = file
        self._waiting: Iterator[Messages] = iter(())

    pending_since: float | None = None

    def next(self) -> Messages | None:
        start = self._file.goes_on_at
        if start is None:
            return self._reader.next()
        line = next(self._waiting, None)
        if line is None:
            lines = self._reader.next()
            if lines is None:
                return None
            if lines.offsets[:1] == [start]:  # each file has a byte order mark of its own
                lines.texts[0] = lines.texts[0].removeprefix(BYTE_ORDER_MARK)
            self._waiting = lines.pieces(lines.offsets[1:])
            line = next(self._waiting)
        return line

    def finish(self) -> Messages | None:
        return self._reader.finish()
