"""Child processes that end with this one, unless started with `outlives`.

Each child has its own session: Ctrl-C at the terminal reaches only the parent, which then stops the children in order.
If the parent is killed, the kernel kills the children (`setpriv --pdeathsig`, in Debian's base system). It does so when
the starting *thread* ends: start children from the main thread. A child still in `setpriv` at that time survives.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# The programs of this checkout, as commands without arguments.
SHIPPER_PROGRAM = (sys.executable, "-m", "log_shipper.shipper")
SINK_PROGRAM = (sys.executable, "-m", "log_shipper.spark_sink")


def spawn(
    command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None, outlives: bool = False
) -> subprocess.Popen[bytes]:
    """Start `command` with both outputs appended to the file `log`. Raises OSError if it cannot be started.

    With `outlives`, it keeps running after this process.
    """
    setpriv = None if outlives else shutil.which("setpriv")
    guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []  # execs the command, with the same process id
    with log.open("ab") as output:
        return subprocess.Popen(
            [*guard, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=env,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes], timeout: float) -> int:
    """Send SIGTERM, and SIGKILL after `timeout` seconds. Return the exit status, also of a process that has exited."""
    process.send_signal(signal.SIGCONT)  # a frozen process would not handle SIGTERM
    process.terminate()
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # children that it left behind: the group has its process id


def kill_children() -> None:
    """Send SIGKILL to all remaining children: a JVM that Spark was starting at an interrupt has no handle."""
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            for child in map(int, children.read_text().split()):
                _kill(child)


def _kill(child: int) -> None:
    with suppress(ProcessLookupError, ChildProcessError):  # a Popen object may wait for it too
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def last_lines(log: Path, count: int = 15) -> str:
    """Return the last lines of a log file; empty if it does not exist."""
    if not log.is_file():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
