from contextlib import ExitStack
from dataclasses import dataclass

from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.record import Agent
from log_shipper.shipper.source.reading.staging import Staging


@dataclass(frozen=True, slots=True)
class OutputContext:
    """What an output needs of the agent. `staging` makes the positions of an output that commits transactions."""

    publisher: Publisher
    metrics: Metrics
    clock: Clock
    agent: Agent
    staging: Staging


QUEUE = "queue"  # the kind of the queue's entry in the registry


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What a queue on disk is made with. `staging`: None without transactions; `stack` closes it."""

    memory: MemoryQueue
    registrar: Registrar
    staging: Staging | None
    stack: ExitStack
