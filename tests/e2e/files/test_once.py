"""`shipper run --once`: everything that is there now, to its end, in order; and an exit code that can be relied on."""

import gzip
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.e2e.files.local import LocalAgent, copytruncate, numbered
from tests.e2e.running import REPOSITORY

FINISHED, UNFINISHED = 0, 1
MERE_MORTAL = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all") if os.geteuid() == 0 else ()
)
SMALL = ("prlimit", "--nofile=256:256")


def test_three_hundred_rotated_files_some_gzipped_arrive_file_by_file_in_the_order_of_their_age(
    agent: LocalAgent,
) -> None:
    agent.configure([f"{agent.logs}/*"], compression="auto")
    now, wanted = time.time(), []
    for age in range(300, 0, -1):
        lines = [f"{age} {number}" for number in range(20)]
        wanted += lines
        content = "".join(f"{line}\n" for line in lines).encode()
        packed = age > 2 and age % 3 == 0
        # The order of the names is another one than that of the ages.
        path = agent.logs / f"app.log.{age}{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content) if packed else content)
        os.utime(path, (now - age * 3600,) * 2)
    assert agent.once() == FINISHED
    assert agent.all == wanted


def test_a_harvester_limit_of_one_changes_nothing_about_the_order(agent: LocalAgent) -> None:
    agent.configure(harvester_limit=1)
    for age in range(100, 0, -1):
        path = agent.logs / f"{age * 37 % 101:03}.log"
        path.write_text(f"{age} a\n{age} b")
        os.utime(path, (time.time() - age * 3600,) * 2)
    assert agent.once() == FINISHED
    assert agent.all == [f"{age} {which}" for age in range(100, 0, -1) for which in "ab"]


def test_large_files_arrive_one_after_the_other_too(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*"], compression="auto")
    wanted = []
    for age in range(6, 0, -1):
        lines = numbered(f"age {age}", 20_000)
        wanted += lines
        content = "".join(f"{line}\n" for line in lines).encode()
        path = agent.logs / f"app.log.{age}{'.gz' if age % 2 else ''}"
        path.write_bytes(gzip.compress(content, 1) if age % 2 else content)
        os.utime(path, (time.time() - age * 3600,) * 2)
    assert agent.once() == FINISHED
    assert agent.all == wanted


def test_a_second_run_ships_nothing_twice_and_only_what_came_meanwhile(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*"], compression="auto")
    agent.append("one", "unterminated")
    os.truncate(agent.path, len("one\nunterminated"))
    (agent.logs / "app.log.1.gz").write_bytes(gzip.compress(b"packed\nunterminated too"))
    for _ in range(2):
        assert agent.once() == FINISHED
        assert sorted(agent.all) == ["one", "packed", "unterminated", "unterminated too"]
    agent.append("", "two")
    assert agent.once() == FINISHED
    assert len(agent.all) == 5
    assert agent.all[-1] == "two"


@pytest.mark.parametrize("reused", [True, False])
def test_a_rotation_and_its_gzip_between_two_runs_repeat_nothing_whether_or_not_the_inode_is_used_again(
    agent: LocalAgent, reused: bool
) -> None:
    agent.configure([f"{agent.logs}/*"], compression="auto")
    lines = numbered("first", 1000)
    agent.append(*lines)
    assert agent.once() == FINISHED
    agent.append("before the rotation")
    (agent.logs / "app.log.1.gz").write_bytes(gzip.compress(agent.path.read_bytes()))
    if reused:
        with agent.path.open("wb"):
            pass
    else:
        agent.path.rename(agent.directory / "gone")
    agent.append("after it")
    assert agent.once() == FINISHED
    assert sorted(agent.all) == sorted([*lines, "before the rotation", "after it"])


def test_copytruncate_of_many_files_between_two_runs_repeats_nothing(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*"])
    paths = [agent.logs / f"{number:03}.log" for number in range(200)]
    for path in paths:
        agent.append(*numbered(path.name, 5), path=path)
    assert agent.once() == FINISHED
    for path in paths:
        copytruncate(path)
    for path in paths:
        agent.append("after it", path=path)
    assert agent.once() == FINISHED
    assert len(agent.all) == 200 * 6


def test_files_that_grow_while_it_runs_end_at_the_size_they_had(agent: LocalAgent) -> None:
    agent.append(*numbered("there", 100_000))
    size = agent.path.stat().st_size
    ended = threading.Event()

    def grow() -> None:
        with agent.path.open("ab", buffering=0) as file:
            while not ended.wait(0.0005):
                file.write(b"grown while it ran\n")

    writer = threading.Thread(target=grow)
    agent.start("--once")
    agent.await_log("new file")
    writer.start()
    try:
        assert agent.wait() == FINISHED
    finally:
        ended.set()
        writer.join()
    assert agent.all[:100_000] == numbered("there", 100_000)
    end = max(event["log"]["offset"] + event["log"]["length"] for event in agent.events)
    assert size <= end < agent.path.stat().st_size, "it did not chase the writer"
    assert agent.once() == FINISHED
    assert "".join(f"{line}\n" for line in agent.all).encode() == agent.path.read_bytes()


# what ends with 1, and names it


def test_a_file_that_may_not_be_read_is_named_and_the_others_arrive(agent: LocalAgent) -> None:
    secret = agent.logs / "secret.log"
    agent.append("secret", path=secret)
    secret.chmod(0)
    agent.append("one")
    assert agent.once(before=MERE_MORTAL) == UNFINISHED
    assert f"not finished: {secret}: cannot be opened: Permission denied" in agent.log
    assert agent.all == ["one"]
    secret.chmod(0o644)
    assert agent.once() == FINISHED
    assert agent.all == ["one", "secret"]


def test_a_directory_that_may_not_be_read_is_named(agent: LocalAgent) -> None:
    directory = agent.logs / "d"
    directory.mkdir()
    agent.configure([f"{agent.logs}/*.log", f"{directory}/*.log"])
    agent.append("one")
    directory.chmod(0)
    try:
        assert agent.once(before=MERE_MORTAL) == UNFINISHED
    finally:
        directory.chmod(0o755)
    assert f"not finished: {directory}: " in agent.log
    assert agent.all == ["one"]


def test_a_glob_without_match_is_named_and_the_rest_arrives(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*.log", f"{agent.logs}/*.lgo"])
    agent.append("one")
    assert agent.once() == UNFINISHED
    assert f"not finished: {agent.logs}/*.lgo: no file matches it" in agent.log
    assert agent.all == ["one"]


def test_a_gz_that_is_cut_off_is_named_and_what_it_holds_arrives(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*"], compression="auto")
    lines = [os.urandom(40).hex() for _ in range(1000)]
    content = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    packed = agent.logs / "app.log.1.gz"
    packed.write_bytes(content[: len(content) // 2])
    agent.append("one")
    assert agent.once() == UNFINISHED
    assert f"not finished: {packed}: gzip data damaged at compressed byte {len(content) // 2}" in agent.log
    assert "one" in agent.all
    arrived = [message for message in agent.all if message != "one"]
    assert arrived == lines[: len(arrived)]
    assert len(arrived) > 300
    packed.write_bytes(content)
    assert agent.once() == FINISHED
    assert sorted(agent.all) == sorted([*lines, "one"])


def test_a_gz_whose_checksum_is_wrong_is_named_each_time_and_sent_once(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*"], compression="auto")
    content = bytearray(gzip.compress(b"one\ntwo\n"))
    content[-8] ^= 1
    packed = agent.logs / "app.log.1.gz"
    packed.write_bytes(content)
    for _ in range(2):
        assert agent.once() == UNFINISHED
        assert agent.all == ["one", "two"]
    assert agent.log.count(f"not finished: {packed}: gzip data damaged") == 2
    assert "crc" in agent.log


def test_a_plain_file_under_compression_gzip_is_named(agent: LocalAgent) -> None:
    agent.configure(compression="gzip")
    agent.append("plain")
    assert agent.once() == UNFINISHED
    assert f"not finished: {agent.path}: " in agent.log
    assert "not a gzip file" in agent.log
    assert agent.all == []


def test_a_file_too_short_for_its_fingerprint_is_named(agent: LocalAgent) -> None:
    options: dict[str, Any] = {"file_identity.fingerprint": None, "prospector.scanner.fingerprint.length": 64}
    agent.configure(**options)
    agent.append("short")
    long = agent.logs / "long.log"
    agent.append("x" * 64, path=long)
    assert agent.once() == UNFINISHED
    assert f"not finished: {agent.path}: " in agent.log
    assert "prospector.scanner.fingerprint.length" in agent.log
    assert agent.all == ["x" * 64]


def test_a_marker_file_that_is_missing_is_named(agent: LocalAgent) -> None:
    marker = agent.logs / "marker"
    options: dict[str, Any] = {"file_identity.inode_marker.path": str(marker)}
    agent.configure(**options)
    agent.append("one")
    assert agent.once() == UNFINISHED
    assert str(marker) in agent.log
    marker.write_text("this disk")
    assert agent.once() == FINISHED
    assert agent.all == ["one"]


def test_a_file_that_goes_while_it_waits_for_its_turn_is_said_to_be_unfinished_or_was_read(agent: LocalAgent) -> None:
    agent.append(*numbered("first", 200_000))
    last = agent.logs / "last.log"
    agent.append("last", path=last)
    os.utime(agent.path, (time.time() - 3600,) * 2)
    agent.start("--once")
    agent.await_log("new file")
    last.unlink()
    assert agent.wait() == FINISHED
    assert "last" in agent.all


def test_an_output_that_does_not_answer_ends_at_the_timeout_with_1_and_says_what_is_missing(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start(
        "--once", "--once-timeout", "2s", "-E", "shipper.shutdown_timeout=1s", before=("prlimit", "--fsize=262145")
    )
    assert agent.wait() == UNFINISHED
    assert "not finished: 4 bytes of the files found are not delivered" in agent.log
    assert agent.all == []
    assert agent.once() == FINISHED
    assert agent.all == ["one"]


# bounds


def test_three_thousand_files_arrive_in_their_order_with_256_descriptors_and_little_memory(agent: LocalAgent) -> None:
    now, wanted = time.time(), []
    for number in range(3000):
        path = agent.logs / f"{(number * 7919) % 3000:04}.log"
        path.write_text(f"{number}\nand its last line")
        os.utime(path, (now - 10_000 + number,) * 2)
        wanted += [f"{number}", "and its last line"]
    agent.start("--once", before=SMALL)
    peak = 0
    while agent.process.poll() is None:
        peak = max(peak, resident(agent.process.pid))
        time.sleep(0.02)
    assert agent.wait() == FINISHED
    assert agent.all == wanted
    assert 0 < peak < 150 * 2**20


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


# standard input


def test_standard_input_is_shipped_to_its_end_the_unterminated_line_included(agent: LocalAgent) -> None:
    config = orjson.loads(agent._file.read_bytes())
    config["shipper.inputs"] = [{"type": "stdin"}]
    agent._file.write_bytes(orjson.dumps(config))
    lines = numbered("piped", 10_000)
    done = subprocess.run(
        [sys.executable, "-m", "shipper", "run", "--once", "-c", str(agent._file)],
        cwd=REPOSITORY, input="\n".join([*lines, "unterminated"]).encode(), capture_output=True,
    )  # fmt: skip
    assert done.returncode == FINISHED, done.stderr.decode()
    assert agent.all == [*lines, "unterminated"]
