"""The contract of a reader. Each one wraps the next, and hands over runs of messages instead of single ones."""

from typing import Protocol

from shipper.event import Messages


class Reader(Protocol):
    """Called by the one reading thread; never blocks beyond a read of a local file; raises OSError from that read."""

    def next(self) -> Messages | None:
        """The next run, or None when the file has nothing more for now.

        Runs join: each starts where the one before ended, and covers every raw byte, dropped and cut ones included.
        A run may be without messages: then all its bytes were dropped or belong to a message still under way, in
        which case `end` stays before that message.
        """

    def finish(self) -> Messages | None:
        """End the message under way although its end was not read, because it took too long to come. None when
        there is none. A line without terminator is not a message yet, and stays."""

    @property
    def pending_since(self) -> float | None:
        """Monotonic time of the last line of a message under way that a timeout may end; None without one."""
