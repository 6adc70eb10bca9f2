"""Child processes that never outlive this one, unless they are meant to.

Each child is a session of its own, so that Ctrl-C at the terminal reaches only the parent, which then stops the
children in order. Should the parent be killed and never get to that, the kernel kills them (`setpriv --pdeathsig`, part
of Debian's base system). It does so when the starting *thread* ends: start children from the main thread. One that is
still on its way through `setpriv` when its parent is killed gets away.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def spawn(
    command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None, outlives: bool = False
) -> subprocess.Popen[bytes]:
    """Start `command` with both outputs appended to the file `log`. Raises OSError when it cannot be started.

    With `outlives` it is one to be left running, and the kernel does nothing.
    """
    setpriv = None if outlives else shutil.which("setpriv")
    guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []  # it execs the command, and the process id stays
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
    """Ask with SIGTERM, after `timeout` seconds kill; returns the exit status. Also for one that has ended already."""
    process.send_signal(signal.SIGCONT)  # a frozen process would not hear SIGTERM
    process.terminate()
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it started and did not end: its group has its number


def kill_children() -> None:
    """SIGKILL to every child that is left: Spark tells nobody of its JVM when it is interrupted while that starts."""
    for children in Path("/proc/self/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):  # a Popen object may wait for it too
                os.waitpid(child, 0)


def last_lines(log: Path, count: int = 15) -> str:
    """The end of a log file, to show why a process failed; empty when there is no such file."""
    if not log.is_file():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
