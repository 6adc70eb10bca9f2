"""What a program of its own does, because the settings are those of a process."""

import os
import subprocess
import sys

import pytest

from log_shipper.shipper.agent.memory import OPTIONS

BLOCKS = """
import resource, sys
from log_shipper.shipper.agent.memory import keep_freed_blocks
if sys.argv[1] == "kept":
    keep_freed_blocks()
for _ in range(200):
    blocks = [b"x" * 300_000 for _ in range(10)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def faults(how: str, **settings: str) -> int:
    environment = {name: value for name, value in os.environ.items() if name not in OPTIONS} | settings
    done = subprocess.run([sys.executable, "-c", BLOCKS, how], env=environment, capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(os.confstr("CS_GNU_LIBC_VERSION") is None, reason="only glibc is set up")
def test_memory_that_was_freed_is_used_again() -> None:
    assert faults("kept") < faults("given back") / 4


@pytest.mark.skipif(os.confstr("CS_GNU_LIBC_VERSION") is None, reason="only glibc is set up")
def test_settings_of_the_environment_stay() -> None:
    own = {"MALLOC_TRIM_THRESHOLD_": "131072"}
    assert faults("kept", **own) > faults("kept") * 4
