"""A program in a real pseudo-terminal, and what is seen on its screen."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from types import TracebackType
from typing import Self

import pyte

from demo.process import SHIPPER_PROGRAM
from tests.e2e.running import REPOSITORY

PATIENCE = 20.0


class Terminal:
    """Runs `shipper` with these arguments. `screen`: what a person sees, line by line."""

    def __init__(self, arguments: list[str], width: int, height: int, **environ: str) -> None:
        self._screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = os.openpty()
        self._set_size(width, height)
        command = [*SHIPPER_PROGRAM, *arguments]
        settings = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environ}
        self.process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=settings,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,  # or no resize would be signalled
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def colours(self) -> set[str]:
        return {cell.fg for row in self._screen.buffer.values() for cell in row.values()}

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, width: int, height: int) -> None:
        self._screen.resize(height, width)
        self._set_size(width, height)

    def _set_size(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def await_screen(self, *texts: str, without: str = "\0") -> None:
        """Wait until all of these texts are on the screen, and the other one is not."""
        deadline = time.monotonic() + PATIENCE
        while not all(text in self.screen for text in texts) or without in self.screen:
            assert time.monotonic() < deadline, f"not on the screen: {texts}, or on it: {without!r}\n{self.screen}"
            self._read(0.1)

    def _read(self, timeout: float) -> None:
        if select.select([self._master], [], [], timeout)[0]:
            try:
                self._stream.feed(os.read(self._master, 65_536))
            except OSError:  # the program has ended, and its last output was read
                return

    def await_end(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end:\n{self.screen}"
            self._read(0.1)
        return self.process.returncode

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    @property
    def echoes(self) -> bool:
        """True if what is typed is seen, and read line by line, as a shell expects it."""
        modes = termios.tcgetattr(self._master)[3]
        return bool(modes & termios.ECHO and modes & termios.ICANON)
