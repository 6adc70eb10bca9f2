"""What users do to path.data while the agent runs."""

import shutil
import signal
import subprocess

from log_shipper.registry.load import read
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import PATIENCE, await_true


def agent_id(agent: LocalAgent) -> str:
    return (agent.data / "agent_id").read_text()


def test_a_path_data_that_is_removed_is_made_again_and_no_line_is_sent_twice_or_missed(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    before = agent_id(agent)
    agent.freeze()  # or it might write a file between the two steps in which a directory is emptied and removed
    shutil.rmtree(agent.data)
    agent.thaw()
    agent.append("two")
    agent.await_log("was removed while in use; re-created with all 1 entries")
    assert agent.stop() == 0
    assert agent_id(agent) == before
    agent.append("three")
    agent.start()
    agent.expect("one", "two", "three")


def test_the_agent_gives_way_to_a_second_one_that_was_started_where_its_path_data_was_removed(
    agent: LocalAgent,
) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    first = agent.process
    agent.freeze()  # or it might be the first to make it again
    shutil.rmtree(agent.data)
    agent.start("-E", f"output.file.path={agent.directory / 'second'}")
    await_true(lambda: positions(agent) == [4], "the second agent reads from the start")
    first.send_signal(signal.SIGCONT)
    agent.append("two")
    assert first.wait(PATIENCE) == 1
    assert f"process {agent.process.pid} is writing to it. This process ends" in agent.log
    agent.append("three")
    await_true(lambda: positions(agent) == [14], "the second agent resumes")
    assert agent.stop() == 0


def positions(agent: LocalAgent) -> list[int]:
    return [state.position for state in read(agent.data / "registry").values()]


def test_a_lock_that_is_removed_lets_no_second_agent_in(agent: LocalAgent) -> None:
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    first: subprocess.Popen[bytes] = agent.process
    (agent.data / "registry" / "lock").unlink()
    agent.start()
    assert agent.wait() == 1
    assert "is in use by" in agent.log
    first.terminate()
    assert first.wait(PATIENCE) == 0
