from dataclasses import dataclass

from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.pipeline.publisher import Publisher
from shipper.record import Agent
from shipper.source.reading.staging import Staging


@dataclass(frozen=True, slots=True)
class OutputContext:
    """What an output needs of the agent. `staging` makes the positions of an output that commits transactions."""

    publisher: Publisher
    metrics: Metrics
    clock: Clock
    agent: Agent
    staging: Staging
