from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats.record import Agent
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.source.reading.staging import Staging


@dataclass(frozen=True, slots=True)
class OutputContext:
    """What an output needs of the agent. `staging` makes the positions of an output that commits transactions."""

    publisher: Publisher
    metrics: Metrics
    clock: Clock
    agent: Agent
    staging: Staging
