"""A call that blocks, on a thread of its own, so that the reading thread never waits for it."""

import threading
import traceback
from collections.abc import Callable


class Background:
    def __init__(self, call: Callable[[], None], name: str) -> None:
        self._call = call
        self._done = threading.Event()
        self._error: Exception | None = None
        # A daemon: Kafka's calls may block for a minute, and the process must be able to end before that.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """True if the call has ended, which is awaited for so many seconds."""
        return self._done.wait(timeout)

    @property
    def error(self) -> Exception | None:
        """Return what a call that has ended raised, if anything."""
        return self._error

    def check(self) -> None:
        """Raise the error of a call that has ended, if it raised one."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001  # raised where the call is awaited
            # The error is in a cycle with this object. A client that a frame holds would be ended by the garbage
            # collector, on any thread, and its end blocks.
            traceback.clear_frames(error.__traceback__)
            self._error = error
        self._call = _nothing
        self._done.set()


def _nothing() -> None:
    """The call that has ended."""
