"""`spark-sink repair --from-kafka`, as a process of its own against a real broker."""

import json
import os
import signal
import subprocess
from collections import Counter

import pytest
from deltalake import DeltaTable

from demo.process import SINK_PROGRAM
from tests.e2e.running import await_true
from tests.e2e.sinking import PATIENCE, SinkLab
from tests.java import QUICK

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow(
        "seven starts of Spark each; in the gate test_sink.py repairs, and maintenance/test_repair.py has each case"
    ),
]


def start_repair(lab: SinkLab, *options: str) -> subprocess.Popen[str]:
    command = [*SINK_PROGRAM, "repair", "-c", str(lab.directory / "sink.yml"), "--from-kafka"]
    environment = os.environ | QUICK
    return subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def repair(lab: SinkLab, *options: str) -> str:
    """Return the last message of the command."""
    with start_repair(lab, *options) as repairing:
        errors = repairing.communicate(timeout=PATIENCE)[1]
    assert repairing.returncode == 0, errors
    return str(json.loads(errors.splitlines()[-1])["message"])


def killed_repair(lab: SinkLab) -> None:
    """Start a repair, and kill it when a part has landed."""
    with start_repair(lab, "-E", "max_offsets_per_trigger=100") as repairing:
        assert repairing.stderr is not None
        try:
            assert any("offsets read again" in line for line in repairing.stderr), "it ended before"
        finally:
            os.killpg(repairing.pid, signal.SIGKILL)


def land_twice(lab: SinkLab) -> None:
    """300 lines and two bad records, then as many again, in two batches at least."""
    lab.start()
    for _ in range(2):
        lab.send_lines(300)
        lab.send_bad(b"no JSON", b"{}")
        expected = (lab.sent["good"], lab.sent["bad"])
        await_true(lambda expected=expected: lab.counts() == expected, "all is landed", PATIENCE)  # type: ignore[misc]
    assert lab.terminate() == 0, lab.log_text()


def restore(lab: SinkLab) -> int:
    """Restore both tables to their version 1; return how many records are missing then."""
    for table in (lab.lines, lab.dead_letter):
        DeltaTable(str(table)).restore(1)
    rows, bad = lab.counts()
    assert 0 < rows < 600
    assert 0 < bad < 4
    return 604 - rows - bad


def test_a_killed_repair_is_demanded_again_and_lands_what_was_missing(lab: SinkLab) -> None:
    lab.make_topic()
    land_twice(lab)
    missing = restore(lab)
    counts = lab.counts()

    message = lab.refused()
    assert f"the table {lab.lines} was restored to an earlier version" in message
    assert "spark-sink repair --from-kafka" in message
    assert repair(lab, "--dry-run").startswith(f"at most {missing} records are in no table")
    assert lab.counts() == counts

    killed_repair(lab)
    message = lab.refused()
    assert "has an incomplete repair" in message
    assert "spark-sink repair --from-kafka" in message

    assert "missing records" in repair(lab)
    lab.expect_all()
    assert Counter(reason for _, reason in lab.bad_values()) == {"not JSON": 2, "no @timestamp": 2}
    lab.send_lines(100)
    lab.land()


def test_beside_an_idle_run_a_repair_lands_and_run_ends_before_it_lands_anything_twice(lab: SinkLab) -> None:
    lab.make_topic()
    lab.start()
    lab.send_lines(100)
    await_true(lambda: lab.counts() == (100, 0), "all is landed", PATIENCE)
    DeltaTable(str(lab.lines)).delete("message < 'line 5'")
    assert 0 < lab.counts()[0] < 100
    repair(lab, "-E", "table.partition_by=none")  # the table remains partitioned by date
    assert lab.code is None, lab.log_text()
    lab.expect_all()
    lab.send_lines(10)
    assert lab.wait() == 1
    assert "another process is writing to the table" in lab.log_text()
    assert lab.counts() == (100, 0)
    lab.land()
    lab.expect_all()


def test_of_a_recreated_topic_every_record_lands_however_long_it_is(lab: SinkLab) -> None:
    """Only its time in Kafka distinguishes one of these records from the earlier one at the same offset."""
    lab.make_topic()
    lab.send_lines(60)
    lab.land()

    lab.recreate_topic()
    lab.send_lines(300)
    lab.send_bad(b"no JSON")
    assert f"topic {lab.topic} was deleted and re-created" in lab.refused()
    repair(lab)
    lab.land()

    lab.recreate_topic()
    lab.send_lines(30)
    assert f"topic {lab.topic} was deleted and re-created" in lab.refused()
    repair(lab)
    lab.expect_all()
    lab.send_lines(30)
    assert "Move the checkpoint away; a new one resumes" in lab.refused()
    lab.checkpoint.rename(lab.directory / "old")
    lab.land()
    lab.checkpoint.rename(lab.directory / "older")
    lab.land()  # without a new record
    lab.send_lines(30)
    lab.land()
