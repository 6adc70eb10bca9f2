"""A message whose lines are in two files."""

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
