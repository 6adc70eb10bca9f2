"""Starts autodiscover, for an agent that is composed."""

from contextlib import ExitStack

from log_shipper.shipper.autodiscover.base import Surroundings
from log_shipper.shipper.autodiscover.composition import Autodiscover, MakeProvider
from log_shipper.shipper.autodiscover.providers import make_provider
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig


def start(
    config: ShipperConfig, environment: Surroundings, stack: ExitStack, make: MakeProvider = make_provider
) -> Autodiscover:
    """Return what discovers containers, which knows those that are there as far as they are known in time. Raises
    StartError."""
    if environment.once:
        raise StartError(
            "autodiscover: containers come and go, and a run with --once would end before; run without --once, or name "
            "the files as inputs and set autodiscover.enabled: false"
        )
    wake = environment.wake
    autodiscover = Autodiscover(config, environment.clock, wake.set_if_open, make, stack)
    autodiscover.start(wait=wake.wait, stopping=environment.stopping)
    return autodiscover
