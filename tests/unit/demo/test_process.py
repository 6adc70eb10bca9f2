"""Real processes: what they do when they are ended, and when we are."""

import os
import select
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from demo.keep import how_to_look, write_scripts
from demo.process import end, last_lines, spawn
from demo.programs import DemoFailed, Programs
from demo.site import Site

ROOT = Path(__file__).parents[3]
FOREVER = ["sleep", "600"]
SQL = ("SELECT max(ts) FROM lines", "SELEC max(ts) FROM lines")


def ended(pid: int, seconds: float = 60) -> bool:
    """Wait for the end of a process that need not be a child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(descriptor):
        return bool(select.select([descriptor], [], [], seconds)[0])


def test_output_goes_to_the_log_and_the_status_comes_back(tmp_path: Path) -> None:
    process = spawn(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path / "log")
    assert process.wait() == 3
    assert last_lines(tmp_path / "log") == "one\ntwo"
    assert last_lines(tmp_path / "log", 1) == "two"


def test_last_lines_of_no_file_are_none(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "log") == ""


def test_end_asks_first(tmp_path: Path) -> None:
    process = spawn(FOREVER, tmp_path / "log")
    assert end(process, timeout=60) == -signal.SIGTERM


def test_end_kills_what_does_not_listen(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    process = spawn(["sh", "-c", f"trap '' TERM; echo >{ready}; exec sleep 600"], tmp_path / "log")
    ready.read_text()
    assert end(process, timeout=0.2) == -signal.SIGKILL


def test_end_reaches_a_frozen_process(tmp_path: Path) -> None:
    process = spawn(FOREVER, tmp_path / "log")
    process.send_signal(signal.SIGSTOP)
    assert end(process, timeout=60) == -signal.SIGTERM


def test_end_of_one_that_has_ended_gives_its_status(tmp_path: Path) -> None:
    process = spawn(["sh", "-c", "exit 3"], tmp_path / "log")
    process.wait()
    assert end(process, timeout=60) == 3


@pytest.mark.parametrize(("outlives", "killed"), [(False, True), (True, False)])
def test_a_child_dies_with_its_killed_parent_unless_it_is_to_outlive_it(
    tmp_path: Path, outlives: bool, killed: bool
) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    parent = (
        "import os, sys; from pathlib import Path; from demo.process import spawn;"
        "ready, log = map(Path, sys.argv[1:]);"
        f"child = spawn(['sh', '-c', 'echo >' + str(ready) + '; exec sleep 600'], log, outlives={outlives});"
        "print(child.pid, flush=True); ready.read_text(); os.kill(os.getpid(), 9)"
    )
    command = [sys.executable, "-c", parent, str(ready), str(tmp_path / "log")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    child = int(done.stdout)
    assert ended(child, 60 if killed else 0.2) == killed
    if not killed:
        os.kill(child, signal.SIGKILL)


def test_children_without_a_handle_are_killed_too(tmp_path: Path) -> None:
    parent = (
        "import subprocess; from demo.process import kill_children;"
        "print(subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL).pid); kill_children()"
    )
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ended(int(done.stdout), 0)


def test_a_program_that_ends_by_itself_is_reported_with_its_output(tmp_path: Path) -> None:
    programs = Programs(Site(tmp_path), outlive=False)
    programs.start("sink", ["sh", "-c", "echo no such table; exit 4"])
    os.waitid(os.P_PID, programs.pids[0], os.WEXITED | os.WNOWAIT)
    with pytest.raises(DemoFailed, match=r"(?s)the sink exited unexpectedly with status 4.*no such table"):
        programs.check()


def test_a_program_that_does_not_stop_cleanly_is_a_failure(tmp_path: Path) -> None:
    programs = Programs(Site(tmp_path), outlive=False)
    programs.start("shipper", FOREVER)
    with pytest.raises(DemoFailed, match="exited with status -15 after SIGTERM"):
        programs.end("shipper")


def test_end_all_leaves_nothing(tmp_path: Path) -> None:
    programs = Programs(Site(tmp_path), outlive=False)
    programs.start("shipper", FOREVER)
    programs.start("sink", FOREVER)
    pids = programs.pids
    programs.end_all()
    assert all(ended(pid, 0) for pid in pids)


def test_the_stop_script_ends_what_is_of_the_folder_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    ours = spawn(["tail", "-f", "/dev/null", str(folder)], tmp_path / "log")
    other = spawn(FOREVER, tmp_path / "log")
    write_scripts(folder, [ours.pid, other.pid])
    with subprocess.Popen(
        ["sh", folder / "stop"]
    ) as stopping:  # ours is our child: its number stays until we have waited
        assert ours.wait(60) == -signal.SIGTERM
        assert stopping.wait(60) == 0
    assert not folder.exists()
    assert other.poll() is None
    end(other, 60)


def test_the_commands_that_are_shown_work_in_any_directory(tmp_path: Path) -> None:
    site = Site(tmp_path, 1111, 2222)
    site.make("127.0.0.1:9")
    shown = how_to_look(site, "127.0.0.1:9")
    here = str(Path(sys.executable).parent)
    programs = [line.split() for line in shown.splitlines() if line.strip().startswith(here)]
    assert [words[1] for words in programs] == ["top", "tap", "registry", "status", "search"]
    for words in programs:  # the options of each are right, whatever it finds
        assert subprocess.run([*words, "--help"], cwd=tmp_path, capture_output=True).returncode == 0
    assert all(f"http://127.0.0.1:{port}/" in shown for port in (1111, 2222))


def test_a_mistake_in_sql_is_one_line(tmp_path: Path) -> None:
    write_scripts(tmp_path, [])
    write_deltalake(Site(tmp_path).table, pa.table({"ts": [datetime(2026, 11, 27, tzinfo=UTC)]}))
    asked = [subprocess.run(["sh", tmp_path / "ask", query], capture_output=True, text=True, cwd="/") for query in SQL]
    assert [(done.returncode, len(done.stderr.splitlines())) for done in asked] == [(0, 0), (1, 1)]
    assert "2026-11-27 00:00:00" in asked[0].stdout
    assert asked[1].stderr.startswith("Parser Error: syntax error")
