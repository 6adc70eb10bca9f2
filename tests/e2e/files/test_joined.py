"""A message whose lines are in two files, or were read by two runs of the agent."""

from tests.e2e.files.local import LocalAgent, rotate

MULTILINE = [{"multiline": {"type": "pattern", "pattern": r"^\s", "match": "after", "timeout": "60s"}}]


def test_a_message_that_a_rotation_splits_comes_out_whole(agent: LocalAgent) -> None:
    agent.configure([str(agent.logs / "*.log*")], parsers=MULTILINE)
    agent.append("zero", "first")
    agent.start()
    agent.await_messages("zero")
    rotate(agent.path)
    agent.append("  second", "  third", "next", "end")
    agent.expect("zero", "first\n  second\n  third", "next")


def test_a_message_that_a_rotation_while_down_splits_comes_out_whole(agent: LocalAgent) -> None:
    agent.configure([str(agent.logs / "*.log*")], parsers=MULTILINE)
    agent.append("zero", "first")
    agent.start()
    agent.await_messages("zero")
    agent.stop()
    agent.append("  second")
    rotate(agent.path)
    agent.append("  third", "next", "end")
    agent.start()
    agent.expect("zero", "first\n  second\n  third", "next")


def test_a_message_that_a_restart_splits_comes_out_whole(agent: LocalAgent) -> None:
    agent.configure([str(agent.logs / "*.log*")], parsers=MULTILINE)
    agent.append("zero", "first", "  second")
    agent.start()
    agent.await_messages("zero")
    agent.stop()
    assert agent.messages == ["zero"]
    agent.append("  third", "end")
    agent.start()
    agent.expect("zero", "first\n  second\n  third")
