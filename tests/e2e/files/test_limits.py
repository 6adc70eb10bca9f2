"""Limits of the system: inotify instances, and open files."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true, expect_soon

FEW_DESCRIPTORS = ("prlimit", "--nofile=256:256")
INOTIFY_USER = 54321  # an unused id: its inotify instances are counted separately


@contextmanager
def no_inotify_left(user: int) -> Iterator[None]:
    """Take all of the user's instances; the limit is per user, so another process can take them."""
    take = (
        "import ctypes, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "while libc.inotify_init() >= 0: pass\n"
        "print('taken', flush=True)\n"
        "sys.stdin.read()\n"
    )
    taker = subprocess.Popen(
        ["setpriv", f"--reuid={user}", sys.executable, "-c", take], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert taker.stdout is not None
        assert taker.stdout.readline() == b"taken\n"
        yield
    finally:
        taker.communicate(b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root may")
def test_without_inotify_that_is_logged_once_and_a_line_arrives_within_a_scan(agent: LocalAgent) -> None:
    keep = "+dac_override,+dac_read_search"
    before = ("setpriv", f"--reuid={INOTIFY_USER}", f"--inh-caps={keep}", f"--ambient-caps={keep}")
    agent.configure([f"{agent.logs}/*.log*"], **{"prospector.scanner.check_interval": "300ms"})
    with no_inotify_left(INOTIFY_USER):
        agent.append("one")
        agent.start("--strict.perms=false", before=before)
        agent.await_messages("one")
        lines = iter(map(str, range(100)))
        files = iter(agent.logs / f"new-{number}.log" for number in range(100))

        def append(path: Path) -> float:
            time.sleep(0.1)
            line = next(lines)
            began = time.monotonic()
            agent.append(line, path=path)
            agent.await_messages(line)
            return time.monotonic() - began

        expect_soon(2.5, lambda: append(agent.path))
        expect_soon(2.5, lambda: append(next(files)))
        assert agent.log.count("max_user_instances") == 1
        agent.expect(*agent.messages)


def test_a_thousand_files_arrive_although_only_256_may_be_open(agent: LocalAgent) -> None:
    expected = []
    for number in range(1000):
        agent.append(f"line {number}", path=agent.logs / f"{number:04}.log")
        expected.append(f"line {number}")
    agent.start(before=FEW_DESCRIPTORS)
    agent.await_messages(*expected, timeout=60)
    open_files = len(os.listdir(f"/proc/{agent.process.pid}/fd"))
    assert open_files <= 256
    assert 0 < resident_bytes(agent.process.pid) < 150 * 2**20
    await_true(lambda: load_of(agent.process.pid, 1.5) < 0.2, "it no longer opens and closes files")
    agent.append("later", path=agent.logs / "0000.log")
    agent.expect(*expected, "later")


def test_three_thousand_files_arrive_in_their_order_with_256_descriptors_and_little_memory(agent: LocalAgent) -> None:
    now, expected = time.time(), []
    for number in range(3000):
        path = agent.logs / f"{(number * 7919) % 3000:04}.log"
        path.write_text(f"{number}\nand its last line")
        os.utime(path, (now - 10_000 + number,) * 2)
        expected += [f"{number}", "and its last line"]
    agent.start("--once", before=FEW_DESCRIPTORS)
    peak = 0
    while agent.process.poll() is None:
        peak = max(peak, resident_bytes(agent.process.pid))
        time.sleep(0.02)
    assert agent.wait() == 0
    assert agent.all == expected
    assert 0 < peak < 150 * 2**20


def resident_bytes(pid: int) -> int:
    """Return 0 if the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def load_of(pid: int, seconds: float) -> float:
    """Return how much of a processor the process takes."""
    began, before = time.monotonic(), cpu_seconds(pid)
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
