"""A journalctl does not outlive the agent."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

from log_shipper.shipper.inputs.journald.child import Child

PARENT = """
import time
from log_shipper.shipper.inputs.journald.child import Child
print(Child(["sleep", "60"]).pid, flush=True)
time.sleep(60)
"""


def test_a_child_is_killed_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=os.environ)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < deadline:
        os.sched_yield()
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"  # init reaps it in time
    except OSError:
        return False


def test_what_it_writes_is_read_without_waiting() -> None:
    child = Child(["sh", "-c", "echo failed >&2; echo more >&2; read x"])
    assert select.select([child.output], [], [], 30)[0]  # its output has ended, and so has it, in a moment
    assert child.exit_code() == 1
    assert child.words() == "failed / more"
    assert child.read() == b""
    assert child.end() == 1


def test_its_words_are_english() -> None:
    child = Child(["sh", "-c", "echo $LC_ALL"])
    assert select.select([child.output], [], [], 30)[0]
    assert child.read() == b"C\n"
    child.end()
