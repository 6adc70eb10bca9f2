"""Starts autodiscover, for an agent that is composed."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol

from log_shipper.config.shipper.model import ShipperConfig
from log_shipper.shipper.autodiscover.composition import Autodiscover, MakeProvider
from log_shipper.shipper.autodiscover.providers import make_provider
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.wake import Wake


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

    @property
    def make_provider(self) -> MakeProvider | None: ...


def start(config: ShipperConfig, environment: Surroundings, stack: ExitStack) -> Autodiscover:
    """Return what discovers containers, which knows those that are there as far as they are known in time. Raises
    StartError."""
    if environment.once:
        raise StartError(
            "autodiscover: containers come and go, and a run with --once would end before; run without --once, or name "
            "the files as inputs and set autodiscover.enabled: false"
        )
    wake = environment.wake
    make = environment.make_provider or make_provider
    autodiscover = Autodiscover(config, environment.clock, wake.from_outside(), make, stack)
    autodiscover.start(wait=wake.wait, stopping=environment.stopping)
    return autodiscover
