"""A sink as its monitor sees it, without Spark: ten minutes of batches, a view that is down, and bad records."""

import math
import random
import time

from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.landing.bad_records import BadRecords
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.monitor.document import Program
from log_shipper.spark_sink.monitor.http import Monitored
from log_shipper.spark_sink.monitor.metrics import SinkMetrics
from log_shipper.spark_sink.monitor.observations import Observations
from log_shipper.spark_sink.monitor.processes import Usage
from log_shipper.spark_sink.monitor.samples import POINTS, STEP
from log_shipper.spark_sink.rows.batches import PartitionRecords
from log_shipper.spark_sink.storage.table_size import TableSize
from log_shipper.spark_sink.views.progress import Figures

CONFIGURATION = """\
kafka:
  hosts:
  - kafka-1.prod.example:9093
  topics:
  - logs
  - audit
  username: sink
  password: xxxxx
table.path: /srv/lake/lines
checkpoint.path: /srv/lake/checkpoint
http.enabled: true
"""


class LandingSink:
    """Time is what the test makes it."""

    def __init__(self) -> None:
        self.now = time.time() - POINTS * STEP
        program, observations = Program("0.3.0", "sink-1", CONFIGURATION), Observations(self.clock)
        self.monitored = Monitored(SinkMetrics(), observations, 300.0, program, self.clock, usage=self._usage)
        self._dice = random.Random(7)
        self._ends = {("logs", 0): 81_223_400, ("logs", 1): 80_991_004, ("logs", 2): 81_400_871, ("audit", 0): 120_332}

    def clock(self) -> float:
        return self.now

    def _usage(self) -> Usage:
        """Return 0.9 of a core, and memory that grows a little."""
        ran = self.now - self.monitored.observations.state.started
        return Usage(0.9 * ran, 1_400_000_000 + round(450_000 * ran))

    def run(self) -> None:
        """Land a batch every six seconds for ten minutes."""
        for step in range(POINTS):
            self.now += STEP
            if step % 3 == 0:
                self._land(step)
            self.monitored.sample()
        self._state()

    def _land(self, step: int) -> None:
        rows = round(120_000 * (1 + 0.4 * math.sin(step / 31)) + self._dice.randrange(20_000))
        bad = {}
        if step % 60 == 0:
            bad["@timestamp is not an ISO 8601 time"] = BadRecords(3, "audit", 0, self._ends["audit", 0])
        if step == 0:
            bad["not JSON"] = BadRecords(1, "logs", 2, 79_000_012)
        self._ends = {place: end + (rows // 3 if place[0] == "logs" else 40) for place, end in self._ends.items()}
        observations = self.monitored.observations
        observations.landed(
            BatchResult(
                step,
                rows=rows,
                bad=sum(records.count for records in bad.values()),
                repeats=self._dice.randrange(30) if step % 90 == 0 else 0,
                files=1204,
                ends=self._ends,
                causes=bad,
                records={
                    place: PartitionRecords(rows // 3 if place[0] == "logs" else 40, self.now - 6.4, self.now - 2.1)
                    for place in self._ends
                },
                stages={"tasks": rows / 60_000, "repeats": 0.02, "commit": 0.11, "marks": 0.045},
            ),
            self._latest(rows),
        )
        observations.reported(rows / 60_000 + 0.4, {"planning": 0.12, "other": 0.031})

    def _latest(self, rows: int) -> Offsets:
        return {
            place: end + (0 if place[0] == "audit" else rows // (5 + place[1])) for place, end in self._ends.items()
        }

    def _state(self) -> None:
        self.monitored.observations.tables(
            {
                "/srv/lake/lines": TableSize(1_934_882_101, 3_122, 212_884_001_229),
                "/srv/lake/lines_dead_letter": TableSize(61, 12, 190_220),
            }
        )
        self.monitored.observations.views(
            {
                "errors_by_minute": Figures(220, 18_223_901, 14, 1_882, 0.7),
                "slow_requests": Figures(31, 2_001_223, 0, 0, 1.4, failed=True, failures=3),
            }
        )
