"""What the agent knows of autodiscover. The rest is imported where a configuration has providers."""

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
    """`label` names its container in messages, `metadata` are members of its events."""

    config: InputConfig
    label: str
    metadata: Doc = field(default_factory=dict)


class Files(Protocol):
    """What the crawler knows of discovered inputs."""

    def unread(self, input_ids: Collection[str]) -> set[str]: ...

    def shared(self) -> set[str]: ...


class Reloading(Protocol):
    """What the reloader does for discovered inputs."""

    @property
    def config(self) -> ShipperConfig:
        """Return the configuration in effect."""

    def discover(self, discovered: Sequence[DiscoveredInput]) -> Mapping[str, str]: ...


class Containers(Protocol):
    """The containers that inputs are made for. Used by the reading thread only."""

    @property
    def first(self) -> Sequence[DiscoveredInput]:
        """Return the inputs to begin with."""

    @property
    def knows_all(self) -> bool:
        """True once all containers are known that were there at the start."""

    @property
    def counts(self) -> ContainerCounts | None:
        """Return what is counted; None where there are no containers. Any thread may ask."""

    def problems(self) -> list[str]:
        """Return why something is not read now, in words. Any thread may ask."""

    def connect(self, reloader: Reloading, files: Files | None, refused: Mapping[str, str]) -> None:
        """Note what reads the inputs from now on, and which of the first ones it refused. `files`: None where standard
        input is read."""

    def step(self) -> None:
        """Have read what the containers need now."""


class NoContainers:
    """Without autodiscover."""

    first: Sequence[DiscoveredInput] = ()
    knows_all = True
    counts: ContainerCounts | None = None

    def problems(self) -> list[str]:
        return []

    def connect(self, reloader: Reloading, files: Files | None, refused: Mapping[str, str]) -> None: ...

    def step(self) -> None: ...


class Surroundings(Protocol):
    """What is needed of app.Environment."""

    @property
    def once(self) -> bool: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def wake(self) -> Wake: ...

    @property
    def stopping(self) -> Callable[[], bool]: ...
