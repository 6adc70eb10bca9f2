"""Dependencies of a run that the caller provides, besides the configuration."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.store import Store
from log_shipper.runtime.systemd import Notifier
from log_shipper.shipper.agent.reload import ConfigSource
from log_shipper.shipper.agent.service import Service
from log_shipper.shipper.autodiscover.base import Containers, NoContainers, Surroundings
from log_shipper.shipper.clock import Clock, SystemClock
from log_shipper.shipper.inputs.files.discovery.watch import Inotify
from log_shipper.shipper.inputs.staging import Staging
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.outputs.base import OutputContext, build_output
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.wake import Wake

QUEUE = "queue"  # the kind of the queue's entry in the registry

Connect = Callable[[ShipperConfig, OutputContext], Output]
Discover = Callable[[ShipperConfig, Surroundings, ExitStack], Containers]


def discover(config: ShipperConfig, environment: Surroundings, stack: ExitStack) -> Containers:
    """Return the containers of a configuration's providers; `stack` closes them. Raises StartError."""
    if not config.autodiscover.providers:
        return NoContainers()
    from log_shipper.shipper.autodiscover.start import start  # few use containers

    return start(config, environment, stack)


@dataclass(frozen=True, slots=True)
class Threads:
    """Creates the parts that depend on threads or the kernel; tests may pass parts that they drive step by step."""

    registrar: Callable[[Store, float, Callable[[], None], Callable[[str], None] | None], Registrar] = Registrar
    inotify: Callable[[Callable[[], None]], Inotify] = Inotify


THREADS = Threads()


@dataclass(frozen=True, slots=True)
class Environment:
    """What the caller passes to a run of the agent, besides its configuration.

    `reading` decides when and how the configuration is reloaded. `connect` creates the output; tests pass their own
    destination. `stopping` ends a start that waits for the output. `service` notifies the service manager. `opened` is
    called when path.data and the registry are open. `discover` starts watching containers.
    """

    data: Path
    wake: Wake
    clock: Clock = field(default_factory=SystemClock)
    once: bool = False
    reading: ConfigSource | None = None
    connect: Connect = build_output
    threads: Threads = THREADS
    stopping: Callable[[], bool] = lambda: False
    service: Service = field(default_factory=lambda: Service(Notifier(), SystemClock()))
    opened: Callable[[], None] = lambda: None
    discover: Discover = discover


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What a queue on disk needs. `staging`: None without transactions; `stack` closes it."""

    memory: MemoryQueue
    registrar: Registrar
    staging: Staging | None
    stack: ExitStack
