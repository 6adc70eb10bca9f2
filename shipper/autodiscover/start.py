"""Starts autodiscover for a composed agent."""

from contextlib import ExitStack

from log_shipper.shipper.autodiscover.base import Surroundings
from log_shipper.shipper.autodiscover.composition import Autodiscover, MakeProvider
from log_shipper.shipper.autodiscover.providers import make_provider
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig


def start(
    config: ShipperConfig, environment: Surroundings, stack: ExitStack, make: MakeProvider = make_provider
) -> Autodiscover:
    """Return the started autodiscover, with existing containers as far as they are known in time. Raises StartError."""
    if environment.once:
        raise StartError(
            "autodiscover does not work with --once, because new containers may start at any time; run without "
            "--once, or configure inputs for the files and set autodiscover.enabled: false"
        )
    wake = environment.wake
    autodiscover = Autodiscover(config, environment.clock, wake.set_if_open, make, stack)
    autodiscover.start(wait=wake.wait, stopping=environment.stopping)
    return autodiscover
