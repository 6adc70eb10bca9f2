"""What other processes do with the file that a real agent ships to: a second agent, and rotation."""

import gzip
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from tests.e2e.files.local import PAD, LocalAgent, compress, copytruncate, numbered, older, rotate
from tests.e2e.running import await_true


@pytest.fixture
def second(agent: LocalAgent, tmp_path: Path) -> Iterator[LocalAgent]:
    """An agent with logs and a registry of its own, and the same destination."""
    (tmp_path / "second").mkdir()
    second = LocalAgent(tmp_path / "second")
    second.destination = agent.destination
    second.configure()
    yield second
    second.end()


def test_a_second_agent_on_the_output_file_ends_immediately_and_names_its_owner(
    agent: LocalAgent, second: LocalAgent
) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    second.append("not yet")
    assert second.once() == 1
    assert f"output.file {agent.destination}: in use by process {agent.process.pid}" in second.log
    agent.append("two")
    agent.await_messages("one", "two")
    agent.kill()
    assert second.once() == 0
    assert agent.messages == ["one", "two", "not yet"]


def renamed(agent: LocalAgent) -> None:
    rotate(agent.destination)


def copied(agent: LocalAgent) -> None:
    """Copy and truncate while the agent is stopped: what it wrote in between would be lost."""
    agent.freeze()
    older(agent.destination).unlink(missing_ok=True)
    copytruncate(agent.destination)
    older(agent.destination).rename(agent.destination.with_name(f"copy {time.time_ns()}"))
    agent.thaw()


def packed(agent: LocalAgent) -> None:
    compress(agent.destination.rename(agent.destination.with_name(f"packed {time.time_ns()}")))


def await_some(agent: LocalAgent) -> None:
    """Wait until it is writing, and most likely has not finished."""
    await_true(lambda: agent.destination.exists() and agent.destination.stat().st_size > 0, "written to")


def await_end(agent: LocalAgent) -> None:
    """Wait for the last line. Only the text is looked for: a file that was truncated may be larger by now than what was
    read of it before."""
    agent.append("the end")
    await_true(lambda: agent.destination.exists() and b'"the end"' in agent.destination.read_bytes(), "the last line")


def arrived(directory: Path) -> set[str]:
    messages: set[str] = set()
    for path in directory.iterdir():
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert b"\0" not in content
        whole = content.split(b"\n")[:-1]
        messages |= {orjson.loads(line)["message"] for line in whole if line.strip()}
    return messages


@pytest.mark.parametrize("how", [renamed, copied, packed])
def test_a_destination_that_is_rotated_while_it_is_written_to_loses_nothing(
    agent: LocalAgent, how: Callable[[LocalAgent], None]
) -> None:
    lines = [numbered(f"part {part}", 2000) for part in range(5)]
    agent.append("the start")
    agent.start()
    agent.await_messages("the start")
    for part in lines:
        agent.append(*part)
        await_some(agent)
        how(agent)
        agent.process.send_signal(signal.SIGHUP)
    await_end(agent)
    assert agent.stop() == 0
    assert arrived(agent.destination.parent) == {"the start", "the end", *(line for part in lines for line in part)}


def test_a_destination_that_rotates_itself_loses_nothing_when_the_agent_is_killed(agent: LocalAgent) -> None:
    agent.output_options = {"rotate_every_kb": 40, "number_of_files": 1000}
    agent.configure()
    lines = [numbered(f"part {part} {PAD}", 5000) for part in range(5)]
    directory = agent.destination.parent
    for part in lines:
        wanted = len(list(directory.iterdir())) + 2
        agent.append(*part)
        agent.start()
        await_true(lambda wanted=wanted: len(list(directory.iterdir())) >= wanted, "rotated")  # type: ignore[misc]
        agent.kill()
    assert agent.once() == 0
    assert arrived(directory) == {line for part in lines for line in part}


def test_a_destination_that_is_removed_is_given_back_to_the_disk_and_made_again(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    os.unlink(agent.destination)
    await_true(lambda: agent.destination.exists() and not agent.has_deleted_files_open(), "made again")
    agent.append("two")
    agent.await_messages("two")
    assert agent.stop() == 0
