"""Files that are deleted or truncated before they were read to their end: nothing is lost without a log line."""

import os
import time

from tests.e2e.files.local import LocalAgent, numbered
from tests.e2e.running import PATIENCE, await_true


def test_a_file_that_is_deleted_while_the_output_is_blocked_is_kept_and_shipped_later(agent: LocalAgent) -> None:
    lines = numbered("blocked", 3000)
    agent.append("first")
    agent.start()
    agent.await_messages("first")
    agent.fill_disk()
    agent.append(*lines)
    agent.await_log("cannot write to")
    agent.path.unlink()
    time.sleep(0.3)
    agent.fill_disk(full=False)
    agent.expect("first", *lines)
    assert "summary.total.bytes_lost" not in agent.log  # figures that are 0 are left out


def test_deleted_files_above_the_budget_are_let_go_and_counted_even_while_the_output_is_blocked(
    agent: LocalAgent,
) -> None:
    agent.configure(
        [str(agent.logs / "*.log*")],
        **{"close.removed.max_bytes": "100KiB", "close.on_state_change.check_interval": "200ms"},
    )
    agent.append("first")
    agent.start("-E", f"shipper.shutdown_timeout={PATIENCE - 10:.0f}s")  # what is in flight arrives
    agent.await_messages("first")
    agent.fill_disk()
    agent.append(*numbered("given up", 300_000))
    agent.await_log("cannot write to")
    size = agent.path.stat().st_size
    agent.path.unlink()
    await_true(lambda: not agent.has_deleted_files_open(), "the deleted file is let go")
    agent.fill_disk(full=False)
    assert agent.stop() == 0

    (file_id,) = agent.ids("first")
    (warning,) = [
        line
        for line in agent.log.splitlines()
        if file_id in line and "was removed and is closed before its end" in line
    ]
    assert str(agent.path) in warning
    assert f"{size}" in warning
    arrived = max(event["log"]["offset"] + event["log"]["length"] for event in agent.events)
    assert f"bytes_lost={size - arrived}" in agent.log


def test_what_is_truncated_unread_is_counted_and_logged_with_path_file_id_and_range(agent: LocalAgent) -> None:
    agent.append("read", "unfinished")
    os.truncate(agent.path, len("read\nunfinished"))
    agent.start()
    agent.await_messages("read")
    agent.freeze()
    os.truncate(agent.path, 0)
    agent.append("new")
    agent.thaw()
    agent.expect("read", "new")
    (file_id,) = agent.ids("read")
    (warning,) = [line for line in agent.log.splitlines() if file_id in line and "lost" in line]
    assert str(agent.path) in warning
    assert "offset 5" in warning
    assert f"bytes_lost={len('unfinished')}" in agent.log
