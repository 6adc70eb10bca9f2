"""The agent's view of autodiscover. The implementation is imported only if a configuration has providers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import ContainerCounts
from log_shipper.shipper.options.inputs import InputConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.wake import Wake


@dataclass(frozen=True, slots=True, eq=False)
class DiscoveredInput:
    """A discovered input; `metadata` holds members of its events."""

    config: InputConfig
    metadata: Doc = field(default_factory=dict)


class DiscoveredFiles(Protocol):
    """The crawler's information about discovered inputs."""

    def unread(self, input_ids: Collection[str]) -> set[str]:
        """Return the inputs with unread or unacknowledged data."""

    def shared(self) -> set[str]:
        """Return the inputs whose files another one reads, too."""


class Reloading(Protocol):
    """The reloader's part for discovered inputs."""

    @property
    def config(self) -> ShipperConfig:
        """Return the configuration in effect."""

    def discover(self, discovered: Sequence[DiscoveredInput]) -> Mapping[str, str]:
        """Read exactly these discovered inputs; return why some are not read, by input id."""


class Containers(Protocol):
    """The containers that have inputs. Used only by the reading thread."""

    @property
    def first(self) -> Sequence[DiscoveredInput]:
        """Return the first inputs."""

    @property
    def knows_all(self) -> bool:
        """Return True once all containers that existed at the start are known."""

    @property
    def counts(self) -> ContainerCounts | None:
        """Return the counters, or None without containers. Callable from any thread."""

    def problems(self) -> list[str]:
        """Return why inputs are currently not read. Callable from any thread."""

    def connect(self, reloader: Reloading, files: DiscoveredFiles | None, refused: Mapping[str, str]) -> None:
        """Set the reader of the inputs, and which of the first ones it refused. `files`: None for standard input."""

    def step(self) -> None:
        """Update the inputs to what the containers need now."""


class NoContainers:
    """A configuration without autodiscover."""

    first: Sequence[DiscoveredInput] = ()
    knows_all = True
    counts: ContainerCounts | None = None

    def problems(self) -> list[str]:
        return []

    def connect(self, reloader: Reloading, files: DiscoveredFiles | None, refused: Mapping[str, str]) -> None: ...

    def step(self) -> None: ...


class Surroundings(Protocol):
    """The part of `agent.environment.Environment` that autodiscover uses."""

    @property
    def once(self) -> bool: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def wake(self) -> Wake: ...

    @property
    def stopping(self) -> Callable[[], bool]: ...
