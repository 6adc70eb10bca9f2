"""A blocking call on a separate thread, so that the reading thread never waits for it."""

import threading
import traceback
from collections.abc import Callable


class Background:
    def __init__(self, call: Callable[[], None], name: str) -> None:
        self._call = call
        self._done = threading.Event()
        self._error: Exception | None = None
        # A daemon: Kafka's calls may block for a minute, and the process must be able to end earlier.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the call; return whether it has ended."""
        return self._done.wait(timeout)

    @property
    def error(self) -> Exception | None:
        """Return the exception of an ended call, if any."""
        return self._error

    def check(self) -> None:
        """Raise the exception of an ended call, if any."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001  # raised by `check`
            # The error and this object form a cycle. A client held by a frame would be destroyed by the garbage
            # collector, on any thread, and its destruction blocks.
            traceback.clear_frames(error.__traceback__)
            self._error = error
        self._call = _nothing
        self._done.set()


def _nothing() -> None:
    """Do nothing, in place of the ended call."""
