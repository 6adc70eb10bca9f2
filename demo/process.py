"""Child processes that never outlive this one, unless they are meant to.

Each child is a session of its own, so that Ctrl-C at the terminal reaches only the parent, which then stops the
children in order. If the parent is killed before it can do that, the kernel kills them (`setpriv --pdeathsig`, part
of Debian's base system). It does so when the starting *thread* ends: start children from the main thread. A
child that is still in `setpriv` when its parent is killed survives.
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

    With `outlives` it keeps running when this process ends.
    """
    setpriv = None if outlives else shutil.which("setpriv")
    guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []  # it execs the command under the same process id
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
    """Send SIGTERM, and SIGKILL after `timeout` seconds. Returns the exit status, also if it has ended already."""
    process.send_signal(signal.SIGCONT)  # a frozen process would not handle SIGTERM
    process.terminate()
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own children that it did not end: the group has its process id


def kill_children() -> None:
    """Send SIGKILL to every child that is left: Spark interrupted while its JVM starts leaves no handle to that JVM."""
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            for child in map(int, children.read_text().split()):
                _kill(child)


def _kill(child: int) -> None:
    with suppress(ProcessLookupError, ChildProcessError):  # a Popen object may wait for it too
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def last_lines(log: Path, count: int = 15) -> str:
    """Return the end of a log file, to show why a process failed; empty if the file does not exist."""
    if not log.is_file():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
