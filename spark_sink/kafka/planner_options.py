"""All that a planner is made of: it is made in the process of the source, by calling this."""

from collections.abc import Mapping
from dataclasses import dataclass

from log_shipper.config.sink.kafka import KafkaSource
from log_shipper.config.sink.model import SinkConfig
from log_shipper.spark_sink.kafka import client
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.kafka.planning import Limits, Planner


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """Can be pickled. `planned`: where the last batch ends that was planned, or the first one begins; `ids`: of the
    topics in the marks."""

    kafka: KafkaSource
    limits: Limits
    may_lose: bool
    planned: Offsets
    ids: Mapping[str, str]

    @classmethod
    def of(cls, config: SinkConfig, planned: Offsets, ids: Mapping[str, str], ends: Offsets | None) -> "PlannerOptions":
        """Return the options of a run. `ends`: where it ends, None without an end. Then only, a batch waits for its
        least number of records: the remainder before an end may be smaller."""
        least = config.min_offsets_per_trigger if ends is None else 0
        limits = Limits(config.max_offsets_per_trigger, least, config.max_trigger_delay, ends)
        return cls(config.kafka, limits, config.lost_offsets == "continue", planned, dict(ids))

    def __call__(self) -> Planner:
        broker = Admin(client.latest(self.kafka)).__enter__()  # open as long as the process of the source lives
        return Planner(self.kafka, self.limits, self.may_lose, broker, dict(self.planned), dict(self.ids))
