"""A file that was deleted while the agent was down cannot be shipped any more; that must be logged and counted."""

import pytest

from tests.lab import Lab


def test_bytes_of_a_file_that_was_deleted_while_the_agent_was_down_are_logged_and_counted(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "behind")  # without its end: it is not shipped
    lab.step(seconds=20)
    lab.stop()
    lab.remove("a.log")
    lab.start()
    lab.step()
    assert "a.log" in caplog.text
    assert "from offset 4 on" in caplog.text
    assert lab.running.metrics.bytes_lost == len("behind")


def test_a_file_that_was_shipped_to_its_end_is_not_missed(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    lab.ship("a.log", "one")
    lab.stop()
    lab.remove("a.log")
    caplog.clear()
    lab.start()
    lab.step()
    assert "no longer exists" not in caplog.text
    assert lab.running.metrics.bytes_lost == 0
