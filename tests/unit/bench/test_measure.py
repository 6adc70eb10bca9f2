"""The CPU time of a process is exact, where the kernel's file would count in hundredths of a second."""

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
before = time = cpu_seconds(os.getpid())
assert time >= 0.3, time
child.communicate("\\n")
time = cpu_seconds(os.getpid())
assert time >= before - 0.02, (before, time)  # that of ended children is counted in hundredths, user and system apart
"""


@pytest.mark.parametrize("program", [OWN, CHILD], ids=["its own", "that of a child, while it runs and afterwards"])
def test_the_cpu_time_of_a_process_is_counted(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
