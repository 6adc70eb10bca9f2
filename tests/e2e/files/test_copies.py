"""Copies of a log: copytruncate makes one before it truncates the original, gzip before it deletes it."""

import gzip
import os
import time

from tests.e2e.files.local import LocalAgent, compress, copytruncate, numbered, older, rotate


def test_copytruncate_neither_loses_nor_repeats_a_line(agent: LocalAgent) -> None:
    expected = []
    agent.start()
    for generation in range(4):
        lines = numbered(f"generation {generation}", 50)
        agent.append(*lines)
        expected += lines
        agent.await_messages(lines[-1])
        for number in range(4, 0, -1):
            if older(agent.path, number).exists():
                older(agent.path, number).rename(older(agent.path, number + 1))
        copytruncate(agent.path)
    agent.expect(*expected)
    assert len(set(agent.ids(*expected))) == 4


def test_what_a_copytruncate_cuts_off_unread_is_read_from_the_copy(agent: LocalAgent) -> None:
    agent.append("read")
    agent.start()
    agent.await_messages("read")
    agent.freeze()
    agent.append("unread")
    copytruncate(agent.path)
    agent.append("new")
    agent.thaw()
    agent.expect("read", "unread", "new")
    read_before, unread, new = agent.ids("read", "unread", "new")
    assert read_before == unread != new


def test_a_slow_copytruncate_of_a_large_file_repeats_nothing(agent: LocalAgent) -> None:
    lines = numbered("large", 20_000)
    agent.append(*lines)
    agent.start()
    agent.await_messages(*lines)
    with agent.path.open("rb") as source, older(agent.path).open("wb") as copy:
        while data := source.read(128 * 1024):
            copy.write(data)
            copy.flush()
            time.sleep(0.02)
    os.truncate(agent.path, 0)
    agent.append("new")
    agent.expect(*lines, "new")


def test_a_compressed_file_that_was_never_seen_is_read_through_and_resumed_after_a_kill(agent: LocalAgent) -> None:
    agent.configure([str(agent.logs / "*.log*")], compression="auto")
    lines = numbered("packed", 60_000)
    agent.append(*lines)
    compress(agent.path)
    agent.start()
    agent.await_messages(lines[100])
    agent.kill()
    agent.start()
    agent.await_messages(*lines)
    agent.stop_when_idle()
    assert [message for message in agent.messages if not message.startswith("sentinel")] == lines
    assert len(set(agent.ids(*lines))) == 1


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
    time.sleep(0.1)
    with packed.open("wb") as file:
        for start in range(0, len(content), 40_000):
            file.write(content[start : start + 40_000])
            file.flush()
            time.sleep(0.1)
    plain.unlink()
    agent.await_log(f"{packed} resumes at offset")
    agent.expect(*lines, "after the rotation")
