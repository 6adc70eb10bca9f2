"""What happens when logs are rotated while the real agent reads them, or is killed."""

import signal

from log_shipper.registry.load import read
from tests.e2e.files.local import LocalAgent, numbered, rotate
from tests.e2e.running import await_true


def test_a_chain_of_five_generations_neither_loses_nor_repeats_a_line(agent: LocalAgent) -> None:
    expected = []
    agent.start()
    for generation in range(8):
        lines = numbered(f"generation {generation}", 50)
        agent.append(*lines)
        expected += lines
        agent.await_messages(lines[-1])
        rotate(agent.path)
    agent.expect(*expected)
    assert len(set(agent.ids(*expected))) == 8


def test_kills_in_the_middle_of_rotations_lose_nothing_and_repeat_only_the_same(agent: LocalAgent) -> None:
    expected = []
    for generation in range(4):
        agent.start()
        for part in range(2):
            lines = numbered(f"{generation}.{part}", 500)
            agent.append(*lines)
            expected += lines
            agent.await_messages(lines[0])
            rotate(agent.path, generations=20)
        agent.process.send_signal(signal.SIGKILL)
        agent.wait()
    agent.start()
    agent.await_messages(*expected)
    agent.stop_when_idle()
    arrived = [message for message in agent.messages if not message.startswith("sentinel")]
    assert sorted(arrived) == sorted(expected)
    assert len(set(agent.ids(*expected))) == 8


def test_what_was_acknowledged_before_a_kill_is_not_sent_again(agent: LocalAgent) -> None:
    """Although nothing but the file's id is on disk yet: the page cache has what the agent wrote."""
    first, second = numbered("before", 500), numbered("after", 500)
    agent.start("-E", "shipper.registry.flush=60s")
    agent.append(*first)
    agent.await_messages(*first)
    end = agent.path.stat().st_size
    await_true(lambda: {state.position for state in read(agent.data / "registry").values()} == {end}, "written")
    agent.kill()
    agent.append(*second)
    assert agent.once() == 0
    assert agent.all == [*first, *second]
