"""A job writes its report again in place while the agent is not scheduled: each begins and ends as the one before."""

from collections.abc import Callable

import pytest

from tests.e2e.files.local import LocalAgent

HEADER = [f"{'#' * 60} column {number:02}" for number in range(22)]  # more than the fingerprint has
FOOTER = [f"{'-' * 60} footer {number}" for number in range(6)]  # more than is read again with each line
OTHER = "a line of another file"


def report(number: int, footers: int = 1) -> list[str]:
    return [*HEADER, *(f"report {number} counter {counter}" for counter in range(5)), *FOOTER * footers]


def rewrite(agent: LocalAgent, lines: list[str]) -> None:
    agent.freeze()
    agent.path.write_text("".join(f"{line}\n" for line in lines))
    agent.thaw()


def keep_open(agent: LocalAgent) -> None:
    agent.configure()


def close_at_its_end(agent: LocalAgent) -> None:
    agent.configure(close={"reader": {"on_eof": True}})


def have_it_wait(agent: LocalAgent) -> None:
    """Of two files that one place is for, each waits for the other."""
    agent.append(OTHER, path=agent.logs / "other.log")
    agent.configure(harvester_limit=1)


@pytest.mark.parametrize("prepare", [keep_open, close_at_its_end, have_it_wait])
def test_each_report_arrives_whole(agent: LocalAgent, prepare: Callable[[LocalAgent], None]) -> None:
    prepare(agent)
    others = [OTHER] if prepare is have_it_wait else []
    reports = [report(1), report(2), report(3, footers=2), report(4, footers=2)]
    agent.append(*reports[0])
    agent.start()
    agent.await_messages(*reports[0], *others)
    for lines in reports[1:]:
        rewrite(agent, lines)
        agent.await_messages(*lines)
    agent.expect(*(line for lines in reports for line in lines), *others)
    assert len(set(agent.ids(*(f"report {number} counter 0" for number in range(1, 5))))) == 4
    assert agent.log.count("was truncated or rewritten") == 3


def test_lines_that_follow_are_not_a_reason_to_send_it_again(agent: LocalAgent) -> None:
    agent.append(*report(1))
    agent.start()
    agent.await_messages(*report(1))
    agent.freeze()
    agent.append("one more", "and another")
    agent.thaw()
    agent.expect(*report(1), "one more", "and another")
    assert len(set(agent.ids("report 1 counter 0", "one more"))) == 1
