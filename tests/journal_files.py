"""Journal files of any content, which systemd-journal-remote makes of the export format. Debian has it in a package of
that name."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

REMOTE = shutil.which("systemd-journal-remote", path="/usr/lib/systemd:/lib/systemd")
FIRST_SECOND = 1_763_000_000
BOOT = "b0070000000000000000000000000001"
_FIELDS = """_MACHINE_ID=a6a19d57efcf4bf38705c63217a63ba3
_HOSTNAME=web-1
_TRANSPORT=journal
_UID=0
PRIORITY=6
"""


def write(path: Path, messages: Iterable[str], start: int = 0, boot: str = BOOT, unit: str = "app.service") -> None:
    """Write a journal with these messages, a millisecond apart. A large one becomes several files beside one another.
    `start`: the milliseconds of the first."""
    assert REMOTE is not None
    with subprocess.Popen(
        [REMOTE, f"--output={path}", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as remote:
        assert remote.stdin is not None
        for milliseconds, message in enumerate(messages, start):
            moment = f"{milliseconds}000"
            origin = f"_PID={milliseconds % 5000}\n_SYSTEMD_UNIT={unit}\n\n"
            time = (
                f"__REALTIME_TIMESTAMP={FIRST_SECOND * 10**6 + milliseconds * 1000}\n__MONOTONIC_TIMESTAMP={moment}\n"
            )
            remote.stdin.write(f"{time}_BOOT_ID={boot}\nMESSAGE={message}\n{_FIELDS}{origin}")
        _, words = remote.communicate()
    assert remote.returncode == 0, words
