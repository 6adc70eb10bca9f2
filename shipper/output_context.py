from contextlib import ExitStack
from dataclasses import dataclass

from registry.registrar import Registrar
from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.pipeline.publisher import Publisher
from shipper.pipeline.queue import MemoryQueue
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


QUEUE = "queue"  # the kind of the queue's entry in the registry


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What a queue on disk is made with. `staging`: None without transactions; `stack` closes it."""

    memory: MemoryQueue
    registrar: Registrar
    staging: Staging | None
    stack: ExitStack
