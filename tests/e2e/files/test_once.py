"""The exit code of `shipper run --once`, and what it names. What it ships: tests/model/options/test_once.py."""

from tests.capabilities import UNPRIVILEGED
from tests.e2e.files.local import LocalAgent

FINISHED, UNFINISHED = 0, 1


def test_a_file_that_may_not_be_read_is_named_and_the_others_arrive(agent: LocalAgent) -> None:
    secret = agent.logs / "secret.log"
    agent.append("secret", path=secret)
    secret.chmod(0)
    agent.append("one")
    assert agent.once(before=UNPRIVILEGED) == UNFINISHED
    assert f"not finished: {secret}: cannot be opened: Permission denied" in agent.log
    assert agent.all == ["one"]
    secret.chmod(0o644)
    assert agent.once() == FINISHED
    assert agent.all == ["one", "secret"]


def test_an_output_that_does_not_answer_ends_at_the_timeout_with_1_and_what_is_missing_is_logged(
    agent: LocalAgent,
) -> None:
    agent.append("one")
    for timeout in (1, 4, 16):  # on a busy machine the start alone may take a second
        agent.start(
            *("--once", "--once-timeout", f"{timeout}s", "-E", "shipper.shutdown_timeout=300ms"),
            before=("prlimit", "--fsize=262145"),
        )
        assert agent.wait() == UNFINISHED
        assert agent.all == []
        if f"--once-timeout ({timeout} s) expired, and not all files were scanned" not in agent.log:
            break
    message = f"not finished: --once-timeout ({timeout} s) expired, and 4 bytes of 1 file are not delivered; run"
    assert message in agent.log
    assert agent.once() == FINISHED
    assert agent.all == ["one"]
