"""A process that is killed while it commits: each of its batches is in the table once, whenever it was killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.spark_sink.storage.commit_lab import Table

KILLS = 8
BATCHES = 12  # of each process, if it were not killed
# As the sink does after a kill: looks which batch is the last, and continues with the next one.
PROCESS = """
import sys
from pathlib import Path
from tests.unit.spark_sink.storage.commit_lab import Table
table = Table(Path(sys.argv[1]), {"delta.checkpointInterval": "3"})
first = table.log.last_batch("q") + 1
for batch in range(first, first + int(sys.argv[2])):
    print(batch, flush=True)
    table.land(batch, batch)
"""


@pytest.mark.slow("kills processes at times that differ from run to run")
def test_each_batch_of_killed_processes_has_landed_once(tmp_path: Path) -> None:
    table = Table(tmp_path / "lines")
    for kill in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(table.path), str(BATCHES)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            for _ in range(1 + kill % 3):
                process.stdout.readline()
            time.sleep(kill * 0.003)
            process.send_signal(signal.SIGKILL)
    last = table.second_process().last_batch("q")
    assert last >= KILLS // 2
    assert table.offsets() == list(range(last + 1))
    assert table.log.refresh() + 1 == table.land(last + 1, last + 1)
