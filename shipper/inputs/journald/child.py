"""Run a journalctl as a child process that never outlives the agent, with reads that never block."""

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
from collections.abc import Callable, Sequence

PIPE_BYTES = 1024**2  # so that journalctl continues while the agent does something else
_READ = 128 * 1024
_PR_SET_PDEATHSIG = 1
_STDERR_BYTES = 4096
_REAP_SECONDS = 1.0

_prctl = ctypes.CDLL(None).prctl  # loaded here: after a fork nothing may be loaded


def _prepare(parent: int, chroot: str) -> Callable[[], None]:
    def in_child() -> None:
        # Without this, a journalctl that waits for entries would outlive an agent that was killed.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        if chroot:
            os.chroot(chroot)
            os.chdir("/")

    return in_child


class Child:
    """The child process. Used by the reading thread only, which must be the process's main thread: the kernel kills the
    child when the thread that started it ends."""

    def __init__(self, command: Sequence[str], chroot: str = "") -> None:
        """Start the process. Raises OSError, subprocess.SubprocessError."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=os.environ | {"LC_ALL": "C"},  # its messages are matched
            process_group=0,  # a Ctrl-C is for the agent, which keeps reading until it stops
            preexec_fn=_prepare(os.getpid(), chroot),  # it takes no locks
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.output = self._process.stdout.fileno()
        self.errors = self._process.stderr.fileno()
        for fd in (self.output, self.errors):
            os.set_blocking(fd, False)
        with contextlib.suppress(OSError):  # beyond the limit of the user's pipes
            fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    @property
    def pid(self) -> int:
        return self._process.pid

    def read(self) -> bytes | None:
        """Return some output; empty at its end, None if there is none for now."""
        try:
            return os.read(self.output, _READ)
        except BlockingIOError:
            return None

    def words(self) -> str | None:
        """Return its standard error since the last call, as one line; None at its end."""
        try:
            text = os.read(self.errors, _STDERR_BYTES)
        except BlockingIOError:
            return ""
        if not text:
            return None
        return " / ".join(text.decode("utf-8", "replace").split("\n")).strip(" /")

    def end(self) -> int | None:
        """Kill it if it still runs. Return its exit code, negative for a signal; None if it is unknown yet."""
        if self._process.poll() is None:
            self._process.kill()
        try:
            return self._process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:  # it hangs in the disk; Popen reaps it later
            return None
        finally:
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()

    def exit_code(self) -> int | None:
        """Return its exit code if it exits within a moment, as it does once its output has ended."""
        try:
            return self._process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            return None


def end_in_words(code: int | None) -> str:
    """Describe how the process ended. `code`: None if it closed its output without exiting."""
    if code is None:
        return "closed its output without exiting and was killed"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # of realtime signals only the first and the last have names
        return f"was killed by signal {-code}"
