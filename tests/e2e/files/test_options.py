"""The options of an input, as their user meets them: a real process, its configuration, and what arrives."""

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.e2e.files.local import LocalAgent, compress, numbered, rotate
from tests.e2e.running import REPOSITORY, await_true

# Root may delete and read everything: run without the capabilities that allow it.
MERE_MORTAL = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all") if os.geteuid() == 0 else ()
)

# As the old documentation of Filebeat's `log` input teaches to write it.
FILEBEAT_7 = """\
filebeat.inputs:
- type: log
  enabled: true
  paths:
    - {logs}/*.log
    - {logs}/deep/**/*.log
  exclude_files: ['\\.gz$', 'debug']
  fields:
    level: debug
    review: 1
  fields_under_root: false
  tags: ["web", "prod"]
  multiline.pattern: '^\\['
  multiline.negate: true
  multiline.match: after
  multiline.max_lines: 200
  multiline.timeout: 1s
  max_bytes: 1048576
  encoding: utf-8
  symlinks: true
  recursive_glob.enabled: true
  scan_frequency: 1s
  harvester_buffer_size: 16384
  harvester_limit: 100
  ignore_older: 24h
  clean_inactive: 48h
  clean_removed: true
  close_inactive: 2h
  close_renamed: false
  close_removed: true
  close_eof: false
  close_timeout: 0
  backoff: 1s
  max_backoff: 10s
  backoff_factor: 2
  tail_files: false
filebeat.registry.flush: 1s
path.data: {data}
name: web-1
output.file:
  path: {out}
  filename: {filename}
logging.level: info
logging.to_files: true
logging.files:
  path: /var/log/filebeat
  keepfiles: 7
setup.template.settings:
  index.number_of_shards: 1
"""


def write_config(agent: LocalAgent, text: str) -> None:
    agent._file.write_text(text)
    agent._file.chmod(0o600)


def test_a_filebeat_yml_of_version_7_with_all_the_old_names_of_type_log_runs_unchanged(agent: LocalAgent) -> None:
    write_config(
        agent,
        FILEBEAT_7.format(
            logs=agent.logs, data=agent.data, out=agent.destination.parent, filename=agent.destination.name
        ),
    )
    deep = agent.logs / "deep" / "er" / "deep.log"
    deep.parent.mkdir(parents=True)
    agent.append("[1] one", " at two", path=agent.path)
    agent.append("[1] below", path=deep)
    agent.append("[1] not wanted", path=agent.logs / "debug.log")
    agent.start()
    agent.await_messages("[1] one\n at two", "[1] below")
    rotate(agent.path)
    agent.append("[2] after the rotation")
    agent.await_messages("[2] after the rotation")
    assert agent.stop() == 0
    assert len(agent.all) == 3
    assert agent.events[0]["tags"] == ["web", "prod"]
    assert agent.events[0]["fields"] == {"level": "debug", "review": 1}
    assert agent.events[0]["input"]["type"] == "log"


def test_type_container_follows_link_over_link_and_the_target_when_it_is_rotated(agent: LocalAgent) -> None:
    """As kubelet and the runtime lay it out: containers/x.log -> pods/x/0.log -> docker/x-json.log."""
    containers, pods, docker = (agent.logs / name for name in ("containers", "pods", "docker"))
    for directory in (containers, pods, docker):
        directory.mkdir()
    target, pod = docker / "abc-json.log", pods / "0.log"
    agent.configure([f"{containers}/*.log"], type="container")
    config = orjson.loads(agent._file.read_bytes())
    del config["shipper.inputs"][0]["prospector.scanner.check_interval"]
    config["shipper.inputs"][0]["scan_frequency"] = "1s"
    agent._file.write_bytes(orjson.dumps(config))
    agent.append("one", path=target)
    pod.symlink_to(target)
    (containers / "x.log").symlink_to(pod)
    agent.start()
    agent.await_messages("one")
    agent.append("two", path=target)
    rotate(target)
    agent.append("three", path=target)
    agent.await_messages("two", "three")
    agent.append("four", path=target)
    agent.await_messages("four")
    assert agent.stop() == 0
    assert agent.all == ["one", "two", "three", "four"]
    one, two, three, four = agent.ids("one", "two", "three", "four")
    assert one == two != three == four
    assert {event["log"]["file"]["path"] for event in agent.events} == {str(containers / "x.log")}


def test_exclude_files_and_include_files_look_at_the_whole_path_and_exclude_wins(agent: LocalAgent) -> None:
    agent.configure(
        [f"{agent.logs}/*"],
        **{
            "prospector.scanner.include_files": [r"\.log$"],
            "prospector.scanner.exclude_files": ["/secret", r"2\.log$"],
        },
    )
    for name in ("a.log", "b.txt", "secret.log", "c2.log"):
        agent.append(name, path=agent.logs / name)
    agent.start()
    agent.expect("a.log")


def test_two_links_and_a_hard_link_to_one_file_are_one_harvester(agent: LocalAgent, tmp_path: Path) -> None:
    agent.configure([f"{agent.logs}/*.log"], **{"prospector.scanner.symlinks": True})
    agent.append("one")
    (agent.logs / "hard.log").hardlink_to(agent.path)
    for name in ("link-1.log", "link-2.log"):
        (agent.logs / name).symlink_to(agent.path)
    agent.start()
    agent.await_messages("one")
    for name in ("hard.log", "link-1.log", "link-2.log"):
        agent.append(f"by {name}", path=agent.logs / name)
    agent.expect("one", "by hard.log", "by link-1.log", "by link-2.log")
    assert len(set(agent.ids("one", "by hard.log", "by link-1.log", "by link-2.log"))) == 1


@pytest.mark.parametrize("recursive", [True, False])
def test_two_stars_stand_for_directories_at_any_depth_unless_recursive_glob_is_off(
    agent: LocalAgent, recursive: bool
) -> None:
    agent.configure([f"{agent.logs}/**/*.log"], **{"prospector.scanner.recursive_glob": recursive})
    for depth, directory in enumerate(("", "a", "a/b", "a/b/c")):
        (agent.logs / directory).mkdir(exist_ok=True)
        agent.append(f"{depth}", path=agent.logs / directory / f"{depth}.log")
    agent.start()
    if recursive:
        agent.await_messages("0", "1", "2", "3")
        (agent.logs / "new" / "deeper").mkdir(parents=True)
        agent.append("later", path=agent.logs / "new" / "deeper" / "x.log")
        agent.expect("0", "1", "2", "3", "later")
    else:
        agent.await_messages("1")
        time.sleep(0.5)
        assert agent.stop() == 0
        assert agent.messages == ["1"]


def test_ignore_older_leaves_old_files_alone_until_they_have_news(agent: LocalAgent) -> None:
    agent.configure(ignore_older="1h")
    old = agent.logs / "old.log"
    agent.append("old", path=old)
    os.utime(old, (time.time() - 7200,) * 2)
    agent.append("young")
    agent.start()
    agent.await_messages("young")
    agent.append("news of the old", path=old)
    agent.expect("young", "news of the old")


@pytest.mark.parametrize("since", ["since_first_start", "since_last_start"])
def test_ignore_inactive_holds_over_a_restart(agent: LocalAgent, since: str) -> None:
    agent.configure(ignore_inactive=since)
    agent.append("before the first start")
    os.utime(agent.path, (time.time() - 60,) * 2)
    agent.start()
    agent.await_log("started: ")
    agent.append("sentinel", path=agent.logs / "sentinel.log")
    agent.await_messages("sentinel")
    agent.stop()
    between = agent.logs / "between.log"
    agent.append("between", path=between)
    agent.start()
    await_true(lambda: agent.log.count("started: ") == 2, "the second start")
    time.sleep(0.05)  # file systems keep time in ticks: what is written now must not look older than the start
    agent.expect(*(["between"] if since == "since_first_start" else []))


def test_delete_removes_files_that_are_acknowledged_and_saved_plain_and_gzipped(agent: LocalAgent) -> None:
    agent.configure(
        [f"{agent.logs}/*.log*"], compression="auto",
        **{"delete.enabled": True, "delete.grace_period": "1s", "close.reader.on_eof": True},
    )  # fmt: skip
    lines = numbered("plain", 2000)
    agent.append(*lines)
    packed = agent.logs / "b.log"
    agent.append("packed", path=packed)
    packed = compress(packed)
    agent.start()
    await_true(lambda: not agent.path.exists() and not packed.exists(), "both are deleted", timeout=15)
    assert agent.stop() == 0
    assert sorted(agent.all) == sorted([*lines, "packed"])
    assert agent.log.count("all of it is acknowledged; deleted") == 2


def test_a_file_that_may_not_be_deleted_is_told_of_and_stays(agent: LocalAgent) -> None:
    options: dict[str, Any] = {"delete.enabled": True, "delete.grace_period": "0s", "close.reader.on_eof": True}
    agent.configure(**options)
    agent.append("one")
    agent.logs.chmod(0o555)
    try:
        agent.start(before=MERE_MORTAL)
        agent.await_log(f"{agent.path}: cannot be deleted (delete.enabled): Permission denied")
    finally:
        agent.logs.chmod(0o755)
    assert agent.stop() == 0
    assert agent.messages == ["one"]
    assert agent.path.exists()


# compression


def test_a_gz_among_the_globs_is_told_of_once_while_compression_is_none(agent: LocalAgent) -> None:
    packed = agent.logs / "b.log"
    agent.append("packed", path=packed)
    packed = compress(packed)
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    agent.await_log("looks like a gzip file")
    time.sleep(1.5)
    assert agent.stop() == 0
    (told,) = [line for line in agent.log.splitlines() if "looks like a gzip file" in line]
    assert str(packed) in told
    assert "compression: auto" in told


def test_a_plain_file_under_compression_gzip_is_told_of_once_and_costs_no_cpu(agent: LocalAgent) -> None:
    agent.configure([f"{agent.logs}/*.log*"], compression="gzip")
    other = agent.logs / "b.log"
    agent.append("packed", path=other)
    compress(other)
    agent.append("plain")
    agent.start()
    agent.await_messages("packed")
    agent.await_log(str(agent.path))
    before = cpu_seconds(agent.process.pid)
    time.sleep(3)
    assert cpu_seconds(agent.process.pid) - before < 0.3
    assert agent.stop() == 0
    assert agent.all == ["packed"]
    assert len([line for line in agent.log.splitlines() if f"{agent.path}: " in line]) == 1


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_gz_that_gzip_is_still_writing_beside_the_plain_file_repeats_nothing_and_ships_no_noise(
    agent: LocalAgent,
) -> None:
    agent.configure([f"{agent.logs}/*.log*"], compression="auto")
    lines = [os.urandom(60).hex() for _ in range(3000)]
    agent.append(*lines)
    agent.start()
    agent.await_messages(*lines)
    rotate(agent.path)
    agent.append("after the rotation")
    plain = agent.logs / "app.log.1"
    content = gzip.compress(plain.read_bytes())
    packed = agent.logs / "app.log.1.gz"
    packed.touch()
    time.sleep(0.3)
    with packed.open("wb") as file:
        for start in range(0, len(content), 40_000):
            file.write(content[start : start + 40_000])
            file.flush()
            time.sleep(0.3)
    plain.unlink()
    agent.await_messages("after the rotation")
    time.sleep(1)
    agent.expect(*lines, "after the rotation")


# what is not there, not yet, or not any more


def test_a_directory_that_appears_later_is_found_without_waiting_for_a_scan(agent: LocalAgent) -> None:
    path = agent.logs / "later" / "still" / "app.log"
    agent.configure(
        [f"{agent.logs}/later/*/*.log", f"{agent.logs}/sentinel*.log"], **{"prospector.scanner.check_interval": "1h"}
    )
    agent.start()
    agent.await_log("no file matches")
    path.parent.mkdir(parents=True)
    agent.append("one", path=path)
    agent.expect("one", timeout=5)


def test_a_directory_that_is_replaced_by_another_is_followed_and_the_old_files_are_read_to_their_end(
    agent: LocalAgent,
) -> None:
    directory, old = agent.logs / "d", agent.logs / "old"
    directory.mkdir()
    path = directory / "app.log"
    agent.configure([f"{directory}/*.log", f"{agent.logs}/sentinel*.log"])
    agent.append("one", path=path)
    agent.start()
    agent.await_messages("one")
    agent.append("two", path=path)
    directory.rename(old)
    directory.mkdir()
    agent.append("three", path=path)
    agent.await_messages("two", "three")
    agent.append("four", path=old / "app.log")
    agent.append("five", path=path)
    agent.expect("one", "two", "three", "four", "five")
    assert len(set(agent.ids("one", "two", "four"))) == 1


def test_a_directory_that_may_not_be_read_is_told_of_once_and_read_when_it_may(agent: LocalAgent) -> None:
    directory = agent.logs / "d"
    directory.mkdir()
    agent.configure([f"{directory}/*.log", f"{agent.logs}/sentinel*.log"])
    agent.append("one", path=directory / "app.log")
    directory.chmod(0)
    try:
        agent.start(before=MERE_MORTAL)
        agent.await_log(f"{directory}: ")
        agent.await_log("Permission denied")
        time.sleep(2.5)
        assert agent.log.count("Permission denied") == 1
    finally:
        directory.chmod(0o755)
    agent.expect("one")


def test_a_directory_that_may_not_be_read_for_a_while_does_not_end_the_files_in_it(agent: LocalAgent) -> None:
    directory = agent.logs / "d"
    directory.mkdir()
    path = directory / "app.log"
    agent.configure([f"{directory}/*.log", f"{agent.logs}/sentinel*.log"])
    agent.append("one", path=path)
    agent.start(before=MERE_MORTAL)
    agent.await_messages("one")
    directory.chmod(0)
    time.sleep(1.5)
    agent.stop()
    agent.start(before=MERE_MORTAL)
    agent.await_log("Permission denied")
    directory.chmod(0o755)
    agent.append("two", path=path)
    agent.expect("one", "two")
    assert len(set(agent.ids("one", "two"))) == 1


# limits of the system


INOTIFY_USER = 54321  # nobody has it: its inotify instances are counted apart


@contextmanager
def no_inotify_left(user: int) -> Iterator[None]:
    """The user's instances are all taken; the limit is per user, so another process can take them."""
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
def test_without_inotify_it_says_so_once_and_a_line_arrives_within_a_scan(agent: LocalAgent) -> None:
    keep = "+dac_override,+dac_read_search"
    before = ("setpriv", f"--reuid={INOTIFY_USER}", f"--inh-caps={keep}", f"--ambient-caps={keep}")
    with no_inotify_left(INOTIFY_USER):
        agent.append("one")
        agent.start("--strict.perms=false", before=before)
        agent.await_messages("one")
        for number in range(3):
            time.sleep(0.3)
            agent.append(f"{number}")
            agent.await_messages(f"{number}", timeout=2.5)
        agent.append("of a new file", path=agent.logs / "new.log")
        agent.await_messages("of a new file", timeout=2.5)
        assert agent.log.count("max_user_instances") == 1
        agent.expect("one", "0", "1", "2", "of a new file")


def test_three_thousand_files_arrive_although_only_256_may_be_open(agent: LocalAgent) -> None:
    wanted = []
    for number in range(3000):
        agent.append(f"line {number}", path=agent.logs / f"{number:04}.log")
        wanted.append(f"line {number}")
    agent.start(before=("prlimit", "--nofile=256:256"))
    agent.await_messages(*wanted, timeout=60)
    open_files = len(os.listdir(f"/proc/{agent.process.pid}/fd"))
    assert open_files <= 256
    assert resident_bytes(agent.process.pid) < 150 * 2**20
    time.sleep(1)
    before = cpu_seconds(agent.process.pid)
    time.sleep(3)
    assert cpu_seconds(agent.process.pid) - before < 0.6, "it goes on opening and closing"
    agent.append("later", path=agent.logs / "0000.log")
    agent.expect(*wanted, "later")


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# what `shipper test config` says of wrong options


def problems(agent: LocalAgent, **options: Any) -> str:
    agent.configure(**options)
    done = subprocess.run(
        [sys.executable, "-m", "shipper", "test", "config", "-c", str(agent._file)],
        cwd=REPOSITORY, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    return done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clean_inactive": "1h"}, "clean_inactive: needs ignore_older"),
        ({"clean_inactive": "1h", "ignore_older": "1h"}, "must be more than ignore_older"),
        ({"harvester_limits": 3}, "harvester_limit"),
        ({"close_inactive": "5m"}, "close.on_state_change.inactive"),
        ({"compression": "zip"}, "must be one of: none, gzip, auto"),
        ({"ignore_inactive": "yesterday"}, "since_first_start"),
        ({"file_identity.native": None, "file_identity.path": None}, "file_identity"),
        ({"prospector.scanner.fingerprint.length": 10}, "64"),
        ({"prospector.scanner.exclude_files": ["("]}, "exclude_files"),
        ({"delete.enabled": True, "close.on_state_change.inactive": 0}, "needs close.reader.on_eof"),
    ],
)
def test_a_wrong_option_is_told_with_its_name_and_what_would_be_right(
    agent: LocalAgent, options: dict[str, Any], said: str
) -> None:
    assert said in problems(agent, **options)
