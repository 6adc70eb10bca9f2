"""The CPU time of a process is exact, where the kernel's file counts in hundredths of a second. Its memory is its own,
where the kernel counts that of the process that started it."""

import subprocess
import sys

import pytest

OWN = """
import os, time
from bench.measure import cpu_seconds
before = time.process_time()
used = cpu_seconds(os.getpid())
assert before <= used <= time.process_time(), used
"""
BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
CHILD = f"""
import os, subprocess, sys
from bench.measure import cpu_seconds
child = subprocess.Popen([sys.executable, "-c", {BUSY!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child.stdout.readline()
before = cpu_seconds(os.getpid())
assert before >= 0.3, before
child.communicate("\\n")
after = cpu_seconds(os.getpid())
assert after >= before - 0.02, (before, after)  # that of ended children is counted in hundredths, user and system apart
"""


@pytest.mark.parametrize("program", [OWN, CHILD], ids=["its own", "that of a child, while it runs and afterwards"])
def test_the_cpu_time_of_a_process_is_counted(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


LARGE_PARENT = """
import sys
from pathlib import Path
from bench.measure import Child
ballast = b"x" * 300_000_000
child = Child(["sleep", "600"], Path("/dev/null"))
assert 0 < child.end().memory_mb < 100
"""


def test_the_memory_of_a_process_is_not_that_of_its_parent() -> None:
    subprocess.run([sys.executable, "-c", LARGE_PARENT], check=True)
